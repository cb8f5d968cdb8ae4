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

// records adds the payload of records: what has several receivers is encoded once, and borrowed by each.
func (b *Batch) records(m *Records) error {
	if !m.shared {
		return b.list(m)
	}
	e := &m.encoded
	e.mu.Lock()
	if !e.made {
		e.made = true
		e.batch.scratch = e.batch.scratch[:0]
		e.err = e.batch.list(m)
		e.sum = crc.Sum(e.batch.scratch)
	}
	e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	b.pieces.AddSummed(len(b.scratch), e.batch.scratch, e.sum)
	return nil
}

// list adds the records one by one.
func (b *Batch) list(m *Records) error {
	units := 0
	for i := range m.List {
		units += len(m.List[i].Units)
	}
	if max(units, len(m.List)) > listMax {
		return tooMany(kindRecords)
	}
	for i := range m.List {
		r := &m.List[i]
		at := b.open(1)
		b.varint(1, uint64(r.Number))
		b.protoFlush(2, r.Flush)
		for _, u := range r.Units {
			b.unit(3, u)
		}
		b.shut(at)
	}
	return nil
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
