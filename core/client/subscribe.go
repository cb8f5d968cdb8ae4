package client

import (
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/lists"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A partition that is read again and again is subscribed to (server push, Bösen §4.2): a question
// about rows that the cache holds in an older version asks the lane to send them from then on when
// they have changed. While a partition is subscribed to, all rows that the cache holds of it are,
// so that a message about some lifts the version of all. A read that needs what is sure to come
// waits for it and asks nothing (TestRowsThatAreReadAgainComeByThemselves).
//
// A task that waits so has no question under way, so each thing that may keep the rows from coming
// makes it ask: a lane that had no room (noRoom), another owner (ownerChanged), a message that is
// not new enough with none behind it (wakeAwaiting). A subscription is not given up while a task
// waits for it (TestNoSubscriptionIsGivenUpUnderAQuestion; planted: gave-up-asking).
//
// Of a sparse table the rows are those of keys, whether or not they are there yet. Since what is
// read of such a table changes from clock to clock more often than not, a subscription to keys has
// a bound, and must earn its keep: see keySubscription. Turned down: to subscribe at the first
// read, since most rows of sparse data are read once (docs/decisions/0022).

// relayComes reports whether the lane is sure to send the subscribed rows of a partition in a version that the cache
// does not hold yet and that a task needs. With a barrier they come with each clock, but what a unit has left under a
// lease the next of its clock needs before that (TestAUnitSeesWhatTheOneBeforeHasLeased; planted: own-clock-awaited).
// Without, they come with each commit of this node's own: a flush that is done is sure to be recorded (Client.relays),
// and one that is recorded has them under way until the cache has its commit (Client.relayed).
func (c *Client) relayComes(p *partition, need wire.Need) bool {
	if p.barrier {
		return need.Clock > p.block.complete || planted.On("own-clock-awaited")
	}
	return c.relays[p.lane] > 0 || p.block.commit < c.relayed[p.lane]
}

// awaitPush makes the task wait for rows that come unasked, in a version that meets a need; with
// others, where one message will do for all.
func (a *readOp) awaitPush(n int, need wire.Need) {
	if a.ahead {
		return
	}
	for _, f := range a.c.fetches {
		if f.number == n && f.request == 0 && f.serves(need) {
			a.join(f)
			return
		}
	}
	f := a.c.newFetch(n)
	f.need = need
	a.join(f)
}

// takeUnasked takes rows that came for a subscription. They are memory of the message's: all rows become a block that
// uses it, some are copied into the block that there is. A subscription that does not pay is given up here.
func (c *Client) takeUnasked(r *wire.RowsPart, a *answer, fx *Effects) {
	n := c.cfg.Route.Number(r.Ref)
	p := &c.partitions[n]
	if !p.subscribed || p.block == nil || p.outdated(r.Generation) {
		return // given up meanwhile, or moved
	}
	if r.Rows == nil && r.Keys == nil {
		b := c.spare.blocks.get()
		b.commit, b.complete, b.rows, b.values, b.readers, b.source = r.Commit, r.Complete, nil, r.Values, 1, a
		a.blocks++
		c.unpinBlock(p.block)
		p.block = b
	} else {
		if p.block.readers > 1 {
			c.renew(p)
		}
		p.block.lift(r, p.schema.Width)
	}
	c.wakeAwaiting(n, fx)
	p.unread++
	p.keySub.came(len(r.Keys))
	if (p.unread > c.cfg.Limits.Unread || p.keySub.idle(c.cfg.Limits.Unread*len(p.block.keys))) && (!c.fetching(n) || planted.On("gave-up-asking")) {
		c.unsubscribe(p, fx)
	}
}

// fetching reports whether a question about a partition is under way, or a task waits for what
// comes unasked.
func (c *Client) fetching(n int) bool {
	return slices.ContainsFunc(c.fetches, func(f *fetch) bool { return f.number == n })
}

// wakeAwaiting wakes who waited for rows that came unasked, and asks for those that no other
// message will bring.
func (c *Client) wakeAwaiting(n int, fx *Effects) {
	p := &c.partitions[n]
	for i := 0; i < len(c.fetches); i++ {
		f := c.fetches[i]
		if f.number != n {
			continue
		}
		switch {
		case f.request > 0: // it has asked
		case gate.Admits(f.need, p.block.commit, p.block.complete):
			for _, t := range f.waiters {
				c.pin(t, n, p.block)
			}
			c.resume(f, fx)
			p.unread = 0
			i-- // another has taken its place
		case !c.relayComes(p, f.need):
			c.askAll(p, f, fx)
		}
	}
}

// askAll asks for all that the cache holds of a partition, for those who waited for it to come.
func (c *Client) askAll(p *partition, f *fetch, fx *Effects) {
	f.subscribe = true
	if p.schema.Sparse {
		f.keys = append(f.keys, p.block.keys...)
	} else {
		f.rows = slices.Clone(p.block.rows)
	}
	c.ask(f, fx)
}

// unsubscribe gives up a subscription, and the cached rows with it: they grow old, and the next read of them is not yet
// a second one, which would subscribe at once. What is under way of it is passed over when it comes.
func (c *Client) unsubscribe(p *partition, fx *Effects) {
	p.subscribed = false
	p.keySub = keySubscription{most: p.keySub.most}
	c.unpinBlock(p.block)
	p.block = nil
	fx.Send(c.cfg.Self, c.lanes[p.lane], &wire.Unsubscribe{Pair: p.pair, Incarnation: c.cfg.Incarnation})
}

// keySubscription is what a client knows of its subscription to keys of a partition: how many, and
// whether it pays.
//
// It pays as long as keys are read about as often as they come. Each key that comes costs what two
// reads of a key earn: fewer bytes travel for a key that comes and is read in each clock than for
// one that is asked for, and no task waits; but keys that nobody reads any more come all the same.
// A debt of four times the keys of the subscription ends it
// (TestASubscriptionThatDoesNotPayIsGivenUp), as five messages do that nobody reads.
type keySubscription struct {
	most  int // keys to which the lane lets a client be subscribed (TestASubscriptionToKeysHasABound)
	asked int // with Subscribe: never fewer than the lane has
	debt  int // keys that came and have not been earned
}

// came counts keys that came unasked.
func (w *keySubscription) came(n int) { w.debt += n }

// read counts keys that a task reads and that are cached.
func (w *keySubscription) read(n int) { w.debt = max(0, w.debt-2*n) }

// idle reports whether a subscription with so much credit does not pay.
func (w *keySubscription) idle(credit int) bool { return w.debt > credit }

// keysToAsk writes to a list the keys that are asked for when some are wanted, and reports whether
// they are subscribed to.
//
// The first read of a key asks for it. When the cache has all that is wanted, in an older version,
// the question is for all that is cached, and begins a subscription, if so many may be subscribed
// to. Once there is one, keys that are wanted besides are added to it
// (TestOtherKeysAreAddedToASubscription); in a partition without a barrier with all that is cached,
// if that is older: else the answer could not be joined with it
// (TestAnOlderBlockIsAskedForAsAWhole).
func (p *partition) keysToAsk(wanted []bellows.Key, need wire.Need, to []bellows.Key) (list []bellows.Key, subscribe bool) {
	b := p.block
	if b == nil {
		return append(to, wanted...), false
	}
	fresh := lists.Lacking(b.keys, wanted)
	more := fresh
	switch {
	case p.subscribed:
	case fresh == 0:
		more = len(b.keys)
	default:
		return append(to, wanted...), false
	}
	if p.keySub.asked+more > p.keySub.most {
		return append(to, wanted...), false
	}
	p.keySub.asked += more
	if fresh == 0 || !p.barrier && !gate.Admits(need, b.commit, b.complete) {
		return lists.Merged(b.keys, wanted, to), true
	}
	return append(to, wanted...), true
}
