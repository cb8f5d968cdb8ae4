package wire

import (
	"cmp"
	"slices"

	"bellows"
)

func (b *Batch) done(m *Done) error {
	if max(len(m.Pairs), len(m.Results)) > listMax {
		return tooMany(kindDone)
	}
	b.protoFlush(1, m.Flush)
	b.zigzag(2, int32(m.Clock))
	for _, p := range m.Pairs {
		b.protoPair(3, p)
	}
	for i := range m.Results {
		at := b.open(4)
		b.unit(1, m.Results[i].Unit)
		b.doubles(2, m.Results[i].Values)
		b.shut(at)
	}
	if m.Barred {
		b.varint(5, 1)
	}
	return nil
}

func (d *Done) decode(payload []byte) error {
	d.Pairs = slices.Grow(d.Pairs, count(payload, 3<<3|sized))
	d.Results = slices.Grow(d.Results, count(payload, 4<<3|sized))
	d.numbers = slices.Grow(d.numbers, len(payload)/8)
	f := fields{b: payload}
	for f.next() {
		switch f.key {
		case 1<<3 | sized:
			f.fail(flushOf(f.data, &d.Flush))
		case 2<<3 | varint:
			d.Clock = bellows.Clock(f.sint32())
		case 3<<3 | sized:
			f.room(len(d.Pairs))
			p, err := pairOf(f.data)
			f.fail(err)
			d.Pairs = append(d.Pairs, p)
		case 4<<3 | sized:
			f.room(len(d.Results))
			u, values, err := numbered(f.data, &d.numbers)
			f.fail(err)
			d.Results = append(d.Results, Result{u, values})
		case 5<<3 | varint:
			d.Barred = f.num != 0
		}
	}
	return f.err
}

// numbered reads a unit, field 1, with numbers, field 2, which it appends to a list of them: a Result or
// a Task.
func numbered(b []byte, list *[]float64) (u bellows.Unit, numbers []float64, err error) {
	f := fields{b: b}
	at := len(*list)
	named := false
	for f.next() {
		switch f.key {
		case 1<<3 | sized:
			named = true
			f.fail(unitOf(f.data, &u))
		case 2<<3 | sized, 2<<3 | fixed64:
			*list = f.doubles(*list)
		}
	}
	if !named {
		f.fail(errNoUnit)
	}
	return u, (*list)[at:len(*list):len(*list)], cmp.Or(f.err, whole(&u))
}

// tooMany is why a control message does not travel.
func tooMany(kind uint8) error {
	return &bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: kindName(kind), Err: errMany}
}
