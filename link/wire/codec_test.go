package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"bellows"
	"bellows/core/pending"
	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
)

// castagnoli is the polynomial as the standard library computes it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// TestRoundTrip sends random messages of every kind in batches: what arrives is what was sent, in order.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var b Batch
	for seed := range uint64(200) {
		s := newSampler(seed)
		var sent []Envelope
		for _, m := range s.messages() {
			e := Envelope{Era: bellows.Era(s.Uint32() >> 16), From: s.address(), To: s.address(), Message: m}
			sent = append(sent, e)
			require.NoError(t, b.Add(e))
		}
		stream := joined(t, &b)
		for _, want := range sent {
			var got Envelope
			got, stream = read(t, stream)
			if got.From != want.From || got.To != want.To {
				t.Fatalf("seed %d: %T from %v to %v arrived from %v to %v", seed, want.Message, want.From, want.To, got.From, got.To)
			}
			if d := differ(want.Message, got.Message); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
			Free(got.Message)
		}
		if len(stream) > 0 {
			t.Fatalf("seed %d: %d bytes are left", seed, len(stream))
		}
		b.messages = nil // they are compared above and not to be pooled
		b.Reset()
	}
}

// TestKindsAreSampled wants a sample of every kind that has a number.
func TestKindsAreSampled(t *testing.T) {
	t.Parallel()
	seen := map[uint8]bool{}
	for _, m := range newSampler(1).messages() {
		h := header(t, frame(t, Envelope{Message: m}))
		seen[h.Kind] = true
	}
	for k := range kinds {
		if known := kindLimit(uint8(k)) >= 0; known != seen[uint8(k)] {
			t.Errorf("kind %d: known %v, sampled %v", k, known, seen[uint8(k)])
		}
	}
}

// TestBitFlips turns every bit of a frame of every kind: each is refused, by the header or by the payload.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	for _, m := range newSampler(3).messages() {
		f := frame(t, Envelope{Message: m})
		f = f[:min(len(f), 600)] // a longer payload is refused for its length
		for bit := range 8 * len(f) {
			f[bit/8] ^= 1 << (bit % 8)
			h, err := ParseHeader(f)
			if err == nil {
				_, err = Decode(h, alignedCopy(f[HeaderSize:]))
			}
			var e *bellows.Error
			if !errors.As(err, &e) || e.Kind != bellows.IO {
				t.Fatalf("%T with bit %d turned: %v", m, bit, err)
			}
			f[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestTruncation cuts payloads at every byte and recomputes their length and sum, as a hostile sender would. Raw
// payloads are refused; a reason and a protobuf message may end early, and are then whole messages.
func TestTruncation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		for _, m := range newSampler(seed).messages() {
			f := frame(t, Envelope{Message: m})
			h := header(t, f)
			for n := range min(len(f)-HeaderSize, 3000) {
				e, err := Decode(sealed(h, f[HeaderSize:HeaderSize+n]), alignedCopy(f[HeaderSize:HeaderSize+n]))
				if err == nil && h.Kind < firstControl && h.Kind != kindRefused {
					t.Fatalf("%T of %d bytes, cut at %d, was taken", m, h.Length, n)
				}
				if err == nil {
					again := frame(t, e)
					if got, _ := read(t, again); differ(e.Message, got.Message) != "" {
						t.Fatalf("%T cut at %d: %s", m, n, differ(e.Message, got.Message))
					}
				}
			}
		}
	}
}

// sealed returns a header with the length and sum of another payload.
func sealed(h Header, payload []byte) Header {
	h.Length, h.Checksum = uint32(len(payload)), crc32.Checksum(payload, castagnoli)
	return h
}

func alignedCopy(b []byte) []byte {
	c := memory.New(len(b))
	copy(c, b)
	return c
}

// TestRefusals plants one thing wrong at a time in messages that are otherwise whole.
func TestRefusals(t *testing.T) {
	t.Parallel()
	pair := Pair{bellows.PartitionRef{Table: 1, Partition: 2}, 3}
	push := func(c Chunk) *Push { c.Pair = pair; return &Push{Chunks: []Chunk{c}} }
	le := binary.LittleEndian
	for _, c := range []struct {
		name string
		m    Message
		mend func(p []byte) []byte // nil: the message itself is wrong
		want error
	}{
		{"subtree level", push(Chunk{Subtree: Subtree{Level: 33}}), nil, errSubtree},
		{"subtree index", push(Chunk{Subtree: Subtree{Level: 31, Index: 2}}), nil, errSubtree},
		{"subtree overflow", push(Chunk{Subtree: Subtree{Level: 32, Index: math.MaxUint32}}), nil, errSubtree},
		{"part of several splits", push(Chunk{Subtree: Subtree{Level: 1, Items: bellows.Range{End: 2}}}), nil, errNumber},
		{"part of no items", push(Chunk{Subtree: Subtree{Items: bellows.Range{End: 2}}}),
			func(p []byte) []byte { le.PutUint64(p[len(p)-8:], 0); return p }, errNumber},
		{"part beyond all items", push(Chunk{Subtree: Subtree{Items: bellows.Range{End: 2}}}),
			func(p []byte) []byte { le.PutUint64(p[len(p)-8:], 1<<63); return p }, errNumber},
		{"values for no rows", push(Chunk{Rows: []uint32{}, Values: []float32{1}}), nil, raw.ErrShape},
		{"values for rows and a half", push(Chunk{Rows: []uint32{1, 2}, Values: []float32{1, 2, 3}}), nil, raw.ErrShape},
		{"rows asked out of order", &Pull{Parts: []PullPart{{Pair: pair, Rows: []uint32{2, 1}}}}, nil, raw.ErrOrder},
		{"keys asked out of order", &Pull{Parts: []PullPart{{Pair: pair, Keys: []bellows.Key{1 << 63, 1}}}}, nil, raw.ErrOrder},
		{"keys of a slab out of order", &Slab{Keys: []bellows.Key{2, 1}}, nil, raw.ErrOrder},
		{"values for no keys", push(Chunk{Keys: []bellows.Key{}, Values: []float32{1}}), nil, raw.ErrShape},
		{"values for keys and a half", push(Chunk{Keys: []bellows.Key{1, 2}, Values: []float32{1, 2, 3}}), nil, raw.ErrShape},
		{"bytes before keys", push(Chunk{Keys: []bellows.Key{1}}), func(p []byte) []byte { p[68] = 1; return p }, raw.ErrReserved},
		{"more padding than rows may have", &Granted{Pair: pair}, func(p []byte) []byte { le.PutUint16(p[10:], 8<<12|1); return p }, errColumns},
		{"padding without values", &Granted{Pair: pair}, func(p []byte) []byte { le.PutUint16(p[10:], 1<<12); return p }, errColumns},
		{"values without padding", &Granted{Pair: pair}, func(p []byte) []byte { le.PutUint16(p[10:], 1); return p }, errColumns},
		{"no whole rows", &Granted{Pair: pair, Values: make([]float32, 3)}, func(p []byte) []byte { le.PutUint16(p[10:], 1<<12|2); return p }, raw.ErrShape},
		{"results of what is not done", &Push{}, func(p []byte) []byte { p[32] = 1; return p }, errDone},
		{"deferrable is not done", &Push{}, func(p []byte) []byte { p[37] = 1; return p }, errDone},
		{"done is a flag", &Push{}, func(p []byte) []byte { p[36] = 2; return p }, raw.ErrFlag},
		{"more results than bytes", &Push{Done: &Done{}}, func(p []byte) []byte { le.PutUint32(p[32:], 1); return p }, raw.ErrShort},
		{"more results than may be", &Push{Done: &Done{}}, func(p []byte) []byte { le.PutUint32(p[32:], listMax+1); return p }, errMany},
		{"more numbers than bytes", pushDone(bellows.Unit{}), func(p []byte) []byte { le.PutUint32(p[64:], math.MaxUint32); return p }, raw.ErrShort},
		{"a pushed result's items", pushDone(bellows.Unit{Items: bellows.Range{Begin: 2, End: 1}}), nil, errNumber},
		{"more keys than bytes", &Slab{}, func(p []byte) []byte { le.PutUint32(p[20:], math.MaxUint32-1); return p }, raw.ErrShort},
		{"kind of a refusal", &Refused{}, func(p []byte) []byte { p[16] = 11; return p }, errKind},
		{"reserved bytes of a refusal", &Refused{}, func(p []byte) []byte { p[17] = 1; return p }, raw.ErrReserved},
		{"rows answered out of order", &Rows{Parts: []RowsPart{{Rows: []uint32{2, 1}}}}, nil, raw.ErrOrder},
		{"mode of acquire", &Acquire{Mode: 2}, nil, errMode},
		{"mode of granted", &Granted{Mode: 2}, nil, errMode},
		{"unchanged is a flag", &Granted{}, func(p []byte) []byte { p[44] = 2; return p }, raw.ErrFlag},
		{"kind of a wait", &Inquiry{List: []pending.Wait{{Of: pending.Clocks + 1}}}, nil, errWait},
		{"what a wait is behind", &Standing{List: []pending.Wait{{Behind: pending.Silence + 1}}}, nil, errWait},
		{"more waits than bytes", &Standing{}, func(p []byte) []byte { p[0] = 1; return p }, raw.ErrShort},
		{"more parts than bytes", &Pull{}, func(p []byte) []byte { le.PutUint32(p[24:], math.MaxUint32); return p }, raw.ErrShort},
		{"more chunks than bytes", &Push{}, func(p []byte) []byte { le.PutUint32(p[24:], math.MaxUint32); return p }, raw.ErrShort},
		{"more values than bytes", &Granted{}, func(p []byte) []byte { le.PutUint32(p[48:], math.MaxUint32); return p }, raw.ErrShort},
		{"bytes behind the end", &Push{}, func(p []byte) []byte { return append(p, 0, 0, 0, 0) }, raw.ErrLong},
		{"subscribing is a flag", &Pull{Parts: []PullPart{{}}}, func(p []byte) []byte { p[48] = 2; return p }, raw.ErrFlag},
		{"reserved bytes", &Release{}, func(p []byte) []byte { p[2] = 1; return p }, raw.ErrReserved},
		{"kept is a flag", &Slab{}, func(p []byte) []byte { p[8] = 2; return p }, raw.ErrFlag},
		{"reserved bytes of a slab", &Slab{}, func(p []byte) []byte { p[16] = 2; return p }, raw.ErrReserved},
		{"reserved byte of a slab", &Slab{}, func(p []byte) []byte { p[9] = 2; return p }, raw.ErrReserved},
		{"waiting is a flag", &Committed{List: make([]Commitment, 1)}, func(p []byte) []byte { p[32] = 2; return p }, raw.ErrFlag},
		{"more pairs than bytes", &Committed{List: make([]Commitment, 1)}, func(p []byte) []byte { p[36] = 1; return p }, raw.ErrShort},
		{"half a pair", &Held{}, func(p []byte) []byte { return append(p, 0, 0, 0, 0) }, raw.ErrLong},
		{"more commitments than bytes", &Committed{}, func(p []byte) []byte { p[0] = 1; return p }, raw.ErrShort},
		{"reason", &Refused{}, func(p []byte) []byte { return append(p, 0xff) }, errText},
		{"items end before they begin", &Failed{Unit: bellows.Unit{Items: bellows.Range{Begin: 2, End: 1}}}, nil, errNumber},
		{"items before the first", &Failed{Unit: bellows.Unit{Items: bellows.Range{Begin: -1}}}, nil, errNumber},
		{"a record without number", &Records{List: []Record{{}}}, nil, errNumber},
		{"a task without unit", &Dispatch{}, func([]byte) []byte { return []byte{0x12, 0} }, errNoUnit},
		{"a table beyond 65535", &Staleness{}, func([]byte) []byte { return []byte{8, 0x80, 0x80, 4} }, errNumber},
		{"no doubles", &Dispatch{}, func([]byte) []byte { return []byte{0x12, 4, 0x0a, 0, 0x12, 0} }, nil},
		{"a cut double", &Dispatch{}, func([]byte) []byte { return []byte{0x12, 5, 0x0a, 0, 0x12, 1, 9} }, fields.ErrProto},
		{"no protobuf", &Beat{}, func([]byte) []byte { return []byte{0xff} }, fields.ErrProto},
		{"a failure's text", &Failed{}, func([]byte) []byte { return []byte{0x12, 1, 0xff} }, errText},
		{"sums of less than a table", &Closed{}, func([]byte) []byte { return append([]byte{0x2a, 32}, make([]byte, 32)...) }, errNumber},
		{"a cut sum", &Closed{}, func([]byte) []byte { return append([]byte{0x2a, 41}, make([]byte, 41)...) }, fields.ErrProto},
		{"more bins than there are", &Closed{}, func([]byte) []byte { return append([]byte{0x22, 17}, make([]byte, 17)...) }, errNumber},
	} {
		f := frame(t, Envelope{Message: c.m})
		h := header(t, f)
		p := f[HeaderSize:]
		if c.mend != nil {
			p = c.mend(p)
		}
		if _, err := Decode(sealed(h, p), alignedCopy(p)); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", c.name, c.want, err)
		}
	}
}

// TestHeaderRefusals wants the reason in the sentence, and nothing taken for a header that is none.
func TestHeaderRefusals(t *testing.T) {
	t.Parallel()
	good := frame(t, Envelope{From: Address{1, Lane, 2}, To: Address{3, Client, 0}, Message: &Held{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}}})
	for _, c := range []struct {
		name string
		at   int
		to   byte
		want string
	}{
		{"magic", 0, 'x', "another program"},
		{"version", 4, 2, "version 2"},
		{"kind", 5, 200, "kind 200"},
		{"kind between", 5, 30, "kind 30"},
		{"no kind", 5, 0, "kind 0"},
		{"length", 11, 1, "over the limit of 3145748"},
		{"reserved", 7, 1, "reserved"},
		{"no such part", 6, 3, "reserved"},
		{"a part", 6, 1, "a held has no parts"},
		{"role", 24, 3, "role 3"},
	} {
		b := slices.Clone(good)
		b[c.at] = c.to
		binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
		if _, err := ParseHeader(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.name, c.want, err)
		}
	}
	for n := range HeaderSize {
		if _, err := ParseHeader(good[:n]); err == nil {
			t.Errorf("%d bytes were taken for a header", n)
		}
	}
	if h, err := ParseHeader(good); err != nil || h.String() != "held of 20 bytes from lane 2 of node 1 to node 3" {
		t.Errorf("%v, %v", h, err)
	}
}

// TestViews wants arrays in place: long ones borrowed from the sender's message, all looked at in the payload by the
// receiver's.
func TestViews(t *testing.T) {
	t.Parallel()
	values := make([]float32, borrowMin/4)
	var b Batch
	require.NoError(t, b.Add(Envelope{Message: &Push{Chunks: []Chunk{{Values: values}, {Values: values[:3]}}}}))
	list := b.Buffers()
	if memory.Swapped {
		if len(list) != 1 {
			t.Fatalf("%d buffers, though numbers must be turned", len(list))
		}
	} else if len(list) != 3 || unsafe.SliceData(list[1]) != (*byte)(unsafe.Pointer(unsafe.SliceData(values))) {
		t.Fatalf("%d buffers, the values not borrowed", len(list))
	}
	stream := joined(t, &b)
	h := header(t, stream)
	payload := alignedCopy(stream[HeaderSize:])
	e, err := Decode(h, payload)
	require.NoError(t, err)
	got := e.Message.(*Push).Chunks[0].Values
	got[0] = 5
	if !bytes.Contains(payload, memory.Bytes([]float32{5})) {
		t.Error("the values are not in the payload")
	}
	if cap(got) != len(got) {
		t.Error("values can grow into the bytes after them")
	}
	// A payload that is not aligned is copied.
	crooked := memory.New(len(payload) + 1)[1:]
	copy(crooked, stream[HeaderSize:])
	if e, err = Decode(h, crooked); err != nil || uintptr(unsafe.Pointer(unsafe.SliceData(e.Message.(*Push).Chunks[0].Values)))%4 != 0 {
		t.Errorf("a payload at an odd address: %v", err)
	}
}

// TestSwapped plays a machine with the other order of bytes: its frames are the same.
func TestSwapped(t *testing.T) {
	defer func() { memory.Swapped = !memory.Swapped }()
	rows, values := []uint32{1, 2, 0x01020304}, []float32{1, -2.5, 3e7}
	list := []bellows.Key{1, 2, 0x0102030405060708}
	want := frame(t, Envelope{Message: &Push{Chunks: []Chunk{{Rows: rows, Values: values}, {Keys: list}}}})
	memory.Swapped = !memory.Swapped
	other := &Push{Chunks: []Chunk{{Rows: slices.Clone(rows), Values: slices.Clone(values)}, {Keys: slices.Clone(list)}}}
	for i := range rows {
		other.Chunks[1].Keys[i] = bellows.Key(bits.ReverseBytes64(uint64(list[i])))
		other.Chunks[0].Rows[i] = bits.ReverseBytes32(rows[i])
		other.Chunks[0].Values[i] = math.Float32frombits(bits.ReverseBytes32(math.Float32bits(values[i])))
	}
	if got := frame(t, Envelope{Message: other}); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
	if e, _ := read(t, want); differ(e.Message, other) != "" {
		t.Error(differ(e.Message, other))
	}
}

// foreign is a message of another package, which never travels.
type foreign struct{ *Local }

// TestBatchErrors wants a batch as it was before a message that does not travel.
func TestBatchErrors(t *testing.T) {
	t.Parallel()
	var b Batch
	b.Shorten(0, 1<<20)
	long := make([]float32, slabMax/4)
	require.NoError(t, b.Add(Envelope{Message: &Granted{Values: long[:4000]}}))
	before := joined(t, &b)
	for _, c := range []struct {
		m    Message
		kind bellows.Kind
		want string
	}{
		{&Slab{Values: long}, bellows.Config, "67108888 bytes are over the limit of 67108864; cut the tables into more partitions"},
		{&Granted{Values: long[:1<<18]}, bellows.Config, "1048628 bytes are over the limit of 1048576; cut the tables into more partitions"},
		{&Push{Chunks: []Chunk{{Values: long[:1<<18]}}}, bellows.Config, "are over the limit of 1048576; read and update fewer rows at once, or use more servers"},
		{&Rows{Parts: []RowsPart{{Values: long[:1<<18]}}}, bellows.Config, "read and update fewer rows at once"},
		{&Dispatch{Tasks: make([]Task, listMax+1)}, bellows.Config, "more than 262144 elements"},
		{&Done{Pairs: make([]Pair, listMax+1)}, bellows.Config, "more than 262144 elements"},
		{&Push{Done: &Done{Results: make([]Result, listMax+1)}}, bellows.Config, "more than 262144 elements"},
		{&Records{List: make([]Record, listMax+1)}, bellows.Config, "more than 262144 elements"},
		{&End{Gone: make([]bellows.NodeID, listMax+1)}, bellows.Config, "more than 262144 elements"},
		{&Report{Links: make([]tally.Link, linksMax+1)}, bellows.Config, "more elements than its message may have"},
		{foreign{}, bellows.Bug, "wire.foreign does not travel"},
	} {
		err := b.Add(Envelope{Message: c.m})
		if err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != c.kind {
			t.Errorf("want %q, got %v", c.want, err)
		}
		if !bytes.Equal(joined(t, &b), before) {
			t.Fatalf("%T changed the batch", c.m)
		}
	}
	b.Reset()
	if b.Len() != 0 || len(b.Buffers()) != 0 {
		t.Errorf("%d bytes after Reset", b.Len())
	}
}

// TestListsAreBounded wants no more elements taken than a message may have, however few bytes they need.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    uint8
		element []byte
		most    int
		want    error
	}{
		{kindDone, []byte{0x1a, 0}, listMax, errMany},
		{kindDone, []byte{0x22, 2, 0x0a, 0}, listMax, errMany},
		{kindDispatch, []byte{0x12, 2, 0x0a, 0}, listMax, errMany},
		{kindRecords, []byte{0x0a, 6, 0x08, 1, 0x2a, 2, 0x08, 1}, listMax, errMany},
		{kindRecords, []byte{0x0a, 10, 0x08, 1, 0x2a, 2, 0x08, 1, 0x1a, 2, 0x0a, 0}, listMax, errMany},
		{kindReport, []byte{0x4a, 0}, linksMax, fields.ErrShort},
	} {
		p := bytes.Repeat(c.element, c.most+1)
		if _, err := Decode(sealed(Header{Kind: c.kind}, p), p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", kindName(c.kind), err)
		}
		p = p[len(c.element):]
		if _, err := Decode(sealed(Header{Kind: c.kind}, p), p); err != nil {
			t.Errorf("%s: %v", kindName(c.kind), err)
		}
	}
}

// TestLongestReportFits writes as many links as a job can have, with the largest numbers. A reader takes memory for no
// more of them, however many come.
func TestLongestReportFits(t *testing.T) {
	t.Parallel()
	m := &Report{Process: math.MaxUint32, Millis: math.MaxInt64, Leaves: math.MaxUint32, Spare: math.MaxInt64}
	for range linksMax {
		m.Links = append(m.Links, tally.Link{To: math.MaxUint16, Bytes: math.MaxInt64, Busy: math.MaxInt64})
	}
	e, _ := read(t, frame(t, Envelope{Message: m}))
	if d := differ(m, e.Message); d != "" {
		t.Error(d)
	}
	var none Report
	p := bytes.Repeat([]byte{0x4a, 0}, reportMax/2)
	var c fields.Codec
	if err := c.Read(p, func() error { return none.fields(&c) }); !errors.Is(err, fields.ErrShort) || cap(none.Links) > 2*linksMax {
		t.Errorf("%v, and memory for %d links", err, cap(none.Links))
	}
}

// TestReasons wants text to travel as it is, and what is no text or too long to keep nothing from travelling.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, want string }{
		{"a b", "a b"},
		{"a\xffb", "a\uFFFDb"},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", reasonMax)},
		{strings.Repeat("x", reasonMax-1) + "é", strings.Repeat("x", reasonMax-1)},
		{strings.Repeat("x\xff", reasonMax), strings.Repeat("x\uFFFD", reasonMax/4)},
	} {
		for _, m := range []Message{&Refused{Reason: c.sent}, &Failed{Reason: c.sent}, &End{Reason: c.sent}} {
			e, _ := read(t, frame(t, Envelope{Message: m}))
			got := ""
			switch m := e.Message.(type) {
			case *Refused:
				got = m.Reason
			case *Failed:
				got = m.Reason
			case *End:
				got = m.Reason
			}
			if got != c.want {
				t.Errorf("%T: %.20q of %d bytes became %d bytes", m, c.sent, len(c.sent), len(got))
			}
		}
	}
}

// TestFailedKind wants the kind of an error to travel where the error itself does not.
func TestFailedKind(t *testing.T) {
	t.Parallel()
	m := &Failed{Reason: "no such file", Err: bellows.Errorf(bellows.NoInput, "open", "x", "no such file")}
	e, _ := read(t, frame(t, Envelope{Message: m}))
	if got := e.Message.(*Failed); got.Kind != bellows.NoInput || got.Err != nil {
		t.Errorf("%+v", got)
	}
	p := []byte{0x18, 99} // a kind of a later version
	e, err := Decode(sealed(Header{Kind: kindFailed}, p), p)
	if err != nil || e.Message.(*Failed).Kind != bellows.Bug {
		t.Errorf("%+v, %v", e.Message, err)
	}
}

// pushDone returns a push with its done, of one unit.
func pushDone(u bellows.Unit) *Push {
	d := &Done{}
	d.Append(u, nil)
	return &Push{Done: d}
}
