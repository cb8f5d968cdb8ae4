package cache

import (
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A read visits the partitions that it touches, and serves each in the first of these ways that will do
// (readOp.want):
//
//  1. the reader has pinned the rows already;
//  2. the cache has them in a version that the reader may see: they are pinned;
//  3. the lane is sure to send them unasked: the reader waits for that (subscribe.go);
//  4. another reader has asked for them, and needs no more than this one: it waits with that one;
//  5. a new question, in one pull for each lane.
//
// An answer goes into the cache, where the next reader finds it, and is pinned for the readers that wait. A reader
// that waits for nothing more is woken and reads again, which finds all pinned. It is the lane that keeps a read
// waiting until its gate opens: the cache knows neither clocks of other nodes nor which commits are to come.

// Read makes the rows [first, end) of a table readable and reports whether they are. If not, the reader waits until
// it is woken and asks again.
func (c *Cache) Read(r *Reader, t bellows.TableID, first, end bellows.RowID, out *wire.Outbox) bool {
	return c.read(readOp{c: c, r: r}, t, first, end, out)
}

// Prefetch asks for the rows [first, end) of a table unless they are there or under way, and waits for nothing: a
// later Read finds them sooner (TestPrefetchWaitsForNothing).
func (c *Cache) Prefetch(r *Reader, t bellows.TableID, first, end bellows.RowID, out *wire.Outbox) {
	c.read(readOp{c: c, r: r, ahead: true}, t, first, end, out)
}

func (c *Cache) read(a readOp, t bellows.TableID, first, end bellows.RowID, out *wire.Outbox) bool {
	cut := c.division.Cut(t)
	a.need = a.r.need(&c.tables[t])
	for p := cut.Find(first); first < end; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue // no rows to wait for
		}
		n := c.number(bellows.PartitionRef{Table: t, Partition: p})
		a.want(n, rowSet{first: int(first - lo), end: int(min(end, hi) - lo)})
		first = hi
	}
	return a.done(out)
}

// ReadRows works like Read, for any rows, ascending.
func (c *Cache) ReadRows(r *Reader, t bellows.TableID, rows []bellows.RowID, out *wire.Outbox) bool {
	cut := c.division.Cut(t)
	a := readOp{c: c, r: r, need: r.need(&c.tables[t])}
	for len(rows) > 0 {
		p := cut.Find(rows[0])
		lo, hi := cut.Rows(p)
		n := c.number(bellows.PartitionRef{Table: t, Partition: p})
		run, _ := slices.BinarySearch(rows, hi)
		if a.needsList(n) {
			w := rowSet{list: r.list[:0]}
			for _, row := range rows[:run] {
				w.list = append(w.list, uint32(row-lo))
			}
			r.list = w.list
			a.want(n, w)
		} else {
			a.want(n, rowSet{first: int(rows[0] - lo), end: int(rows[run-1]-lo) + 1})
		}
		rows = rows[run:]
	}
	return a.done(out)
}

// ReadKeys works like Read, for the rows of the keys that the reader has grouped.
func (c *Cache) ReadKeys(r *Reader, out *wire.Outbox) bool {
	return c.readKeys(readOp{c: c, r: r}, out)
}

// PrefetchKeys works like Prefetch, for the rows of the keys that the reader has grouped.
func (c *Cache) PrefetchKeys(r *Reader, out *wire.Outbox) {
	c.readKeys(readOp{c: c, r: r, ahead: true}, out)
}

func (c *Cache) readKeys(a readOp, out *wire.Outbox) bool {
	g := &a.r.groups
	a.need = a.r.need(&c.tables[g.table])
	first := c.number(bellows.PartitionRef{Table: g.table})
	for p := range g.ends {
		if list := g.group(p); len(list) > 0 {
			a.want(first+p, rowSet{keys: list})
		}
	}
	return a.done(out)
}

// readOp is one read on its way through the partitions that it touches. It lives for one step.
type readOp struct {
	c       *Cache
	r       *Reader
	need    wire.Need
	asks    bool // some lane has a pull of this read
	awaited int  // partitions that are not there yet
	last    int  // of these, the last: by route.Number
	ahead   bool // a prefetch: nothing is pinned and the reader does not wait
}

// want serves one partition.
func (a *readOp) want(n int, w rowSet) {
	c, r := a.c, a.r
	if b := r.pins[n].block; b != nil && w.coveredBy(b.rows, b.keys) {
		return
	}
	p := &c.partitions[n]
	p.unread = 0
	b := p.block
	cached := b != nil && w.coveredBy(b.rows, b.keys)
	if cached && !a.ahead {
		p.keySub.read(len(w.keys))
	}
	need := r.pins[n].notBefore(a.need)
	if cached && (gate.Admits(need, b.commit, b.complete) || planted.On("stale-cache")) {
		if !a.ahead {
			c.pin(r, n, b)
		}
		return
	}
	if !a.ahead {
		a.awaited++
		a.last = n
	}
	if p.subscribed && cached && c.comes(p, need) {
		a.awaitRelay(n, need)
		return
	}
	for _, f := range c.open {
		if f.number == n && f.request > 0 && !f.lease && w.coveredBy(f.rows, f.keys) && f.serves(need) {
			a.join(f)
			return
		}
	}
	a.request(n, w, cached, need)
}

// needsList reports whether a read of some rows of a partition depends on which they are. It does not where all rows
// are pinned or asked for in any case.
func (a *readOp) needsList(n int) bool {
	pinned, p := a.r.pins[n].block, &a.c.partitions[n]
	return (pinned == nil || pinned.rows != nil) && !a.c.mayBorrow(p)
}

// join makes the reader one of those that a fetch wakes.
func (a *readOp) join(f *fetch) {
	if !a.ahead {
		f.waiters = append(f.waiters, a.r)
	}
}

// awaitRelay makes the reader wait for rows that come unasked, in a version that meets a need; together with others,
// where one message will do for all.
func (a *readOp) awaitRelay(n int, need wire.Need) {
	if a.ahead {
		return
	}
	for _, f := range a.c.open {
		if f.number == n && f.request == 0 && f.serves(need) {
			a.join(f)
			return
		}
	}
	f := a.c.add(n, a.c.partitions[n].lane)
	f.need = need
	a.join(f)
}

// request adds a question about a partition to the pull for its lane. Where a quarter of a dense partition or more is
// wanted, all of it is fetched, since other tasks will want the rest. Rows that the cache holds in an older version
// are asked for again, with all that it holds, and subscribed to: so what is subscribed to is what is cached. The
// need is the one by which the answer may be joined with what is cached; it may be more than the lane learns
// (pin.notBefore).
func (a *readOp) request(n int, w rowSet, cached bool, need wire.Need) {
	c, p := a.c, &a.c.partitions[n]
	l := &c.lanes[p.lane]
	if l.pull == nil {
		l.pull = c.newPull(a.need)
		a.asks = true
	}
	f := c.add(n, p.lane)
	f.request, f.need = l.pull.Request, need
	a.join(f)
	f.subscribe = p.subscribed || cached
	switch {
	case c.mayBorrow(p):
		f.borrow, f.subscribe = true, false
	case w.keys != nil:
		f.keys, f.subscribe = p.keysToAsk(w.keys, need, f.keys)
	case cached:
		f.rows = slices.Clone(p.block.rows) // the block may give its memory back before the question has left
	case 4*w.len() < p.rows:
		f.rows = slices.Clone(w.list)
		for r := w.first; r < w.end; r++ {
			f.rows = append(f.rows, uint32(r))
		}
	}
	l.pull.Parts = append(l.pull.Parts, f.question(p))
}

// mayBorrow reports whether the lane of a partition lends its memory to this node. Only a table with a barrier is lent:
// it does not change before all tasks of a clock have ended, so that no task sees a change of what it has borrowed.
// Such a partition is not subscribed to, since borrowing it again costs less than what would be sent unasked. That does
// not hold for small ones: their copies cost less than a question and its wait in each clock (Limits.Borrow).
func (c *Cache) mayBorrow(p *partition) bool {
	return c.borrow > 0 && p.rows*p.schema.Width >= c.borrow && p.barrier && !p.schema.Sparse && !p.subscribed &&
		c.lanes[p.lane].address.Node == c.self.Node
}

// done sends the questions and reports whether there is nothing to wait for.
func (a *readOp) done(out *wire.Outbox) bool {
	c := a.c
	for i := 0; a.asks && i < len(c.lanes); i++ {
		if l := &c.lanes[i]; l.pull != nil {
			out.Send(c.self, l.address, l.pull)
			l.pull = nil
		}
	}
	if a.awaited == 0 {
		return true
	}
	c.suspend(a.r, a.awaited, a.last)
	return false
}
