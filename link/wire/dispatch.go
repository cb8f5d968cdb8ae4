package wire

import (
	"slices"
	"sync"

	"bellows"
	"bellows/link/wire/internal/fields"
)

const kindDispatch uint8 = 70

func (*Dispatch) kind() uint8 { return kindDispatch }

func (d *Dispatch) encode(b *Batch) {
	if len(d.Tasks) > listMax {
		b.tooMany(d)
		return
	}
	b.pb().Varint(1, uint64(d.Commit))
	for i := range d.Tasks {
		at := b.pb().Open(2)
		b.pb().Unit(1, d.Tasks[i].Unit)
		b.pb().Doubles(2, d.Tasks[i].Args)
		b.pb().Shut(at)
	}
	b.pb().Varint(3, uint64(d.Term))
}

func (d *Dispatch) decode(payload []byte) error {
	d.Tasks = slices.Grow(d.Tasks, fields.Count(payload, 2<<3|sized))
	d.args = slices.Grow(d.args, len(payload)/8)
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			d.Commit = bellows.CommitNumber(f.Num)
		case 2<<3 | sized:
			f.Room(len(d.Tasks))
			u, args, err := numbered(f.Data, &d.args)
			f.Fail(err)
			d.Tasks = append(d.Tasks, Task{u, args})
		case 3<<3 | varint:
			d.Term = termOf(&f)
		}
	}
	return f.Err
}

func (d *Dispatch) recycle() *sync.Pool {
	*d = Dispatch{Tasks: d.Tasks[:0], args: d.args[:0]}
	return &pools[kindDispatch]
}
