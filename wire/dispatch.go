package wire

import (
	"slices"
	"sync"

	"bellows"
	"bellows/wire/internal/fields"
)

const kindDispatch uint8 = 70

func (*Dispatch) kind() uint8 { return kindDispatch }

func (d *Dispatch) encode(b *Batch) {
	if len(d.Tasks) > listMax {
		b.tooMany(d)
		return
	}
	b.varint(1, uint64(d.Commit))
	for i := range d.Tasks {
		at := b.open(2)
		b.unit(1, d.Tasks[i].Unit)
		b.doubles(2, d.Tasks[i].Args)
		b.shut(at)
	}
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
		}
	}
	return f.Err
}

func (d *Dispatch) recycle() *sync.Pool {
	*d = Dispatch{Tasks: d.Tasks[:0], args: d.args[:0]}
	return &pools[kindDispatch]
}
