package wire

import "bellows"

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

func (m *Dispatch) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		switch f.key {
		case 1<<3 | varint:
			m.Commit = bellows.CommitNumber(f.num)
		case 2<<3 | sized:
			f.room(len(m.Tasks))
			u, args, err := numbered(f.data, &m.args)
			f.fail(err)
			m.Tasks = append(m.Tasks, Task{u, args})
		}
	}
	return f.err
}
