package wire

import (
	"sync"

	"bellows/link/wire/internal/fields"
)

const kindDispatch uint8 = 70

func (*Dispatch) kind() uint8 { return kindDispatch }

func (d *Dispatch) fields(c *fields.Codec) error {
	fields.Num(c, 1, &d.Commit)
	fields.List(c, 2, &d.Tasks, func(t *Task) error { return numbered(c, &t.Unit, &t.Args, &d.args) })
	fields.Num(c, 3, &d.Term)
	return nil
}

const kindRecall uint8 = 98

func (*Recall) kind() uint8 { return kindRecall }

func (m *Recall) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Split)
	return nil
}

const kindRecalled uint8 = 99

func (*Recalled) kind() uint8 { return kindRecalled }

func (m *Recalled) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Split)
	fields.Zigzag(c, 3, &m.Clock)
	return nil
}

func (d *Dispatch) recycle() *sync.Pool {
	*d = Dispatch{Tasks: d.Tasks[:0], args: d.args[:0]}
	return &pools[kindDispatch]
}
