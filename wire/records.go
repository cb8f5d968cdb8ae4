package wire

import (
	"slices"
	"sync"

	"bellows"
	"bellows/wire/internal/crc"
	"bellows/wire/internal/fields"
)

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
	e := &r.encoded
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
	units := 0
	for i := range r.List {
		units += len(r.List[i].Units)
	}
	if max(units, len(r.List)) > listMax {
		b.tooMany(r)
		return
	}
	for i := range r.List {
		one := &r.List[i]
		at := b.open(1)
		b.varint(1, uint64(one.Number))
		b.protoFlush(2, one.Flush)
		for _, u := range one.Units {
			b.unit(3, u)
		}
		b.shut(at)
	}
}

func (r *Records) decode(payload []byte) error {
	r.grow(payload)
	f := fields.Of(payload)
	for f.Next() {
		if f.Key == 1<<3|sized {
			f.Room(len(r.List))
			f.Fail(r.record(f.Data))
		}
	}
	return f.Err
}

// grow makes room for the records and units of a payload.
func (r *Records) grow(payload []byte) {
	f := fields.Of(payload)
	list, units := 0, 0
	for f.Next() {
		if f.Key == 1<<3|sized {
			list++
			units += fields.Count(f.Data, 3<<3|sized)
		}
	}
	r.List = slices.Grow(r.List, min(list, listMax))
	r.units = slices.Grow(r.units, min(units, listMax))
}

// record appends a record, which without its units is longer than four bytes.
func (r *Records) record(b []byte) error {
	f := fields.Of(b)
	one := Record{}
	at := len(r.units)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			one.Number = bellows.CommitNumber(f.Num)
		case 2<<3 | sized:
			f.Fail(flushOf(f.Data, &one.Flush))
		case 3<<3 | sized:
			f.Room(len(r.units))
			u := bellows.Unit{}
			f.Fail(unitOf(f.Data, &u))
			f.Fail(whole(&u))
			r.units = append(r.units, u)
		}
	}
	if one.Number == 0 {
		f.Fail(errNumber)
	}
	one.Units = r.units[at:len(r.units):len(r.units)]
	r.List = append(r.List, one)
	return f.Err
}

// recycle takes the message back from the last of its receivers.
func (r *Records) recycle() *sync.Pool {
	if r.more.Add(-1) >= 0 {
		return nil
	}
	kept := r.encoded.batch
	*r = Records{List: r.List[:0], units: r.units[:0]}
	r.encoded.batch = kept
	return &pools[kindRecords]
}
