package wire

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/link/wire/internal/crc"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// Record is one number of the controller's stream: a flush, which nothing else makes count, or a control record. Whatever
// changes what the controller does next is a record, so that another that has the records can go on.
type Record struct {
	Number  bellows.CommitNumber
	Flush   bellows.FlushID // none: the record is its Control
	Pairs   []Pair          // of the whole flush, over all lanes: a lane that has none of it knows whether it must have some
	Results []Result        // the units that the flush finished, and what their tasks signalled
	Control bellows.Control
}

// Records are consecutive records for a lane, in order; or, from a lane, some that it has kept (Query).
type Records struct {
	Term bellows.Term // of the controller
	// Keep is the first record that lanes must keep: those below it are saved elsewhere. 0: all.
	Keep    bellows.CommitNumber
	List    []Record
	pairs   []Pair
	results []Result
	numbers []float64

	more    atomic.Int32 // receivers besides one that have not freed it
	shared  bool
	encoded *encoded // nil: it has never had several receivers
}

// Share makes one message of several for as many receivers, each of whom frees it. It is encoded once for
// all of them, and must not change any more.
func (r *Records) Share(receivers int) {
	r.shared = true
	if r.encoded == nil {
		r.encoded = new(encoded)
	}
	r.more.Store(int32(receivers - 1))
}

// Room reports whether the record of a flush still fits: a message has a bounded number of elements.
func (r *Records) Room(d *Done) bool {
	return max(len(r.List)+1, len(r.pairs)+len(d.Pairs), len(r.results)+len(d.Results), len(r.numbers)+len(d.numbers)) <= listMax
}

// Append adds the record of a flush, copying what its done says.
func (r *Records) Append(n bellows.CommitNumber, d *Done) {
	pairs, results := len(r.pairs), len(r.results)
	r.pairs = append(r.pairs, d.Pairs...)
	r.results = appendResults(r.results, d.Results, &r.numbers)
	r.List = append(r.List, Record{Number: n, Flush: d.Flush, Pairs: r.pairs[pairs:len(r.pairs):len(r.pairs)],
		Results: r.results[results:len(r.results):len(r.results)]})
}

// AppendControl adds a control record.
func (r *Records) AppendControl(n bellows.CommitNumber, c bellows.Control) {
	r.List = append(r.List, Record{Number: n, Control: c})
}

// encoded is the payload of a message with several receivers, made for the first that asks.
type encoded struct {
	mu    sync.Mutex
	batch Batch // its scratch is the payload
	sum   uint32
	made  bool
	err   error
}

const kindRecords uint8 = 67

func (*Records) kind() uint8 { return kindRecords }

// encode makes the payload of what has several receivers once, and lends it to each.
func (r *Records) encode(b *Batch) {
	if !r.shared || b.alone {
		r.encodeList(b)
		return
	}
	e := r.encoded
	e.mu.Lock()
	if !e.made {
		e.made = true
		e.batch.scratch = e.batch.scratch[:0]
		r.encodeList(&e.batch)
		e.err, e.batch.err = e.batch.err, nil
		e.sum = crc.Sum(e.batch.scratch)
	}
	e.mu.Unlock()
	if e.err != nil {
		b.fail(e.err)
		return
	}
	b.pieces.AddSummed(len(b.scratch), e.batch.scratch, e.sum)
}

// encodeList adds the records one by one.
func (r *Records) encodeList(b *Batch) {
	pairs, results := 0, 0
	for i := range r.List {
		pairs += len(r.List[i].Pairs)
		results += len(r.List[i].Results)
	}
	if max(pairs, results, len(r.List)) > listMax {
		b.tooMany(r)
		return
	}
	for i := range r.List {
		b.record(&r.List[i])
	}
	b.pb().Varint(2, uint64(r.Term))
	b.pb().Varint(3, uint64(r.Keep))
}

func (b *Batch) record(one *Record) {
	at := b.pb().Open(1)
	b.pb().Varint(1, uint64(one.Number))
	b.protoFlush(2, one.Flush)
	b.results(3, one.Results)
	b.runs(4, one.Pairs)
	if one.Control != (bellows.Control{}) {
		b.change(5, &one.Control)
	}
	b.pb().Shut(at)
}

// change adds a control.
func (b *Batch) change(number protowire.Number, c *bellows.Control) {
	at := b.pb().Open(number)
	b.pb().Varint(1, uint64(c.Kind))
	b.pb().Varint(2, uint64(c.Table))
	b.pb().Zigzag(3, c.Clocks)
	b.pb().Zigzag(4, int32(c.Clock))
	b.pb().Varint(5, uint64(c.Node))
	b.pb().Varint(6, uint64(c.Lane))
	b.pb().Varint(7, uint64(c.Partition))
	b.pb().Varint(8, uint64(c.Generation))
	b.pb().Varint(9, uint64(c.Split))
	b.pb().Varint(10, uint64(c.Route))
	b.pb().Shut(at)
}

// results adds a list of them.
func (b *Batch) results(number protowire.Number, list []Result) {
	for i := range list {
		at := b.pb().Open(number)
		b.pb().Unit(1, list[i].Unit)
		b.pb().Doubles(2, list[i].Values)
		b.pb().Shut(at)
	}
}

func (r *Records) decode(payload []byte) error {
	r.grow(payload)
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			f.Room(len(r.List))
			f.Fail(r.record(f.Data))
		case 2<<3 | varint:
			r.Term = termOf(&f)
		case 3<<3 | varint:
			r.Keep = bellows.CommitNumber(f.Num)
		}
	}
	return f.Err
}

// recordLeast is how many bytes a record takes.
const recordLeast = 8

// grow makes room for the records and results of a payload.
func (r *Records) grow(payload []byte) {
	f := fields.Of(payload)
	list, results := 0, 0
	for f.Next() {
		if f.Key == 1<<3|sized {
			list++
			results += fields.Count(f.Data, 3<<3|sized)
		}
	}
	r.List = slices.Grow(r.List, min(list, listMax, len(payload)/recordLeast))
	r.results = slices.Grow(r.results, min(results, listMax))
}

// record appends a record, which without its results and pairs has recordLeast bytes at least, since it is of something.
func (r *Records) record(b []byte) error {
	f := fields.Of(b)
	one := Record{}
	pairs, results := len(r.pairs), len(r.results)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			one.Number = bellows.CommitNumber(f.Num)
		case 2<<3 | sized:
			f.Fail(flushOf(f.Data, &one.Flush))
		case 3<<3 | sized:
			f.Room(len(r.results))
			u, values, err := numbered(f.Data, &r.numbers)
			f.Fail(err)
			r.results = append(r.results, Result{u, values})
		case 4<<3 | sized, 4<<3 | varint:
			r.pairs = runsOf(&f, r.pairs)
		case 5<<3 | sized:
			f.Fail(changeOf(f.Data, &one.Control))
		}
	}
	if one.Number == 0 || one.Flush == (bellows.FlushID{}) && one.Control.Kind == bellows.NoControl {
		f.Fail(errNumber)
	}
	one.Pairs, one.Results = r.pairs[pairs:len(r.pairs):len(r.pairs)], r.results[results:len(r.results):len(r.results)]
	r.List = append(r.List, one)
	return f.Err
}

func changeOf(b []byte, c *bellows.Control) error {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			c.Kind = bellows.ControlKind(f.UpTo(math.MaxUint8))
		case 2<<3 | varint:
			c.Table = bellows.TableID(f.UpTo(math.MaxUint16))
		case 3<<3 | varint:
			c.Clocks = f.Sint32()
		case 4<<3 | varint:
			c.Clock = bellows.Clock(f.Sint32())
		case 5<<3 | varint:
			c.Node = bellows.NodeID(f.UpTo(math.MaxUint16))
		case 6<<3 | varint:
			c.Lane = uint16(f.UpTo(math.MaxUint16))
		case 7<<3 | varint:
			c.Partition = bellows.PartitionID(f.UpTo(math.MaxUint32))
		case 8<<3 | varint:
			c.Generation = bellows.Generation(f.UpTo(math.MaxUint32))
		case 9<<3 | varint:
			c.Split = bellows.SplitID(f.UpTo(math.MaxUint32))
		case 10<<3 | varint:
			c.Route = bellows.RouteVersion(f.UpTo(math.MaxUint32))
		}
	}
	return f.Err
}

// recycle takes the message back from the last of its receivers.
func (r *Records) recycle() *sync.Pool {
	if r.more.Add(-1) >= 0 {
		return nil
	}
	if r.encoded != nil {
		r.encoded.made = false
	}
	*r = Records{List: r.List[:0], pairs: r.pairs[:0], results: r.results[:0], numbers: r.numbers[:0], encoded: r.encoded}
	return &pools[kindRecords]
}
