package wire

import (
	"cmp"
	"slices"
	"sync"

	"bellows"
	"bellows/link/wire/internal/fields"
)

const kindDone uint8 = 64

func (*Done) kind() uint8 { return kindDone }

func (d *Done) encode(b *Batch) {
	if max(len(d.Pairs), len(d.Results)) > listMax {
		b.tooMany(d)
		return
	}
	b.protoFlush(1, d.Flush)
	b.pb().Zigzag(2, int32(d.Clock))
	for _, p := range d.Pairs {
		b.protoPair(3, p)
	}
	b.results(4, d.Results)
	if d.Deferrable {
		b.pb().Varint(5, 1)
	}
}

func (d *Done) decode(payload []byte) error {
	d.Pairs = slices.Grow(d.Pairs, fields.Count(payload, 3<<3|sized))
	d.Results = slices.Grow(d.Results, fields.Count(payload, 4<<3|sized))
	d.numbers = slices.Grow(d.numbers, len(payload)/8)
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			f.Fail(flushOf(f.Data, &d.Flush))
		case 2<<3 | varint:
			d.Clock = bellows.Clock(f.Sint32())
		case 3<<3 | sized:
			f.Room(len(d.Pairs))
			p, err := pairOf(f.Data)
			f.Fail(err)
			d.Pairs = append(d.Pairs, p)
		case 4<<3 | sized:
			f.Room(len(d.Results))
			u, values, err := numbered(f.Data, &d.numbers)
			f.Fail(err)
			d.Results = append(d.Results, Result{u, values})
		case 5<<3 | varint:
			d.Deferrable = f.Num != 0
		}
	}
	return f.Err
}

// Copy is a done that says the same.
func (d *Done) Copy() *Done {
	c := New[Done]()
	c.Flush, c.Clock, c.Deferrable, c.Pairs = d.Flush, d.Clock, d.Deferrable, append(c.Pairs, d.Pairs...)
	c.AppendAll(d.Results)
	return c
}

func (d *Done) recycle() *sync.Pool {
	*d = Done{Pairs: d.Pairs[:0], Results: d.Results[:0], numbers: d.numbers[:0]}
	return &pools[kindDone]
}

// numbered reads a unit, field 1, with numbers, field 2, which it appends to a list of them: a Result or
// a Task.
func numbered(b []byte, list *[]float64) (u bellows.Unit, numbers []float64, err error) {
	f := fields.Of(b)
	at := len(*list)
	named := false
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			named = true
			f.Fail(fields.UnitOf(f.Data, &u))
		case 2<<3 | sized, 2<<3 | fixed64:
			*list = f.Doubles(*list)
		}
	}
	if !named {
		f.Fail(errNoUnit)
	}
	return u, (*list)[at:len(*list):len(*list)], cmp.Or(f.Err, fields.Whole(&u))
}
