package client

import (
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A read goes over the partitions that it touches, and sees to each by the first of these that will
// do (readOp.want):
//
//  1. the task has pinned the rows already;
//  2. the cache has them in a version that the task may see: they are pinned;
//  3. the lane is sure to send them unasked: the task waits for that (subscribe.go);
//  4. another task has asked for them, and needs no more than this one: the task waits with it;
//  5. a question of its own, in one pull for each lane.
//
// An answer goes into the cache, where the next task finds it, and is pinned for those who wait.
// When a task waits for nothing more it is woken and reads again, which finds all pinned. It is the
// lane that keeps a read waiting until its gate opens: the client knows neither clocks of other
// nodes nor which commits are to come.
//
// Two rules about what may be put together. Without the first a job hung, without the second an
// update counted twice:
//
//   - No task joins a question that waits for a later clock than it needs, since that clock may
//     wait for this very task (serves; planted: later-clock-shared).
//   - Rows of two versions are joined in one block only if no own update of this node lies between
//     them: the block has the older version, so that the update would be laid over rows that
//     contain it (changedBetween; planted: join-across-own).

// fetch is something about one partition that tasks wait for, or that is on its way: rows or a
// lease that a lane was asked for, or rows that come unasked because they are subscribed to
// (request is 0). One that is refused as stale waits for a route and is asked again as a new
// question (ask). Freed ones lie behind the open ones in Client.fetches, and are used again.
//
// Invariant: a task is a waiter of as many fetches as it has waits, but while it delays a lease
// (Task.delayed). Those of a prefetch have no waiter, and nobody asks what became of them.
type fetch struct {
	request    uint64 // by which the answer names it; a pull for several partitions has one for all. 0: it comes unasked
	number     int
	need       wire.Need     // what the answer must have seen; a task's own need may be less (pin.notBefore)
	rows       []uint32      // nil: all
	keys       []bellows.Key // of a sparse table, in place of rows
	lease      bool
	mode       wire.Mode  // of a lease
	subscribe  bool       // its answer begins a subscription, or adds to one
	waiters    []*Task    // of a lease: one
	wait       pending.At // how that stands, where there are waiters
	lane       int        // that was asked, or sends it unasked: index in Client.lanes
	stale      bool       // it is to be asked again, by route staleUntil or a later one
	staleUntil bellows.RouteVersion
}

// newFetch is a fetch of nothing yet, at the partition's owner.
func (c *Client) newFetch(number int) *fetch {
	n := len(c.fetches)
	if n < cap(c.fetches) {
		c.fetches = c.fetches[:n+1]
	} else {
		c.fetches = append(c.fetches, nil)
	}
	if c.fetches[n] == nil {
		c.fetches[n] = &fetch{}
	}
	f := c.fetches[n]
	*f = fetch{number: number, lane: c.partitions[number].lane, waiters: f.waiters[:0], keys: f.keys[:0]}
	return f
}

func (c *Client) findFetch(request uint64, number int) *fetch {
	for _, f := range c.fetches {
		if f.request == request && f.number == number {
			return f
		}
	}
	return nil
}

// freeFetch puts an answered question behind the open ones, where newFetch finds it.
func (c *Client) freeFetch(f *fetch) {
	i := slices.Index(c.fetches, f)
	last := len(c.fetches) - 1
	c.fetches[i], c.fetches[last] = c.fetches[last], f
	c.fetches = c.fetches[:last]
}

// Read makes the rows [first, end) of a table readable for the task and reports whether they are;
// if not, the task waits until it is woken and asks again.
func (c *Client) Read(t *Task, tab bellows.TableID, first, end bellows.RowID, fx *Effects) bool {
	return c.read(readOp{c: c, t: t}, tab, first, end, fx)
}

func (c *Client) read(asked readOp, tab bellows.TableID, first, end bellows.RowID, fx *Effects) bool {
	fx.Era = c.cfg.Era
	cut := c.cfg.Route.Cut(tab)
	asked.need = asked.t.need(&c.cfg.Tables[tab])
	for p := cut.Find(first); first < end; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue // no rows to wait for, as behind a lease
		}
		n := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})
		asked.want(n, rowSet{first: int(first - lo), end: int(min(end, hi) - lo)})
		first = hi
	}
	return asked.done(fx)
}

// Prefetch asks for the rows [first, end) of a table unless they are there or under way, and waits
// for nothing: a later Read finds them sooner (TestPrefetchWaitsForNothing).
func (c *Client) Prefetch(t *Task, tab bellows.TableID, first, end bellows.RowID, fx *Effects) {
	c.read(readOp{c: c, t: t, ahead: true}, tab, first, end, fx)
}

// ReadRows is Read for any rows, ascending.
func (c *Client) ReadRows(t *Task, tab bellows.TableID, rows []bellows.RowID, fx *Effects) bool {
	fx.Era = c.cfg.Era
	cut := c.cfg.Route.Cut(tab)
	asked := readOp{c: c, t: t, need: t.need(&c.cfg.Tables[tab])}
	for len(rows) > 0 {
		p := cut.Find(rows[0])
		lo, hi := cut.Rows(p)
		w := rowSet{list: t.list[:0]}
		for len(rows) > 0 && rows[0] < hi {
			w.list = append(w.list, uint32(rows[0]-lo))
			rows = rows[1:]
		}
		t.list = w.list
		asked.want(c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p}), w)
	}
	return asked.done(fx)
}

// readOp is one read on its way through the partitions that it touches. It lives for one step.
type readOp struct {
	c       *Client
	t       *Task
	need    wire.Need
	pulls   []*wire.Pull // per lane; nil until the read must ask a lane
	awaited int          // partitions that are not there yet
	last    int          // of these, the last: by route.Number
	ahead   bool         // a prefetch: nothing is pinned and the task does not wait
}

// want sees to one partition, in the order that the head of this file has.
func (a *readOp) want(n int, w rowSet) {
	c, t := a.c, a.t
	if b := t.pins[n].block; b != nil && w.coveredBy(b.rows, b.keys) {
		return
	}
	p := &c.partitions[n]
	p.unread = 0
	b := p.block
	cached := b != nil && w.coveredBy(b.rows, b.keys)
	if cached && !a.ahead {
		p.keySub.read(len(w.keys))
	}
	need := t.pins[n].notBefore(a.need)
	if cached && (gate.Admits(need, b.commit, b.complete) || planted.On("stale-cache")) {
		if !a.ahead {
			c.pin(t, n, b)
		}
		return
	}
	if !a.ahead {
		a.awaited++
		a.last = n
	}
	if p.subscribed && cached && c.relayComes(p, need) {
		a.awaitPush(n, need)
		return
	}
	for _, f := range c.fetches {
		if f.number == n && f.request > 0 && !f.lease && w.coveredBy(f.rows, f.keys) && f.serves(need) {
			a.join(f)
			return
		}
	}
	a.request(n, w, cached, need)
}

// serves reports whether the answer to a question that another task asked will do for a need, and comes as soon: the gate opens for commits
// that are recorded already, whatever their number, but for a clock only when its tasks are done.
func (f *fetch) serves(n wire.Need) bool {
	if planted.On("later-clock-shared") {
		return f.need.Commit >= n.Commit && f.need.Clock >= n.Clock
	}
	return f.need.Commit >= n.Commit && f.need.Clock == n.Clock
}

// join makes the task one of those that a question's answer wakes.
func (a *readOp) join(f *fetch) {
	if !a.ahead {
		f.waiters = append(f.waiters, a.t)
	}
}

// request adds a question about a partition to the pull for its lane. Where a quarter of a dense partition or more is
// wanted, all of it is fetched, since other tasks will want the rest. Rows that the cache holds in an older version are
// asked for again, with all that it holds, and subscribed to: so what is subscribed to is what is cached. The need is
// the one by which the answer may be joined with what is cached; it may be more than the lane is told (pin.notBefore).
func (a *readOp) request(n int, w rowSet, cached bool, need wire.Need) {
	c, p := a.c, &a.c.partitions[n]
	if a.pulls == nil {
		a.pulls = c.pulls
	}
	m := a.pulls[p.lane]
	if m == nil {
		m = c.newPull(a.need)
		a.pulls[p.lane] = m
	}
	f := c.newFetch(n)
	f.request, f.need = m.Request, need
	a.join(f)
	f.subscribe = p.subscribed || cached
	switch {
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
	m.Parts = append(m.Parts, f.question(p))
}

// newPull is a pull under the next number, without a part.
func (c *Client) newPull(need wire.Need) *wire.Pull {
	c.request++
	m := wire.New[wire.Pull]()
	m.Request, m.Incarnation, m.Need, m.Route = c.request, c.cfg.Incarnation, need, c.now.Route.Version()
	return m
}

// question is what a pull says of a fetch.
func (f *fetch) question(p *partition) wire.PullPart {
	q := wire.PullPart{Pair: p.pair, Rows: f.rows, Subscribe: f.subscribe}
	if p.schema.Sparse {
		q.Keys = f.keys
	}
	return q
}

// ask puts a question of one fetch, as a new one, to the owner that is known now.
func (c *Client) ask(f *fetch, fx *Effects) {
	p := &c.partitions[f.number]
	f.stale, f.lane, f.wait.Known = false, p.lane, false
	if f.lease {
		c.request++
		f.request = c.request
		a := wire.New[wire.Acquire]()
		*a = wire.Acquire{Request: f.request, Pair: p.pair, Mode: f.mode, Need: f.need, Route: c.now.Route.Version()}
		fx.Send(c.cfg.Self, c.lanes[p.lane], a)
		return
	}
	m := c.newPull(f.need)
	f.request = m.Request
	m.Parts = append(m.Parts, f.question(p))
	fx.Send(c.cfg.Self, c.lanes[p.lane], m)
}

// done sends the questions and reports whether there is nothing to wait for.
func (a *readOp) done(fx *Effects) bool {
	for lane, m := range a.pulls {
		if m != nil {
			fx.Send(a.c.cfg.Self, a.c.lanes[lane], m)
			a.pulls[lane] = nil
		}
	}
	if a.awaited == 0 {
		return true
	}
	a.c.suspend(a.t, a.awaited, a.last, fx)
	return false
}

// suspend counts a task as waiting for answers, the last of which is about a partition. If nothing executes any more,
// the write sets leave as they are: their units may be what others wait for, and these what this task waits for.
func (c *Client) suspend(t *Task, answers, number int, fx *Effects) {
	if t.waits == 0 {
		c.executing--
		c.waiting++
		t.patience = pending.Patience{}
	}
	t.waits += answers
	t.waitsFor = number
	c.flushReady(fx)
}

// takeRows puts the rows of a message, answers or sent unasked, into the cache and pins them for those who wait. An
// answer to no question is passed over: its question was asked again of another owner. One of an owner of the past is
// asked for again: what it says was so, and others may have seen newer rows since
// (TestWhatAnOwnerOfThePastSaysChangesNothing). Other rows than were asked for are a breach.
func (c *Client) takeRows(m *wire.Rows, lane wire.Address, fx *Effects) {
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		wire.Free(m)
		return
	}
	a := c.spare.answers.get()
	*a = answer{rows: m, blocks: 1} // this call
	for i := range m.Parts {
		r := &m.Parts[i]
		if m.Request == 0 {
			c.takeUnasked(r, a, fx)
			continue
		}
		n := c.cfg.Route.Number(r.Ref)
		if f := c.findFetch(m.Request, n); f != nil {
			if c.partitions[n].outdated(r.Generation) && !f.lease {
				c.ask(f, fx)
				continue
			}
			if c.unsure(n, r.Generation) && !planted.On("new-owner-overtakes") {
				f.stale, f.staleUntil = true, 0
				continue
			}
			if f.lease || !sameRows(r.Rows, f.rows) || !f.fits(r, c.partitions[n].schema.Width) {
				c.breach(lane, fx, "other rows of %v than were asked for", r.Ref)
				break
			}
			b := c.cache(&c.partitions[n], r, f, a)
			for _, t := range f.waiters {
				c.pin(t, n, b)
				if b != c.partitions[n].block && !planted.On("older-block-kept") {
					t.pins[n].seen = wire.Need{Commit: r.Commit, Clock: r.Complete} // which some of its rows have, if not all
				}
			}
			c.resume(f, fx)
			if b != c.partitions[n].block {
				c.unpinBlock(b)
			}
		}
	}
	if a.blocks--; a.blocks == 0 {
		wire.Free(m)
		c.spare.answers.put(a)
	}
}

// fits reports whether an answer has a row for each key that was asked
// (TestAnAnswerThatDoesNotFitItsKeysIsNamed).
func (f *fetch) fits(r *wire.RowsPart, width int) bool {
	return len(f.keys) == 0 || len(r.Values) == len(f.keys)*width
}

// sameRows reports whether an answer is about the rows that were asked for. Within a node it has
// the very list.
func sameRows(got, asked []uint32) bool {
	if (got == nil) != (asked == nil) || len(got) != len(asked) {
		return false
	}
	return len(got) == 0 || &got[0] == &asked[0] || slices.Equal(got, asked)
}

// cache makes the rows of an answer the partition's block, together with those of the block before where that is still
// new enough for who asked, and no update of this node came between the two. Rows of a partition that is subscribed to,
// which are not part of the subscription, are shown to the tasks that asked and not kept: nobody would lift their
// version.
func (c *Client) cache(p *partition, r *wire.RowsPart, f *fetch, a *answer) *block {
	old, sparse := p.block, p.schema.Sparse
	begins := f.subscribe && !p.subscribed
	p.subscribed = p.subscribed || begins
	valid := old != nil && (sparse || r.Rows != nil) && (!begins || planted.On("subscribed-to-less")) &&
		gate.Admits(f.need, old.commit, old.complete) && !c.changedBetween(p, old.commit, r.Commit)
	if valid && !sparse && old.rows == nil {
		return old
	}
	b := c.spare.blocks.get()
	b.commit, b.complete, b.rows, b.values, b.readers = r.Commit, r.Complete, r.Rows, r.Values, 1
	switch {
	case valid && sparse:
		b.joinKeys(old, f.keys, p.schema.Width)
	case valid:
		b.join(old, p.schema.Width)
	default:
		b.keys, f.keys = f.keys, b.keys
		b.source = a
		a.blocks++
	}
	if p.subscribed && !f.subscribe || old != nil && !p.subscribed && planted.On("older-block-kept") {
		return b
	}
	if old != nil {
		c.unpinBlock(old)
	}
	p.block = b
	return b
}

// changedBetween reports whether a flush of this node that a split may still lay over its reads
// changed the partition after one commit and up to another.
func (c *Client) changedBetween(p *partition, after, upTo bellows.CommitNumber) bool {
	n := c.cfg.Route.Number(p.ref)
	for _, s := range c.splits {
		if s == nil || planted.On("join-across-own") {
			continue
		}
		for _, b := range s.retained {
			if b.update.buffers[n] != nil && b.commit > after && b.commit <= upTo {
				return true
			}
		}
	}
	return false
}

// pin makes a block what the task sees of a partition, and measures how stale it is. Which of the split's retained
// deltas it lacks is decided here, once: the lane has told a flush's number before it showed any row that has it, on the
// same connection, so that a number that is not known yet is one that the block does not contain (docs/decisions/0007).
// Where the partition has moved the lane that told is another than the one that shows, whose rows may come first
// (unsure).
func (c *Client) pin(t *Task, n int, b *block) {
	at := &t.pins[n]
	if at.block == nil {
		t.pinned = append(t.pinned, n)
	}
	b.readers++
	t.blocks = append(t.blocks, b)
	*at = pin{block: b, seen: at.seen}
	for i, own := range t.own {
		if d := own.update.buffers[n]; d == nil || d.Len() == 0 {
			continue
		}
		if own.commit == 0 || own.commit > b.commit || planted.On("own-updates-twice") {
			at.uncovered |= 1 << i
		}
	}
	lag := max(0, int(t.Unit.Clock-1-b.complete))
	c.counts.Staleness[min(lag, len(c.counts.Staleness)-1)]++
}

// unsure reports whether rows of an owner at a generation may or may not have updates that this node lays over what it
// reads: an owner of the past held them, and its word whether they count, which comes apart, has not come
// (TestANewOwnerIsBelievedBehindTheOneBefore).
func (c *Client) unsure(n int, g bellows.Generation) bool {
	ref := c.partitions[n].ref
	return slices.ContainsFunc(c.flushes, func(f *flush) bool {
		return len(f.writes.members) > 0 && f.writes.members[0].commit == 0 && slices.ContainsFunc(f.parts, func(p flushPart) bool {
			return p.pair.Ref == ref && p.pair.Generation < g && p.state < partRecorded && p.state != partStale
		})
	})
}

// resume ends a fetch: tasks that wait for nothing else are woken.
func (c *Client) resume(f *fetch, fx *Effects) {
	for _, t := range f.waiters {
		if t.waits--; t.waits == 0 {
			c.executing++
			c.waiting--
			fx.Wake = append(fx.Wake, t)
		}
	}
	c.freeFetch(f)
}
