package wire

import (
	"slices"

	"bellows"
	"bellows/wire/internal/fields"
)

func (b *Batch) dispatch(m *Dispatch) error {
	if len(m.Tasks) > listMax {
		return tooMany(kindDispatch)
	}
	b.varint(1, uint64(m.Commit))
	for i := range m.Tasks {
		at := b.open(2)
		b.unit(1, m.Tasks[i].Unit)
		b.doubles(2, m.Tasks[i].Args)
		b.shut(at)
	}
	return nil
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
