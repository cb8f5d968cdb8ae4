package wire

import (
	"bellows/link/padding"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core/audit"
	"bellows/core/pending"
	"bellows/core/tally"
	"bellows/internal/require"
)

// sampler makes random messages.
type sampler struct{ *rand.Rand }

func newSampler(seed uint64) sampler { return sampler{rand.New(rand.NewPCG(seed, 1))} }

// list makes a list of random length, now and then empty.
func list[T any](s sampler, most int, one func() T) []T {
	var l []T
	for range s.IntN(most + 1) {
		l = append(l, one())
	}
	return l
}

func (s sampler) flush() bellows.FlushID {
	return bellows.FlushID{Client: bellows.NodeID(s.Uint32()), Incarnation: s.Uint32(), Seq: s.Uint64()}
}

func (s sampler) ref() bellows.PartitionRef {
	return bellows.PartitionRef{Table: bellows.TableID(s.Uint32()), Partition: bellows.PartitionID(s.Uint32())}
}

func (s sampler) pair() Pair { return Pair{s.ref(), bellows.Generation(s.Uint32())} }

func (s sampler) need() Need {
	return Need{bellows.CommitNumber(s.Uint64()), s.clock()}
}

// version returns mostly that of a job's first route.
func (s sampler) version() bellows.RouteVersion {
	return []bellows.RouteVersion{0, 0, 1, bellows.RouteVersion(s.Uint32())}[s.IntN(4)]
}

func (s sampler) clock() bellows.Clock {
	return []bellows.Clock{bellows.NoClock, 0, math.MinInt32, math.MaxInt32, bellows.Clock(s.Uint32())}[s.IntN(5)]
}

func (s sampler) unit() bellows.Unit {
	a, b := s.IntN(math.MaxInt), s.IntN(1000)
	return bellows.Unit{Split: bellows.SplitID(s.Uint32()), Clock: s.clock(), Items: bellows.Range{Begin: min(a, b), End: max(a, b)}}
}

func (s sampler) subtree() Subtree {
	if s.IntN(4) == 0 {
		begin := s.IntN(1 << 40)
		return Subtree{Index: s.Uint32(), Items: bellows.Range{Begin: begin, End: begin + 1 + s.IntN(1000)}}
	}
	level := uint8(s.IntN(33))
	return Subtree{Level: level, Index: uint32(uint64(s.Uint32()) >> level)}
}

// rows makes a list of rows: nil, empty, short or long enough to be borrowed.
func (s sampler) rows() []uint32 {
	switch s.IntN(4) {
	case 0:
		return nil
	case 1:
		return []uint32{}
	case 2:
		return s.listed(1 + s.IntN(20))
	}
	return s.listed(s.IntN(2 * borrowMin / 4))
}

func (s sampler) listed(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = s.Uint32()
	}
	slices.Sort(rows)
	return rows
}

// ids makes a list of rows or of keys.
func (s sampler) ids() ([]uint32, []bellows.Key) {
	if s.IntN(3) > 0 {
		return s.rows(), nil
	}
	list := make([]bellows.Key, []int{0, 1, 1 + s.IntN(20), s.IntN(2 * borrowMin / 8)}[s.IntN(4)])
	for i := range list {
		list[i] = bellows.Key(s.Uint64())
	}
	slices.Sort(list)
	return nil, list
}

// values makes values for rows, as many for each: numbers of any bits, NaN and infinities included.
func (s sampler) values(rows []uint32, list []bellows.Key) []float32 {
	n := s.IntN(40)
	if list != nil {
		n = len(list) * s.IntN(4)
	} else if rows != nil {
		n = len(rows) * s.IntN(4)
	} else if s.IntN(3) == 0 {
		n = s.IntN(2 * borrowMin / 4)
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(s.Uint32())
	}
	return v
}

// lease returns values of a lease, of rows with padding or without.
func (s sampler) lease() (padding.Columns, []float32) {
	v := s.values(nil, nil)
	width := 2 + s.IntN(30)
	c := padding.Find(width, s.IntN(width))
	if c.Padding > 0 {
		v = v[:len(v)/width*width]
		for at := 0; at < len(v); at += width {
			clear(v[at+int(c.Sent) : at+width])
		}
	}
	return c, v
}

func (s sampler) number() float64 { return math.Float64frombits(s.Uint64()) }

func (s sampler) sum() audit.Sum { return audit.Sum(s.Uint64()) }

func (s sampler) reason() string {
	return strings.Repeat("part 3 é ", s.IntN(30))
}

// messages makes one of each kind.
func (s sampler) messages() []Message {
	dispatch := &Dispatch{Term: bellows.Term(s.Uint32()), Commit: bellows.CommitNumber(s.Uint64())}
	for range s.IntN(6) {
		dispatch.Append(s.unit(), list(s, 4, s.number))
	}
	counts := Counts{Sent: s.Int64(), Applied: s.Int64(), Dropped: s.Int64(), Ledgers: list(s, 4, func() audit.Ledger {
		return audit.Ledger{Sent: s.sum(), Taken: s.sum(), Dropped: s.sum(), Yielded: s.sum(), Written: s.sum()}
	})}
	for i := range counts.Staleness {
		counts.Staleness[i] = s.Int64() >> s.IntN(64)
	}
	return append(s.data(),
		s.done(), dispatch,
		&Failed{Unit: s.unit(), Reason: s.reason(), Kind: bellows.Kind(s.IntN(int(bellows.Interrupted) + 1))},
		&Beat{},
		&Records{Term: bellows.Term(s.Uint32()), Keep: bellows.CommitNumber(s.Uint64()), List: list(s, 6, s.record)},
		&Staleness{bellows.TableID(s.Uint32()), int32(s.Uint32()), bellows.Term(s.Uint32())},
		&End{bellows.Term(s.Uint32()), bellows.CommitNumber(s.Uint64()), s.reason(), list(s, 5, func() bellows.NodeID { return bellows.NodeID(s.Uint32()) }), bellows.Kind(s.IntN(11)), s.IntN(2) == 1,
			list(s, 3, func() LaneName { return LaneName{bellows.NodeID(s.Uint32()), uint16(s.IntN(1 << 16))} })},
		&Closed{counts, s.version(), s.removals(), list(s, 3, func() Missed { return Missed{s.flush(), s.ref(), s.Int64() >> 1 & 0xffffffff, s.sum()} })}, &Adopted{s.removals()}, &Collect{bellows.Term(s.Uint32()), s.IntN(2) == 1, s.Uint32()}, &Collected{s.reason(), bellows.Term(s.Uint32())}, &Ready{bellows.Fingerprint{Tables: s.Uint64(), Program: s.Uint64() >> 40}}, &Notice{s.reason()},
		&Complaint{bellows.NodeID(s.Uint32()), s.reason(), s.IntN(2) == 1},
		&Fence{bellows.Term(s.Uint32()), bellows.NodeID(s.Uint32()), s.Uint32()}, &Computing{s.unit(), s.Int64()},
		&Recall{bellows.Term(s.Uint32()), bellows.SplitID(s.Uint32())}, &Recalled{bellows.Term(s.Uint32()), bellows.SplitID(s.Uint32()), bellows.Clock(s.Int32())},
		&Query{bellows.Term(s.Uint32()), bellows.CommitNumber(s.Uint64())}, s.holding(),
		&Report{s.Uint32(), s.Int64(), s.tally(), s.Uint32(), list(s, 5, func() tally.Link {
			return tally.Link{To: uint16(s.Uint32()), Bytes: s.Int64() >> s.IntN(64), Busy: time.Duration(s.Int64() >> s.IntN(64))}
		}), s.Int64()},
		&Handoff{bellows.Term(s.Uint32()), s.Uint64(), s.pair(), bellows.NodeID(s.Uint32()), uint16(s.Uint32()), s.IntN(2) == 1, s.IntN(2) == 1},
		&Prepared{bellows.Term(s.Uint32()), s.Uint64(), s.pair(), s.Uint64(), s.Uint64(), s.IntN(2) == 1, s.reason()},
		&Cut{bellows.Term(s.Uint32()), s.Uint64(), bellows.CommitNumber(s.Uint64()), s.IntN(2) == 1},
		&Shard{bellows.Term(s.Uint32()), s.Uint64(), bellows.CommitNumber(s.Uint64()), s.ref(), s.reason(), s.Uint64(), s.Uint64(), bellows.CommitNumber(s.Uint64()), s.reason()},
		s.route(), &Stale{bellows.Term(s.Uint32()), s.version(), s.Uint64(), s.flush(), list(s, 5, s.pair)},
		&Ack{[2]uint64{s.Uint64(), s.Uint64()}}, &Resume{s.Uint64(), s.Uint64(), [2]uint64{s.Uint64(), s.Uint64()}}, &Bye{})
}

func (s sampler) tally() (t tally.Tally) {
	for p := range t.Spent {
		t.Spent[p] = time.Duration(s.Int64() >> s.IntN(64))
	}
	for c := range t.Sent {
		t.Sent[c] = tally.Flow{Frames: s.Int64() >> s.IntN(64), Bytes: s.Int64() >> s.IntN(64)}
		t.Received[c] = tally.Flow{Frames: s.Int64() >> s.IntN(64), Bytes: s.Int64() >> s.IntN(64)}
	}
	for i := range t.Staleness {
		t.Staleness[i] = s.Int64() >> s.IntN(64)
	}
	w := &t.Work
	for _, n := range []*int64{&w.Items, &w.Rows, (*int64)(&w.Serving), (*int64)(&w.Processor)} {
		*n = s.Int64() >> s.IntN(64)
	}
	return t
}

func (s sampler) record() Record {
	one := Record{Number: bellows.CommitNumber(1 + s.Uint64N(1<<40))}
	if s.IntN(3) == 0 {
		one.Control = s.control()
		return one
	}
	one.Flush, one.Pairs = s.flush(), list(s, 5, s.pair)
	for range s.IntN(3) {
		p := s.pair()
		for p.Ref.Partition /= 2; s.IntN(4) > 0; p.Ref.Partition++ {
			one.Pairs = append(one.Pairs, p)
		}
	}
	one.Results = list(s, 30, func() Result { return Result{s.unit(), list(s, 4, s.number)} })
	one.Sent = s.sent()
	return one
}

func (s sampler) sent() []audit.Sent {
	return list(s, 3, func() audit.Sent {
		return audit.Sent{Table: bellows.TableID(s.Uint32()), Rows: s.Int64(), Bits: s.sum()}
	})
}

func (s sampler) control() bellows.Control {
	return bellows.Control{Kind: bellows.ControlKind(1 + s.IntN(255)), Table: bellows.TableID(s.Uint32()), Clocks: int32(s.Uint32()), Clock: s.clock(),
		Node: bellows.NodeID(s.Uint32()), Lane: uint16(s.Uint32()), Partition: bellows.PartitionID(s.Uint32()), Generation: bellows.Generation(s.Uint32()), Split: bellows.SplitID(s.Uint32()), Route: s.version(), Heir: bellows.NodeID(s.Uint32()), HeirLane: uint16(s.Uint32())}
}

func (s sampler) removals() []bellows.Control {
	return list(s, 3, func() bellows.Control {
		c := s.control()
		c.Kind = bellows.RemoveLane + bellows.ControlKind(s.IntN(3))
		return c
	})
}

func (s sampler) route() *Route {
	m := &Route{Term: bellows.Term(s.Uint32()), Version: bellows.RouteVersion(s.Uint32()), Changes: list(s, 6, s.control)}
	if s.IntN(2) == 0 {
		m.Begin = &Begin{bellows.CommitNumber(s.Uint64()), list(s, 4, func() bellows.Clock { return bellows.Clock(s.Int32N(math.MaxInt32) - s.Int32N(2)) }), list(s, 4, func() int32 { return s.Int32N(math.MaxInt32) }),
			list(s, 4, func() Recorded {
				return Recorded{bellows.NodeID(s.Uint32()), 1 + s.Uint32N(99), s.Uint64(), list(s, 4, s.Uint64)}
			}), list(s, 4, s.unit)}
	}
	return m
}

func (s sampler) holding() *Holding {
	return &Holding{Term: bellows.Term(s.Uint32()), Last: bellows.CommitNumber(s.Uint64()), Tail: bellows.CommitNumber(s.Uint64()),
		Flushes: list(s, 4, func() HeldFlush {
			id := s.flush()
			id.Seq, id.Incarnation = max(id.Seq, 1), max(id.Incarnation, 1)
			return HeldFlush{id, s.clock(), list(s, 4, s.pair), list(s, 4, s.pair), list(s, 3, func() Result { return Result{s.unit(), list(s, 4, s.number)} }), s.sent()}
		}), Owned: list(s, 5, func() Owned { return Owned{s.pair(), bellows.CommitNumber(s.Uint64())} }), Added: list(s, 3, func() bellows.Control {
			return bellows.Control{Kind: bellows.AddLane + bellows.ControlKind(s.IntN(2)), Route: s.version(), Node: bellows.NodeID(s.Uint32()), Lane: uint16(s.Uint32())}
		}), Gone: list(s, 3, func() Fence { return Fence{Node: bellows.NodeID(s.Uint32()), Incarnation: s.Uint32()} }), Adopted: s.removals(), End: &End{Commit: bellows.CommitNumber(s.Uint64()), Reason: s.reason()}}
}

// data makes one of each kind of data message.
func (s sampler) data() []Message {
	mode := Mode(s.IntN(2))
	columns, lent := s.lease()
	return []Message{
		&Pull{Request: s.Uint64(), Incarnation: s.Uint32(), Need: s.need(), Route: s.version(), Parts: list(s, 5, func() PullPart {
			rows, keys := s.ids()
			return PullPart{Pair: s.pair(), Rows: rows, Keys: keys, Subscribe: s.IntN(2) == 1}
		})},
		&Rows{Request: s.Uint64(), Incarnation: s.Uint32(), Parts: list(s, 5, func() RowsPart {
			rows, keys := s.ids()
			return RowsPart{Pair: s.pair(), Commit: bellows.CommitNumber(s.Uint64()), Complete: s.clock(), Rows: rows, Keys: keys, Values: s.values(rows, keys)}
		})},
		&Acquire{s.Uint64(), s.pair(), mode, s.need(), s.version(), bellows.CommitNumber(s.Uint64())},
		&Granted{Request: s.Uint64(), Pair: s.pair(), Mode: mode, Commit: bellows.CommitNumber(s.Uint64()), Complete: s.clock(),
			Revision: bellows.CommitNumber(s.Uint64()), Unchanged: s.IntN(2) == 1, Columns: columns, Values: lent},
		&Inquiry{s.Uint32(), list(s, 3, s.wait)}, &Standing{s.Uint32(), list(s, 3, s.wait)},
		&Release{s.pair()}, &Unsubscribe{s.pair(), s.Uint32()},
		&Push{Flush: s.flush(), Again: s.IntN(2) == 1, Route: s.version(), Clock: s.clock(), Pairs: list(s, 5, s.pair),
			Chunks: list(s, 5, func() Chunk {
				rows, keys := s.ids()
				return Chunk{s.pair(), s.subtree(), rows, keys, s.values(rows, keys)}
			}),
			Leases: list(s, 3, func() LeaseEnd {
				columns, values := s.lease()
				return LeaseEnd{s.pair(), columns, values}
			})},
		s.donePush(),
		&Held{s.flush(), list(s, 3, s.pair)}, &Full{s.flush(), list(s, 3, s.pair)}, &Room{s.flush(), list(s, 3, s.pair)},
		&Committed{List: list(s, 3, func() Commitment {
			return Commitment{s.flush(), bellows.CommitNumber(s.Uint64()), s.IntN(2) == 1, list(s, 3, s.pair)}
		})},
		&Refused{s.flush(), bellows.Kind(s.IntN(int(bellows.Interrupted) + 1)), s.reason()},
		s.slab(), s.piece(), &Taken{s.Uint64(), s.Uint64(), s.pair(), s.IntN(2) == 1},
	}
}

func (s sampler) wait() pending.Wait {
	return pending.Wait{Of: pending.Of(s.IntN(int(pending.Clocks) + 1)), Number: s.Uint64(), Ref: s.ref(), Generation: bellows.Generation(s.Uint32()),
		Behind: pending.Behind(s.IntN(int(pending.Silence) + 1)), Who: s.Uint32()}
}

func (s sampler) done() *Done {
	d := &Done{Flush: s.flush(), Clock: s.clock(), Pairs: list(s, 5, s.pair), Deferrable: s.IntN(2) == 1}
	for range s.IntN(6) {
		d.Append(s.unit(), list(s, 4, s.number))
	}
	d.Sent = s.sent()
	return d
}

// donePush returns a push with its done.
func (s sampler) donePush() *Push {
	d := s.done()
	return &Push{Flush: d.Flush, Clock: d.Clock, Pairs: slices.Clone(d.Pairs), Done: d}
}

// slab returns one of values or of keys.
func (s sampler) slab() *Slab {
	m := &Slab{Ref: s.ref(), Kept: s.IntN(2) == 1, Slot: uint16(s.Uint32()), Term: bellows.Term(s.Uint32())}
	if _, m.Keys = s.ids(); m.Keys == nil {
		m.Values = s.values(nil, nil)
	}
	return m
}

func (s sampler) piece() *Piece {
	m := &Piece{Copy: s.Uint64(), Number: s.Uint64(), Pair: s.pair(), Kind: uint8(s.IntN(pieceKinds)), Route: s.version(), Waits: s.IntN(2) == 1, Clock: s.clock(), Subtree: s.subtree(),
		First: s.Uint32(), Count: s.Uint32(), Commit: bellows.CommitNumber(s.Uint64()), Newest: bellows.CommitNumber(s.Uint64()), Ended: bellows.CommitNumber(s.Uint64()), Sum: s.sum()}
	m.Rows, m.Keys = s.ids()
	m.Values = s.values(m.Rows, m.Keys)
	return m
}

func (s sampler) address() Address {
	return Address{bellows.NodeID(s.Uint32()), Role(s.IntN(3)), uint16(s.Uint32())}
}

// differ says at which field two messages differ: numbers bit for bit, and lists of rows also in whether
// they are nil.
func differ(a, b Message) string {
	return differAt(reflect.TypeOf(a).Elem().Name(), reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func differAt(at string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if (f.Name == "Rows" || f.Name == "Keys") && f.Type.Kind() == reflect.Slice && a.Field(i).IsNil() != b.Field(i).IsNil() {
				return at + "." + f.Name + ": nil and not nil"
			}
			if d := differAt(at+"."+f.Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return at + ": nil and not nil"
			}
			return ""
		}
		return differAt(at, a.Elem(), b.Elem())
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return at + ": other lengths"
		}
		for i := range a.Len() {
			if d := differAt(at+"[]", a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Float32, reflect.Float64:
		// A float32 keeps its bits in a float64, but for the mark of a signalling NaN.
		if a.Type() == reflect.TypeFor[float32]() {
			x, y := a.Interface().(float32), b.Interface().(float32)
			if math.Float32bits(x) != math.Float32bits(y) {
				return at
			}
			return ""
		}
		if math.Float64bits(a.Float()) != math.Float64bits(b.Float()) {
			return at
		}
		return ""
	}
	if a.Interface() != b.Interface() {
		return at
	}
	return ""
}

// frame returns one message as bytes.
func frame(t testing.TB, e Envelope) []byte {
	t.Helper()
	var b Batch
	if err := b.Add(e); err != nil {
		t.Fatalf("%T: %v", e.Message, err)
	}
	return joined(t, &b)
}

// joined returns what a batch writes.
func joined(t testing.TB, b *Batch) []byte {
	t.Helper()
	f := slices.Concat(b.Buffers()...)
	if len(f) != b.Len() {
		t.Fatalf("Len is %d, the buffers hold %d bytes", b.Len(), len(f))
	}
	return f
}

// read takes one frame off the front of a stream.
func read(t testing.TB, stream []byte) (Envelope, []byte) {
	t.Helper()
	h := header(t, stream)
	payload := h.Payload()
	copy(payload, stream[HeaderSize:])
	e, err := Decode(h, payload)
	require.NoError(t, err)
	return e, stream[HeaderSize+int(h.Length):]
}

// header returns the header of a frame.
func header(tb testing.TB, frame []byte) Header {
	tb.Helper()
	h, err := ParseHeader(frame)
	require.NoError(tb, err)
	return h
}
