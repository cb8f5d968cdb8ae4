package wire

import (
	"math"

	"bellows"
	"bellows/link/wire/internal/fields"
)

// A route travels as its changes, each as the control record that makes it. A receiver of a Route and a receiver of
// records know the same, since both build it by the same function. A member that begins gets all of it as changes of
// nothing, and in Begin whatever else the earlier records would have told it.

const kindRoute uint8 = 87

func (*Route) kind() uint8 { return kindRoute }

func (m *Route) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Version)
	fields.List(c, 2, &m.Changes, func(x *bellows.Control) error {
		if err := controlFields(c, x); x.Kind != bellows.NoControl {
			return err
		}
		return errNumber
	})
	fields.Optional(c, 3, &m.Begin, func(g *Begin) error { return g.fields(c) })
	fields.Num(c, 4, &m.Term)
	return nil
}

func (g *Begin) fields(c *fields.Codec) error {
	fields.Num(c, 1, &g.Commit)
	fields.List(c, 2, &g.Recorded, func(r *Recorded) error {
		fields.Num(c, 1, &r.Client)
		fields.Num(c, 2, &r.Incarnation)
		fields.Num(c, 3, &r.UpTo)
		if fields.Numbers(c, 4, &r.Above, math.MaxUint64); r.Incarnation == 0 {
			return errNumber
		}
		return nil
	})
	c.Varints(3, len(g.Complete), func(i int) uint64 { return uint64(int64(g.Complete[i]) + 1) }, func(x uint64) { // the first clock is 0, and none -1
		if x > math.MaxInt32+1 || len(g.Complete) == listMax {
			c.Fail(errNumber)
			return
		}
		g.Complete = append(g.Complete, bellows.Clock(int64(x)-1))
	})
	fields.Numbers(c, 4, &g.Staleness, math.MaxInt32)
	fields.List(c, 5, &g.Open, func(u *bellows.Unit) error {
		unitFields(c, u)
		return wholeUnit(u)
	})
	return nil
}

const kindStale uint8 = 90

func (*Stale) kind() uint8 { return kindStale }

func (m *Stale) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Route)
	flushID(c, 2, &m.Flush)
	fields.Num(c, 3, &m.Request)
	runs(c, 4, &m.Pairs, &m.Pairs)
	fields.Num(c, 5, &m.Term)
	return nil
}
