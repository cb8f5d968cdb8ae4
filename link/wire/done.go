package wire

import (
	"sync"

	"bellows/link/wire/internal/fields"
)

const kindDone uint8 = 64

func (*Done) kind() uint8 { return kindDone }

func (d *Done) fields(c *fields.Codec) error {
	flushID(c, 1, &d.Flush)
	fields.Zigzag(c, 2, &d.Clock)
	fields.List(c, 3, &d.Pairs, func(p *Pair) error { return p.fields(c) })
	results(c, 4, &d.Results, &d.Results, &d.numbers)
	c.Flag(5, &d.Deferrable)
	sent(c, 6, &d.Sent, &d.Sent)
	return nil
}

// Copy returns a done that says the same.
func (d *Done) Copy() *Done {
	c := New[Done]()
	c.Flush, c.Clock, c.Deferrable, c.Pairs = d.Flush, d.Clock, d.Deferrable, append(c.Pairs, d.Pairs...)
	c.AppendAll(d.Results)
	c.Sent = append(c.Sent, d.Sent...)
	return c
}

func (d *Done) recycle() *sync.Pool {
	*d = Done{Pairs: d.Pairs[:0], Results: d.Results[:0], Sent: d.Sent[:0], numbers: d.numbers[:0]}
	return &pools[kindDone]
}
