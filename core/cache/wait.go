package cache

import (
	"fmt"
	"iter"
	"slices"

	"bellows"
	"bellows/core/pending"
	"bellows/link/wire"
)

// The caller asks after waits that last, and names them: it knows how long they may last. The cache says what it
// waits for at each lane (Overdue), takes the lane's word about it (Stands), and describes it (Late).

// Overdue yields each wait at a lane that has lasted longer than a time. Questions that wait for a route are left
// out: no lane has it.
func (c *Cache) Overdue(lane int, nowMillis, mostMillis int64) iter.Seq[pending.Wait] {
	return func(yield func(pending.Wait) bool) {
		for _, f := range c.open {
			if f.lane != lane || len(f.waiters) == 0 || f.wait.Lasted(nowMillis) <= mostMillis || f.stale {
				continue
			}
			p := &c.partitions[f.number]
			w := pending.Wait{Number: f.request, Ref: p.pair.Ref, Generation: p.pair.Generation}
			if f.request == 0 {
				w.Of, w.Number = c.sureToCome(p, f)
			}
			if !yield(w) {
				return
			}
		}
	}
}

// Stands takes a lane's word about rows or a lease. It returns what is lost, since the lane has nothing of it; "":
// nothing.
func (c *Cache) Stands(lane int, w *pending.Wait) (lost string) {
	for _, f := range c.open {
		p := &c.partitions[f.number]
		about := f.request == w.Number
		if w.Of != pending.Answer {
			of, number := c.sureToCome(p, f)
			same := p.pair == (wire.Pair{Ref: w.Ref, Generation: w.Generation}) && w.Of == of
			about = f.request == 0 && same && (w.Number == 0 || w.Number == number)
		}
		if f.lane != lane || !about || len(f.waiters) == 0 || f.stale {
			continue
		}
		if f.wait.Update(w); w.Behind == pending.Nothing {
			return fmt.Sprintf("%v waits for %s", f.waiters[0].unit, c.describe(f.waiters[0]))
		}
	}
	return ""
}

// Late is a task that has waited for long.
type Late struct {
	Unit   bellows.Unit
	Millis int64
	For    string // what it waits for
	Lane   int    // where
	At     pending.At
}

// NameLate returns the first reader, by its split, that has waited longer than a time and was not named before, and
// how many there are.
func (c *Cache) NameLate(nowMillis, mostMillis int64) (first Late, late int) {
	for _, r := range c.bySplit {
		if r == nil || !r.active || r.wait.answers == 0 || !r.wait.patience.Exhausted(nowMillis, mostMillis) {
			continue
		}
		if late++; late == 1 {
			first = Late{Unit: r.unit, Millis: r.wait.patience.Lasted(nowMillis), For: c.describe(r)}
			first.Lane, first.At = c.standing(r)
		}
	}
	return first, late
}

// describe says what a reader waits for.
func (c *Cache) describe(r *Reader) string {
	p := &c.partitions[r.wait.last]
	n := r.need(p.schema)
	s := fmt.Sprintf("%v at %v", p.pair.Ref, c.lanes[p.lane].address)
	if r.wait.behind {
		return fmt.Sprintf("table %s, %s, with the lease that another split has asked for", p.schema.Name, s)
	}
	if r.wait.delayed {
		return fmt.Sprintf("table %s, %s, until its split's own updates of it are committed", p.schema.Name, s)
	}
	if n.Clock > bellows.NoClock {
		s += fmt.Sprintf(", after clock %d of every split", n.Clock)
	}
	return fmt.Sprintf("table %s, %s, after commit %d", p.schema.Name, s, n.Commit)
}

// standing returns at which lane a reader waits, by what it waits for last, and what that lane has said of it.
func (c *Cache) standing(r *Reader) (lane int, at pending.At) {
	for _, f := range c.open {
		refused := f.stale && f.staleUntil <= c.version
		if f.number == r.wait.last && !refused && slices.Contains(f.waiters, r) {
			return f.lane, f.wait
		}
	}
	if r.wait.behind {
		return c.partitions[r.wait.last].lane, pending.At{}
	}
	// It waits for a flush of this node, which is named apart.
	return c.partitions[r.wait.last].lane, pending.At{Known: true, Behind: pending.Record}
}
