package cache

import (
	"iter"
	"slices"

	"bellows"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// fetch is something about one partition that readers wait for, or that is on its way: rows or a lease that a lane
// was asked for, or rows that come unasked because they are subscribed to (request is 0). One that is refused as
// stale waits for a route and is asked again as a new question (ask). Freed fetches are after the open ones in
// Cache.fetches, and are used again. Those of a prefetch have no waiter, and are not asked after.
type fetch struct {
	// request is by which the answer names it. A pull for several partitions has one for all. 0: it comes unasked.
	request    uint64
	number     int           // of the partition
	need       wire.Need     // what the answer must have seen; a reader's own need may be less (pin.notBefore)
	rows       []uint32      // nil: all
	keys       []bellows.Key // of a sparse table, in place of rows
	lease      bool
	mode       wire.Mode  // of a lease
	subscribe  bool       // its answer begins a subscription, or adds to one
	borrow     bool       // it asks for the memory of the lane, with all rows
	waiters    []*Reader  // of a lease: one
	wait       pending.At // how that stands, where there are waiters
	lane       int        // that was asked, or sends it unasked
	stale      bool       // it is to be asked again, by route staleUntil or a later one
	staleUntil bellows.RouteVersion
}

// fetches are what is under way. Freed ones are after the open ones in the memory of the list, and are used again.
type fetches struct{ open []*fetch }

// add returns a fetch of nothing yet, of a partition that a lane owns.
func (s *fetches) add(number, lane int) *fetch {
	n := len(s.open)
	if n < cap(s.open) {
		s.open = s.open[:n+1]
	} else {
		s.open = append(s.open, nil)
	}
	if s.open[n] == nil {
		s.open[n] = &fetch{}
	}
	f := s.open[n]
	*f = fetch{number: number, lane: lane, waiters: f.waiters[:0], keys: f.keys[:0]}
	return f
}

// find returns the fetch of a partition that a question asked for, or nil.
func (s *fetches) find(request uint64, number int) *fetch {
	for _, f := range s.open {
		if f.request == request && f.number == number {
			return f
		}
	}
	return nil
}

// free puts an answered fetch after the open ones, where add finds it.
func (s *fetches) free(f *fetch) {
	i := slices.Index(s.open, f)
	last := len(s.open) - 1
	s.open[i], s.open[last] = s.open[last], f
	s.open = s.open[:last]
}

// serves reports whether the answer to a question that another reader asked will do for a need, and comes as soon:
// the lane waits for no commit that has a number, but for a clock until its tasks are done. A reader that joined a
// question for a later clock than its own would perhaps wait for itself (planted: later-clock-shared).
func (f *fetch) serves(n wire.Need) bool {
	if planted.On("later-clock-shared") {
		return f.need.Commit >= n.Commit && f.need.Clock >= n.Clock
	}
	return f.need.Commit >= n.Commit && f.need.Clock == n.Clock
}

// fits reports whether an answer has what was asked for: rows and no lease, the very rows, and a row for each key
// (TestAnswerUnfitForItsKeysIsNamed).
func (f *fetch) fits(r *wire.RowsPart, width int) bool {
	return !f.lease && sameRows(r.Rows, f.rows) && (len(f.keys) == 0 || len(r.Values) == len(f.keys)*width)
}

// sameRows reports whether an answer is about the rows that were asked for. Within a node it has the very list.
func sameRows(got, asked []uint32) bool {
	if (got == nil) != (asked == nil) || len(got) != len(asked) {
		return false
	}
	return len(got) == 0 || &got[0] == &asked[0] || slices.Equal(got, asked)
}

// outdated reports whether an answer is that of an owner of the past.
func (p *partition) outdated(g bellows.Generation) bool { return g < p.pair.Generation }

// about reports whether a question about a partition is under way, or a reader waits for what comes unasked.
func (s *fetches) about(n int) bool {
	return slices.ContainsFunc(s.open, func(f *fetch) bool { return f.number == n })
}

// Expects reports whether an answer is to come from a lane.
func (s *fetches) Expects(lane int) bool {
	return slices.ContainsFunc(s.open, func(f *fetch) bool { return f.lane == lane && f.request > 0 && !f.stale })
}

// Tick tells the cache the time, in milliseconds: waits that it has not seen before begin.
func (s *fetches) Tick(nowMillis int64) {
	for _, f := range s.open {
		f.wait.Begin(nowMillis)
	}
}

// newPull returns a pull under the next number, without a part.
func (c *Cache) newPull(need wire.Need) *wire.Pull {
	c.request++
	m := wire.New[wire.Pull]()
	m.Request, m.Incarnation, m.Need, m.Route = c.request, c.process, need, c.version
	return m
}

// question returns what a pull says of a fetch.
func (f *fetch) question(p *partition) wire.PullPart {
	q := wire.PullPart{Pair: p.pair, Rows: f.rows, Subscribe: f.subscribe}
	if f.borrow {
		q.Borrow()
	}
	if p.schema.Sparse {
		q.Keys = f.keys
	}
	return q
}

// ask sends a fetch as a new question to the owner that is known now.
func (c *Cache) ask(f *fetch, out *wire.Outbox) {
	p := &c.partitions[f.number]
	f.stale, f.lane, f.wait.Known = false, p.lane, false
	if f.lease {
		c.request++
		f.request = c.request
		a := wire.New[wire.Acquire]()
		*a = wire.Acquire{Request: f.request, Pair: p.pair, Mode: f.mode, Need: f.need, Route: c.version,
			Held: c.copies.revision(f.number)}
		out.Send(c.self, c.lanes[p.lane].address, a)
		return
	}
	m := c.newPull(f.need)
	f.request = m.Request
	m.Parts = append(m.Parts, f.question(p))
	out.Send(c.self, c.lanes[p.lane].address, m)
}

// askAll asks for all that the cache holds of a partition, for the readers that waited for it to come.
func (c *Cache) askAll(f *fetch, out *wire.Outbox) {
	p := &c.partitions[f.number]
	f.subscribe = true
	if p.schema.Sparse {
		f.keys = append(f.keys, p.block.keys...)
	} else {
		f.rows = slices.Clone(p.block.rows)
	}
	c.ask(f, out)
}

// suspend counts a reader as waiting for answers, where the last one is about a partition.
func (c *Cache) suspend(r *Reader, answers, number int) {
	if r.wait.answers == 0 {
		c.waiting++
		r.wait.patience = pending.Patience{}
	}
	r.wait.answers += answers
	r.wait.last = number
}

// resume ends a fetch: readers that wait for nothing else are woken.
func (c *Cache) resume(f *fetch, fx *Effects) {
	for _, r := range f.waiters {
		if r.wait.answers--; r.wait.answers == 0 {
			c.waiting--
			fx.Woken = append(fx.Woken, r)
		}
	}
	c.free(f)
}

// Refuse notes that a lane has refused a question as stale. It is to be asked again by a route, which may be here
// already (TestStaleRequestsWaitForRoute).
func (s *fetches) Refuse(request uint64, until bellows.RouteVersion) {
	for _, f := range s.open {
		if f.request == request {
			f.stale, f.staleUntil = true, until
		}
	}
}

// LowerRoutes makes refused questions wait for no later route than one: the controller that made the others is gone.
func (s *fetches) LowerRoutes(until bellows.RouteVersion) {
	for _, f := range s.open {
		f.staleUntil = min(f.staleUntil, until)
	}
}

// Refused yields the refused questions that wait for no route any more, with the partition and generation of each.
// The body may call AskAgain for each of them.
func (c *Cache) Refused() iter.Seq2[int, wire.Pair] {
	return func(yield func(int, wire.Pair) bool) {
		for i := 0; i < len(c.open); i++ {
			f := c.open[i]
			if f.stale && f.staleUntil <= c.version && !yield(i, c.partitions[f.number].pair) {
				return
			}
		}
	}
}

// AskAgain asks a refused question of the owner that is known now.
func (c *Cache) AskAgain(i int, out *wire.Outbox) { c.ask(c.open[i], out) }

// AwaitedRoute returns a partition about which a refused question waits for a route, and the route; false: none does.
// If its route is there, a question waits for a flush, which has another wait
// (TestQuestionAfterFlushWaitsForNoRoute).
func (c *Cache) AwaitedRoute() (ref bellows.PartitionRef, until bellows.RouteVersion, awaited bool) {
	for _, f := range c.open {
		if f.stale && f.staleUntil > c.version {
			return c.partitions[f.number].pair.Ref, f.staleUntil, true
		}
	}
	return bellows.PartitionRef{}, 0, false
}
