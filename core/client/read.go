package client

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/delta"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// block is a piece of the cache: rows of one partition at one version. It never changes once it is
// made; a newer one takes its place.
type block struct {
	commit   bellows.CommitNumber
	complete bellows.Clock
	rows     []uint32 // ascending; nil: all
	values   []float32
	readers  int           // tasks that look at it, and the cache
	source   *answer       // whose memory values are; nil: its own
	keys     []bellows.Key // of a sparse table, in place of rows
	own      []float32     // memory for values of a sparse table that are joined
}

// answer is a Rows message whose memory blocks use.
type answer struct {
	rows   *wire.Rows
	blocks int
}

// unpin lets go of a block; the last to do so gives its memory back.
func (c *Client) unpinBlock(b *block) {
	if b.readers--; b.readers > 0 {
		return
	}
	if a := b.source; a != nil {
		if a.blocks--; a.blocks == 0 {
			wire.Free(a.rows)
			c.spare.answers.put(a)
		}
	}
	*b = block{keys: b.keys[:0], own: b.own[:0]}
	c.spare.blocks.put(b)
}

// view is the rows [first, end) in place.
func (b *block) view(first, end, width int) []float32 {
	at := first
	if b.rows != nil {
		at, _ = slices.BinarySearch(b.rows, uint32(first))
	}
	return b.values[at*width : (at+end-first)*width : (at+end-first)*width]
}

// read copies the rows [first, end).
func (b *block) read(first, end, width int, dst []float32) { copy(dst, b.view(first, end, width)) }

// fetch is a question under way: rows of one partition, or a lease on it, and who waits for it.
type fetch struct {
	request   uint64 // 0: no question, what it waits for comes unasked
	number    int
	need      wire.Need
	rows      []uint32      // nil: all
	keys      []bellows.Key // of a sparse table, in place of rows
	lease     bool
	mode      wire.Mode // of a lease
	subscribe bool      // its answer begins a subscription, or adds to one
	waiters   []*Task
	wait      wait                 // for whom there are waiters
	lane      int                  // that was asked, or sends it unasked: its index in Client.lanes
	stale     bool                 // it is to be asked again by another route
	until     bellows.RouteVersion // which
}

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
	*f = fetch{number: number, lane: c.parts[number].lane, waiters: f.waiters[:0], keys: f.keys[:0]}
	return f
}

func (c *Client) takeFetch(request uint64, number int) *fetch {
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

// Read makes the rows [first, end) of a table readable for the task and reports whether they are; if
// not, the task waits until it is woken and asks again. Rows come from the cache if what is there is
// new enough for the task, else from their lanes, where the gate may park the read.
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

// Prefetch asks for the rows [first, end) of a table unless they are there or under way, and waits for
// nothing: a later Read finds them sooner.
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

// rowSet names rows of one partition: a list, or consecutive ones, or those of keys.
type rowSet struct {
	list       []uint32
	keys       []bellows.Key
	first, end int
}

func (w rowSet) len() int {
	if w.list != nil {
		return len(w.list)
	}
	return w.end - w.first
}

// coveredBy reports whether a set of rows (ascending; nil: all) or of keys contains the wanted ones.
func (w rowSet) coveredBy(rows []uint32, list []bellows.Key) bool {
	if w.keys != nil {
		return contains(list, w.keys)
	}
	if rows == nil {
		return true
	}
	if w.list == nil {
		i, ok := slices.BinarySearch(rows, uint32(w.first))
		last := i + w.end - w.first - 1
		return ok && last < len(rows) && rows[last] == uint32(w.end-1)
	}
	return contains(rows, w.list)
}

// contains reports whether an ascending list has all of another.
func contains[T cmp.Ordered](all, some []T) bool {
	at := 0
	for _, x := range some {
		if at = seek(all, at, x); at == len(all) || all[at] != x {
			return false
		}
	}
	return true
}

// seek is the place of x in an ascending list, or where it belongs. It looks from a place on which may be
// near, in steps that double, so that seeking one after the other costs what lies between.
func seek[T cmp.Ordered](list []T, from int, x T) int {
	low, end := 0, min(from, len(list))
	if end < len(list) && list[end] <= x {
		low, end = end, end+1
		for step := 1; end < len(list) && list[end] < x; step *= 2 {
			low, end = end, end+step
		}
		end = min(end+1, len(list))
	}
	i, _ := slices.BinarySearch(list[low:end], x)
	return low + i
}

// readOp is one read on its way through the partitions that it touches.
type readOp struct {
	c       *Client
	t       *Task
	need    wire.Need
	pulls   []*wire.Pull // per lane; nil until the read must ask a lane
	answers int
	last    int
	ahead   bool // the task does not wait
}

// want sees to one partition: pinned already, in the cache, asked for by another task, or to be asked.
func (a *readOp) want(n int, w rowSet) {
	c, t := a.c, a.t
	if b := t.pins[n].block; b != nil && w.coveredBy(b.rows, b.keys) {
		return
	}
	p := &c.parts[n]
	p.unread = 0
	b := p.block
	cached := b != nil && w.coveredBy(b.rows, b.keys)
	if cached && !a.ahead {
		p.interest.read(len(w.keys))
	}
	need := t.pins[n].notBefore(a.need)
	if cached && (gate.Admits(need, b.commit, b.complete) || planted.On("stale-cache")) {
		if !a.ahead {
			c.pin(t, n, b)
		}
		return
	}
	if !a.ahead {
		a.answers++
		a.last = n
	}
	if p.subscribed && cached && c.relayComes(p) {
		a.awaitPush(n, need)
		return
	}
	// A question that waits for a later clock is no answer: that clock may wait for this very task.
	for _, f := range c.fetches {
		if f.number == n && f.request > 0 && !f.lease && w.coveredBy(f.rows, f.keys) && f.answers(need) {
			a.join(f)
			return
		}
	}
	a.request(n, w, cached, need)
}

// notBefore is a need that what the cache holds must meet, so that the split does not see the partition as it was before. What a lane is
// asked for it sends as it is, never older than what it has sent before.
func (p *pin) notBefore(n wire.Need) wire.Need {
	return wire.Need{Commit: max(n.Commit, p.seen.Commit), Clock: max(n.Clock, p.seen.Clock)}
}

// answers reports whether the answer to a question that another task asked will do for a need, and
// comes as soon.
func (f *fetch) answers(n wire.Need) bool {
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

// request adds a question about a partition to the pull for its lane. Where much of the partition is
// wanted, all of it is fetched, since other tasks will want the rest. Rows that the cache holds in an older version are
// asked for again with all that it holds, so that what is subscribed to is what is cached. The answer is joined with what is cached if that meets
// a need, which may be more than the lane is told.
func (a *readOp) request(n int, w rowSet, cached bool, need wire.Need) {
	c, p := a.c, &a.c.parts[n]
	if a.pulls == nil {
		a.pulls = c.pulls
	}
	m := a.pulls[p.lane]
	if m == nil {
		c.request++
		m = wire.New[wire.Pull]()
		m.Request, m.Incarnation, m.Need, m.Route = c.request, c.cfg.Incarnation, a.need, c.now.Route.Version()
		a.pulls[p.lane] = m
	}
	f := c.newFetch(n)
	f.request, f.need = m.Request, need
	a.join(f)
	if w.keys != nil {
		f.keys, f.subscribe = p.question(w.keys, need, f.keys)
		m.Parts = append(m.Parts, wire.PullPart{Pair: p.pair, Keys: f.keys, Subscribe: f.subscribe})
		return
	}
	f.subscribe = p.subscribed || cached
	switch {
	case cached:
		f.rows = slices.Clone(p.block.rows) // the block may give its memory back before the question has left
	case 4*w.len() < p.rows:
		f.rows = slices.Clone(w.list)
		for r := w.first; r < w.end; r++ {
			f.rows = append(f.rows, uint32(r))
		}
	}
	m.Parts = append(m.Parts, wire.PullPart{Pair: p.pair, Rows: f.rows, Subscribe: f.subscribe})
}

// done sends the questions and reports whether there was none.
func (a *readOp) done(fx *Effects) bool {
	for lane, m := range a.pulls {
		if m != nil {
			fx.Send(a.c.cfg.Self, a.c.lanes[lane], m)
			a.pulls[lane] = nil
		}
	}
	if a.answers == 0 {
		return true
	}
	a.c.block(a.t, a.answers, a.last, fx)
	return false
}

// takeRows puts answers into the cache and pins them for those who wait.
func (c *Client) takeRows(m *wire.Rows, lane wire.Address, fx *Effects) {
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		wire.Free(m)
		return
	}
	a := c.spare.answers.take()
	*a = answer{rows: m, blocks: 1} // this call
	for i := range m.Parts {
		r := &m.Parts[i]
		if m.Request == 0 {
			c.takeUnasked(r, a, fx)
			continue
		}
		n := c.cfg.Route.Number(r.Ref)
		if f := c.takeFetch(m.Request, n); f != nil {
			if c.parts[n].outdated(r.Generation) && !f.lease {
				c.askAgain(f, fx)
				continue
			}
			if f.lease || !sameRows(r.Rows, f.rows) || !f.fits(r, c.parts[n].schema.Width) {
				c.breach(lane, fx, "other rows of %v than were asked for", r.Ref)
				break
			}
			b := c.cache(&c.parts[n], r, f, a)
			for _, t := range f.waiters {
				c.pin(t, n, b)
				if b != c.parts[n].block && !planted.On("older-block-kept") {
					t.pins[n].seen = wire.Need{Commit: r.Commit, Clock: r.Complete} // which some of its rows have, if not all
				}
			}
			c.unblock(f, fx)
			if b != c.parts[n].block {
				c.unpinBlock(b)
			}
		}
	}
	if a.blocks--; a.blocks == 0 {
		wire.Free(m)
		c.spare.answers.put(a)
	}
}

// outdated reports whether an answer is that of an owner of the past. What it says was so, and others may have seen newer rows since.
func (p *part) outdated(g bellows.Generation) bool { return g < p.pair.Generation }

// askAgain asks a question once more, as a new one, of the owner that is known now.
func (c *Client) askAgain(f *fetch, fx *Effects) {
	p := &c.parts[f.number]
	c.request++
	f.request, f.stale, f.lane, f.wait.known = c.request, false, p.lane, false
	if f.lease {
		a := wire.New[wire.Acquire]()
		*a = wire.Acquire{Request: f.request, Pair: p.pair, Mode: f.mode, Need: f.need, Route: c.now.Route.Version()}
		fx.Send(c.cfg.Self, c.lanes[p.lane], a)
		return
	}
	m := wire.New[wire.Pull]()
	m.Request, m.Incarnation, m.Need, m.Route = f.request, c.cfg.Incarnation, f.need, c.now.Route.Version()
	part := wire.PullPart{Pair: p.pair, Rows: f.rows, Subscribe: f.subscribe}
	if p.schema.Sparse {
		part.Rows, part.Keys = nil, f.keys
	}
	m.Parts = append(m.Parts, part)
	fx.Send(c.cfg.Self, c.lanes[p.lane], m)
}

// sameRows reports whether an answer is about the rows that were asked for. Within a node it has the very list.
func sameRows(got, asked []uint32) bool {
	if (got == nil) != (asked == nil) || len(got) != len(asked) {
		return false
	}
	return len(got) == 0 || &got[0] == &asked[0] || slices.Equal(got, asked)
}

// cache makes the rows of an answer the partition's block, together with those of the block before
// where that is still new enough for who asked, and no update of this node came between the two: laid
// over rows that contain it, it would count twice. Rows of a partition that is subscribed to, but for these,
// are not kept: nobody would lift their version.
func (c *Client) cache(p *part, r *wire.RowsPart, f *fetch, a *answer) *block {
	old, sparse := p.block, p.schema.Sparse
	begins := f.subscribe && !p.subscribed
	p.subscribed = p.subscribed || begins
	valid := old != nil && (sparse || r.Rows != nil) && (!begins || planted.On("subscribed-to-less")) &&
		gate.Admits(f.need, old.commit, old.complete) && !c.changedBetween(p, old.commit, r.Commit)
	if valid && !sparse && old.rows == nil {
		return old
	}
	b := c.spare.blocks.take()
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
func (c *Client) changedBetween(p *part, after, upTo bellows.CommitNumber) bool {
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

// join adds the rows of an older block that b lacks, and takes its version: a row that is newer than
// its block says does no harm.
func (b *block) join(old *block, width int) {
	n := len(old.rows) + len(b.rows)
	b.rows, b.values = joined(old.rows, b.rows, old.values, b.values, width, make([]uint32, 0, n), make([]float32, 0, n*width))
	b.commit, b.complete = old.commit, old.complete
}

// joinKeys is join for the rows of a list of keys, into the block's own memory.
func (b *block) joinKeys(old *block, list []bellows.Key, width int) {
	n := len(old.keys) + len(list)
	b.keys, b.own = joined(old.keys, list, old.values, b.values, width, slices.Grow(b.keys, n), slices.Grow(b.own, n*width))
	b.commit, b.complete, b.values = old.commit, old.complete, b.own
}

// joined merges two ascending lists and their rows behind those of to; where both have a row, the newer
// one counts.
func joined[T cmp.Ordered](older, newer []T, old, fresh []float32, width int, ids []T, to []float32) ([]T, []float32) {
	for i, j := 0, 0; i < len(older) || j < len(newer); {
		switch {
		case i < len(older) && (j == len(newer) || older[i] < newer[j]):
			ids, to = append(ids, older[i]), append(to, old[i*width:(i+1)*width]...)
			i++
		case i < len(older) && older[i] == newer[j]:
			i++
		default:
			ids, to = append(ids, newer[j]), append(to, fresh[j*width:(j+1)*width]...)
			j++
		}
	}
	return ids, to
}

// pin makes a block what the task sees of a partition, and measures how stale it is.
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
	stale := max(0, int(t.Unit.Clock-1-b.complete))
	c.counts.Staleness[min(stale, len(c.counts.Staleness)-1)]++
}

// Version is how new what the task sees of a partition is, under a lease if it has one: it has every commit up to one, and every clock up
// to another of all splits. Read must have said that some of the partition is there, or Lease that it is leased.
func (t *Task) Version(ref bellows.PartitionRef) wire.Need {
	n := t.client.cfg.Route.Number(ref)
	if l := t.leaseOn(n); l != nil {
		return wire.Need{Commit: l.grant.Commit, Clock: l.grant.Complete}
	}
	b := t.pins[n].block
	return wire.Need{Commit: b.commit, Clock: b.complete}
}

// overlaid reports whether the task has deltas of its own to lay over a partition's rows.
func (t *Task) overlaid(n int) bool {
	p := &t.client.parts[n]
	if !p.additive || planted.On("own-updates-forgotten") {
		return false
	}
	if t.pins[n].uncovered != 0 {
		return true
	}
	open := t.open(n)
	return open != nil && open.Len() > 0
}

// open is what the task has added to a partition so far, or nil.
func (t *Task) open(n int) *delta.Buffer {
	if t.client.parts[n].barrier {
		return t.barrier.buffers[n]
	}
	return t.bounded.buffers[n]
}

// overlay adds to dst, the rows [first, end) of a partition, the split's deltas that they lack.
func (t *Task) overlay(n, first, end int, dst []float32) {
	if !t.overlaid(n) {
		return
	}
	for i, own := range t.own {
		if t.pins[n].uncovered&(1<<i) != 0 {
			own.update.buffers[n].Overlay(first, end, dst)
		}
	}
	if open := t.open(n); open != nil {
		open.Overlay(first, end, dst)
	}
}
