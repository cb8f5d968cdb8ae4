package client

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/vec"
)

// update is deltas for any partitions.
type update struct {
	buffers []*delta.Buffer // by route.Number; nil: none
	touched []int
}

func (u *update) buffer(n int, c *Client) *delta.Buffer {
	if u.buffers[n] == nil {
		u.buffers[n] = c.parts[n].buffer()
		u.touched = append(u.touched, n)
	}
	return u.buffers[n]
}

// reset gives the buffers back.
func (u *update) reset(c *Client) {
	for _, n := range u.touched {
		u.buffers[n].Reset()
		c.parts[n].buffers.Put(u.buffers[n])
		u.buffers[n] = nil
	}
	u.touched = u.touched[:0]
}

// merge adds the deltas of o, which keeps them.
func (u *update) merge(o *update, c *Client) {
	for _, n := range o.touched {
		u.buffer(n, c).Merge(o.buffers[n])
	}
}

// bundle is an update that a flush sends and a split may still lay over its reads; both must have let
// it go before its memory is used again.
type bundle struct {
	update update
	users  int
	commit bellows.CommitNumber // 0: not known to be committed
}

func (b *bundle) drop(c *Client) {
	if b.users--; b.users == 0 {
		b.update.reset(c)
		b.commit = 0
		c.spare.bundles.put(b)
	}
}

// gathering is what finished tasks of one clock leave for the next flush: at most one is open for each clock, besides those of tasks with leases, which leave alone. It leaves when no unit of its
// clock runs here, or when nothing else can run (flushReady): waiting longer could be waiting for oneself.
type gathering struct {
	clock   bellows.Clock
	open    int        // tasks of the clock that are dispatched here and not finished
	done    *wire.Done // the results so far; nil: none
	tree    []subtree  // BSP deltas: sums of aligned groups of splits
	members []*bundle  // deltas of the other tables, a split each
	leases  []leaseGrant
}

type subtree struct {
	at     wire.Subtree
	bundle *bundle
}

// flush is a gather that has left, until every part of it is visible. It has a part for each partition that it changes, and a push for each lane that a part was sent to: one
// at first, more where parts had to go elsewhere by a newer route.
//
// Invariants: held counts the parts from partHeld on, visible those that are, stale those that wait for a route (TestWhatIsStaleWaitsForTheRoute). Done is said once for each time that
// held reaches len(parts), by this client or by the one lane that holds all of it (TestAStaleDoneIsDoneAgain). A flush without parts is held by some lane all the same,
// so that its results are known to somebody besides the controller (TestAFlushOfNothingIsHeld).
//
// Turned down: accounting by push, or by lane: a partition that moves takes its part of the flush along, and its new owner answers for it (docs/decisions/0030).
type flush struct {
	id      bellows.FlushID
	clock   bellows.Clock
	pushes  []lanePush
	parts   []flushPart
	held    int // of the parts: some lane holds them, or has recorded them
	visible int // of the parts
	values  int
	gather  *gathering
	sum     *bundle              // the bounded deltas, where they are of several splits
	word    *wire.Done           // of its results: what is done may have to be done again
	stale   int                  // of the parts: they wait for a route
	until   bellows.RouteVersion // which
	unheld  bool                 // counted in Client.unheld
}

// lanePush is what one lane was sent of a flush at one time.
type lanePush struct {
	lane             int
	push             *wire.Push
	first            int  // of its parts, the others are linked to it; none: they have all been sent again
	again            bool // as the push says, which may be its lane's by now
	waited           bool // its lane had no room for some of it
	due              bool // it has room now
	visibleOnCommit  bool // some of it, as soon as it is recorded; the lane sends subscribed rows then
	countedAsCertain bool // that it will be recorded: counted in Client.relays
	wait             wait // for the lane to hold all of it
	resent           int  // how often, when there was room
	asked            int  // resent, when its lane was asked about it last; of one that is sent again by another route -1 before
}

// flushPart is a flush's part for one partition: what is accounted for, since partitions move. Answers are matched by the pair, whichever lane
// says them.
type flushPart struct {
	pair  wire.Pair // as it was sent last
	push  int       // in which it was sent last
	next  int       // another part of that push, or none
	state partState
}

// none is the end of a list of parts.
const none = -1

// partState is how far a part of a flush is. It goes from sent to visible, by way of the others or past them; from full it goes back to sent.
type partState uint8

const (
	partSent     partState = iota
	partFull               // its lane has no room for it
	partStale              // it is another lane's, of which a newer route knows
	partHeld               // its lane keeps it until its record
	partRecorded           // it has a number, and waits for a clock or a lease
	partVisible
)

func (c *Client) newBundle() *bundle {
	b := c.spare.bundles.take()
	if b.update.buffers == nil {
		b.update.buffers = make([]*delta.Buffer, len(c.parts))
	}
	b.users = 1
	return b
}

func (c *Client) newGather(clock bellows.Clock) *gathering {
	g := c.spare.gathers.take()
	*g = gathering{clock: clock, tree: g.tree[:0], members: g.members[:0], leases: g.leases[:0]}
	return g
}

// gatherOf is the gather of a clock. They stand in the order of clocks, in which they leave where they leave together: a lane above its cap
// relies on that (server, hasRoom).
func (c *Client) gatherOf(clock bellows.Clock) *gathering {
	at := len(c.gathers)
	for at > 0 && c.gathers[at-1].clock >= clock {
		if at--; c.gathers[at].clock == clock {
			return c.gathers[at]
		}
	}
	g := c.newGather(clock)
	c.gathers = slices.Insert(c.gathers, at, g)
	return g
}

// collect moves a finished task's deltas, leases and result into a gather.
func (c *Client) collect(g *gathering, t *Task, result []float64) {
	if g.done == nil {
		g.done = wire.New[wire.Done]()
	}
	g.done.Append(t.Unit, result)
	g.leases = append(g.leases, t.leases...)
	t.leases = t.leases[:0]
	if c.barriers {
		b := c.newBundle()
		b.update, t.barrier = t.barrier, b.update
		g.plant(subtree{delta.Leaf(t.Unit.Split), b}, c)
	}
	if len(t.bounded.touched) > 0 {
		b := c.newBundle()
		b.update, t.bounded = t.bounded, b.update
		g.members = append(g.members, b)
		s := c.splits[t.Unit.Split]
		s.retained = append(s.retained, b)
		b.users++
	}
}

// plant adds a subtree's sum and merges it with its sibling, as long as that is here: what a node sends
// are sums over aligned groups of splits.
func (g *gathering) plant(s subtree, c *Client) {
	for merged := true; merged; {
		merged = false
		if delta.Empty(delta.Sibling(s.at), len(c.splits)) && uint64(s.at.Index) > 0 {
			s.at, merged = delta.Parent(s.at), true
			continue
		}
		for i, o := range g.tree {
			if o.at != delta.Sibling(s.at) && !(planted.On("cousins-merged") && o.at.Level == s.at.Level) {
				continue
			}
			left, right := s, o
			if delta.Left(s.at) != s.at {
				left, right = o, s
			}
			left.bundle.update.merge(&right.bundle.update, c)
			right.bundle.drop(c)
			g.tree[i] = g.tree[len(g.tree)-1]
			g.tree = g.tree[:len(g.tree)-1]
			s, merged = subtree{delta.Parent(s.at), left.bundle}, true
			break
		}
	}
	g.tree = append(g.tree, s)
}

// flushReady sends what has gathered of every clock that has no unit left here; and all of it where
// nothing else can run.
func (c *Client) flushReady(fx *Effects) {
	rest := c.gathers[:0]
	for _, g := range c.gathers {
		switch {
		case g.done != nil && (g.open == 0 || c.executing == 0):
			open := g.open
			c.flush(g, fx)
			if open > 0 {
				again := c.newGather(g.clock)
				again.open = open
				rest = append(rest, again)
			}
		case g.open == 0:
			c.spare.gathers.put(g)
		default:
			rest = append(rest, g)
		}
	}
	c.gathers = rest
}

// flush sends a gather: its parts to their lanes, to be held.
func (c *Client) flush(g *gathering, fx *Effects) {
	c.seq++
	f := c.spare.flushes.take()
	f.word = wordOf(g.done)
	f.id, f.clock, f.gather = bellows.FlushID{Client: c.cfg.Self.Node, Incarnation: c.cfg.Incarnation, Seq: c.seq}, g.clock, g
	for _, s := range g.tree {
		c.account(&s.bundle.update, g.clock)
		c.addChunks(f, &s.bundle.update, s.at)
	}
	if u := c.streamSum(f, g); u != nil {
		c.account(u, g.clock)
		c.addChunks(f, u, wire.Subtree{})
	}
	for _, l := range g.leases {
		p := c.pushTo(f, l.number)
		p.push.Leases = append(p.push.Leases, wire.LeaseEnd{Pair: c.parts[l.number].pair, Values: l.grant.Values})
		c.accountLease(l, g.clock)
	}
	c.sendFlush(f, fx)
}

// streamSum is the sum of the members' deltas, in the order in which they finished.
func (c *Client) streamSum(f *flush, g *gathering) *update {
	switch len(g.members) {
	case 0:
		return nil
	case 1:
		return &g.members[0].update
	}
	f.sum = c.newBundle()
	for _, m := range g.members {
		f.sum.update.merge(&m.update, c)
	}
	return &f.sum.update
}

// account counts for the audit what a flush takes of an update, from the buffers and not from the chunks made of them.
func (c *Client) account(u *update, clock bellows.Clock) {
	for _, n := range u.touched {
		b, p := u.buffers[n], &c.parts[n]
		c.counts.Sent += int64(b.Len())
		if !p.sample.Has(clock) {
			continue
		}
		rows, values := b.Chunk()
		to := &c.counts.Ledgers[p.ref.Table].Sent
		switch {
		case p.format != vec.Float32:
			*to += c.narrowed(p, b)
		case p.schema.Sparse:
			*to += audit.Keys(p.ref.Partition, p.schema.Width, b.Keys(), values)
		default:
			*to += audit.Rows(p.ref.Partition, p.schema.Width, rows, values)
		}
	}
}

// accountLease counts the end of an exclusive lease.
func (c *Client) accountLease(l leaseGrant, clock bellows.Clock) {
	p := &c.parts[l.number]
	c.counts.Sent += int64(p.rows)
	if p.sample.Has(clock) {
		c.counts.Ledgers[p.ref.Table].Sent += audit.Range(p.ref.Partition, 0, l.grant.Values)
	}
}

// roundedMost is how many values are rounded at a time, while they are near.
const roundedMost = 4 << 10

// narrowed is the audit's sum over a buffer as its lane will see it, rounded on its way. That its values are rounded twice, here
// and where they are sent, is the price of a count that does not come from what it is to judge.
func (c *Client) narrowed(p *part, b *delta.Buffer) (sum audit.Sum) {
	rows, values := b.Chunk()
	w := p.schema.Width
	step := max(1, roundedMost/w)
	c.sixteen, c.rounded = slices.Grow(c.sixteen[:0], step*w), slices.Grow(c.rounded[:0], step*w)
	for first := 0; first < b.Len(); first += step {
		end := min(first+step, b.Len())
		n := (end - first) * w
		_ = p.format.Narrow(c.sixteen[:n], values[first*w:end*w]) // what does not fit ends the job where it is sent
		p.format.Widen(c.rounded[:n], c.sixteen[:n])
		switch {
		case p.schema.Sparse:
			sum += audit.Keys(p.ref.Partition, w, b.Keys()[first:end], c.rounded[:n])
		case rows == nil:
			sum += audit.Range(p.ref.Partition, first*w, c.rounded[:n])
		default:
			sum += audit.Rows(p.ref.Partition, w, rows[first:end], c.rounded[:n])
		}
	}
	return sum
}

func (c *Client) addChunks(f *flush, u *update, at wire.Subtree) {
	for _, n := range u.touched {
		if u.buffers[n].Len() == 0 || planted.On("chunk-lost") && n == u.touched[0] && len(u.touched) > 1 {
			continue
		}
		p := c.pushTo(f, n)
		rows, values := u.buffers[n].Chunk()
		p.push.Chunks = append(p.push.Chunks, wire.Chunk{Pair: c.parts[n].pair, Subtree: at, Rows: rows, Keys: u.buffers[n].Keys(), Values: values})
		f.values += len(values)
		p.visibleOnCommit = p.visibleOnCommit || !c.parts[n].barrier
	}
}

// pushTo is the flush's push to the lane of a partition.
func (c *Client) pushTo(f *flush, number int) *lanePush {
	if at := c.partAt[number]; at > 0 {
		return &f.pushes[f.parts[at-1].push]
	}
	lane := c.parts[number].lane
	i := slices.IndexFunc(f.pushes, func(p lanePush) bool { return p.lane == lane })
	if i < 0 {
		i = len(f.pushes)
		m := wire.New[wire.Push]()
		m.Flush, m.Clock, m.Route = f.id, f.clock, c.now.Route.Version()
		f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
	}
	p := &f.pushes[i]
	f.parts = append(f.parts, flushPart{pair: c.parts[number].pair, push: i, next: p.first})
	p.first = len(f.parts) - 1
	c.partAt[number] = len(f.parts)
	return p
}

// pairs appends the pairs of all parts of a flush.
func (f *flush) pairs(to []wire.Pair) []wire.Pair {
	for i := range f.parts {
		to = append(to, f.parts[i].pair)
	}
	return to
}

func (c *Client) sendFlush(f *flush, fx *Effects) {
	for i := range f.parts {
		c.partAt[c.cfg.Route.Number(f.parts[i].pair.Ref)] = 0
	}
	c.flushes = append(c.flushes, f)
	if len(f.pushes) == 0 && len(c.lanes) > 0 {
		c.pushNothing(f)
	}
	if len(f.pushes) > 0 {
		f.unheld = true
		c.unheld++
	}
	switch len(f.pushes) {
	case 0:
	case 1: // whose lane sends it on when it holds all of the flush
		f.pushes[0].push.Done = c.done(f)
	default: // for another controller, which asks the lanes what they hold
		f.pushes[0].push.Done = c.word(f).Copy()
	}
	for i := range f.pushes {
		p := &f.pushes[i]
		p.push.Pairs = f.pairs(p.push.Pairs)
		fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
	}
	if len(f.pushes) == 0 { // there is no lane
		fx.Send(c.cfg.Self, c.cfg.Controller, c.done(f))
		c.close(f)
	}
}

// done is what the controller is told when every part of a flush is held.
func (c *Client) done(f *flush) *wire.Done {
	d := c.word(f)
	f.gather.done = nil
	for i := range f.pushes {
		c.expectRelay(&f.pushes[i])
	}
	return d
}

// pushNothing has a lane, one of this node where there is one, hold a flush that changes nothing, as it holds any other: what its tasks have
// signalled is known to somebody besides the controller then.
func (c *Client) pushNothing(f *flush) {
	lane := max(0, slices.IndexFunc(c.lanes, func(a wire.Address) bool { return a.Node == c.cfg.Self.Node }))
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = f.id, f.clock
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
}

// word is what is to be said of a flush when all of it is held.
func (c *Client) word(f *flush) *wire.Done {
	d := f.gather.done
	d.Flush, d.Clock, d.Pairs = f.id, f.clock, f.pairs(d.Pairs[:0])
	d.Barred = len(f.gather.leases) == 0 && f.values <= c.cfg.Limits.BarredValues && !slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.visibleOnCommit })
	return d
}

// close ends a flush that is visible everywhere: its memory is free again.
func (c *Client) close(f *flush) {
	g := f.gather
	for _, s := range g.tree {
		s.bundle.drop(c)
	}
	for _, b := range g.members {
		b.drop(c)
	}
	if f.sum != nil {
		f.sum.drop(c)
	}
	for _, l := range g.leases {
		wire.Free(l.grant)
	}
	clear(g.leases)
	c.spare.gathers.put(g)
	for i, o := range c.flushes {
		if o == f {
			c.flushes = append(c.flushes[:i], c.flushes[i+1:]...)
			break
		}
	}
	for i := range f.pushes {
		if c.lanes[f.pushes[i].lane].Node != c.cfg.Self.Node { // that freed a push of its own
			wire.Free(f.pushes[i].push)
		}
	}
	wire.Free(f.word)
	clear(f.pushes)
	*f = flush{pushes: f.pushes[:0], parts: f.parts[:0]}
	c.spare.flushes.put(f)
}
