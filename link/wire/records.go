package wire

import (
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/crc"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// Record is one number of the controller's stream: a flush, which only its record makes count, or a control record.
// Everything that changes what the controller does next is a record, so that another controller with the records can
// continue.
type Record struct {
	Number  bellows.CommitNumber
	Flush   bellows.FlushID // none: the record is its Control
	Pairs   []Pair          // of the whole flush, over all lanes: a lane that has none of it knows whether it must have some
	Results []Result        // the units that the flush finished, and what their tasks signalled
	Sent    []audit.Sent    // what the flush has of each table
	Control bellows.Control
}

// Records are consecutive records for a lane, in order; or, from a lane, some that it has kept (Query).
//
// The controller sends the same to all lanes, so that one message serves all of them (Share): within the node each gets
// the pointer, and the first that is encoded for another node makes the payload for the rest. From Share on it does not
// change (TestSharedRecords). encoded has a lock of its own, since the writers of several connections meet only there.
// Each receiver frees the message; the last one gives it to the pool.
//
// The lists of its records lie one after the other in pairs, results and numbers, which a freed message keeps: a record
// copies the lists of its done and allocates nothing.
type Records struct {
	Term bellows.Term // of the controller
	// Keep is the first record that lanes must keep: those below it are saved elsewhere. 0: all.
	Keep    bellows.CommitNumber
	List    []Record
	pairs   []Pair
	results []Result
	sent    []audit.Sent
	numbers []float64

	more    atomic.Int32 // receivers besides one that have not freed it
	shared  bool
	encoded *encoded // nil: it has never had several receivers
}

// Share makes one message of several for as many receivers, each of which frees it. It is encoded once for all of them,
// and must not change any more.
func (r *Records) Share(receivers int) {
	r.shared = true
	if r.encoded == nil {
		r.encoded = new(encoded)
	}
	r.more.Store(int32(receivers - 1))
}

// Room reports whether the record of a flush still fits: a message has a bounded number of elements.
func (r *Records) Room(d *Done) bool {
	return max(len(r.List)+1, len(r.pairs)+len(d.Pairs), len(r.results)+len(d.Results), len(r.sent)+len(d.Sent), len(r.numbers)+len(d.numbers)) <= listMax
}

// Append adds the record of a flush, copying what its done says.
func (r *Records) Append(n bellows.CommitNumber, d *Done) {
	pairs, results, sent := len(r.pairs), len(r.results), len(r.sent)
	r.pairs = append(r.pairs, d.Pairs...)
	r.sent = append(r.sent, d.Sent...)
	r.results = appendResults(r.results, d.Results, &r.numbers)
	r.List = append(r.List, Record{Number: n, Flush: d.Flush, Pairs: r.pairs[pairs:len(r.pairs):len(r.pairs)],
		Results: r.results[results:len(r.results):len(r.results)], Sent: r.sent[sent:len(r.sent):len(r.sent)]})
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
	pairs, results, sent := 0, 0, 0
	for i := range r.List {
		pairs += len(r.List[i].Pairs)
		results += len(r.List[i].Results)
		sent += len(r.List[i].Sent)
	}
	if max(pairs, results, sent) > listMax {
		b.tooMany(r, errMany)
		return
	}
	b.control(r)
}

func (r *Records) decode(payload []byte) error { return decodeControl(r, payload) }

func (r *Records) fields(c *fields.Codec) error {
	fields.List(c, 1, &r.List, func(one *Record) error {
		fields.Num(c, 1, &one.Number)
		flushID(c, 2, &one.Flush)
		results(c, 3, &one.Results, &r.results, &r.numbers)
		runs(c, 4, &one.Pairs, &r.pairs)
		change(c, 5, &one.Control)
		sent(c, 6, &one.Sent, &r.sent)
		if one.Number == 0 || one.Flush == (bellows.FlushID{}) && one.Control.Kind == bellows.NoControl {
			return errNumber
		}
		return nil
	})
	fields.Num(c, 2, &r.Term)
	fields.Num(c, 3, &r.Keep)
	return nil
}

// change encodes or decodes a control record; an empty one is omitted.
func change(c *fields.Codec, number protowire.Number, x *bellows.Control) {
	c.Message(number, *x != bellows.Control{}, func() error { return controlFields(c, x) })
}

func controlFields(c *fields.Codec, x *bellows.Control) error {
	fields.Num(c, 1, &x.Kind)
	fields.Num(c, 2, &x.Table)
	fields.Zigzag(c, 3, &x.Clocks)
	fields.Zigzag(c, 4, &x.Clock)
	fields.Num(c, 5, &x.Node)
	fields.Num(c, 6, &x.Lane)
	fields.Num(c, 7, &x.Partition)
	fields.Num(c, 8, &x.Generation)
	fields.Num(c, 9, &x.Split)
	fields.Num(c, 10, &x.Route)
	fields.Num(c, 11, &x.Heir)
	fields.Num(c, 12, &x.HeirLane)
	return nil
}

// recycle takes the message back from the last of its receivers.
func (r *Records) recycle() *sync.Pool {
	if r.more.Add(-1) >= 0 {
		return nil
	}
	if r.encoded != nil {
		r.encoded.made = false
	}
	*r = Records{List: r.List[:0], pairs: r.pairs[:0], results: r.results[:0], sent: r.sent[:0], numbers: r.numbers[:0], encoded: r.encoded}
	return &pools[kindRecords]
}
