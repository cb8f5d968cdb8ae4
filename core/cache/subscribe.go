package cache

import (
	"bellows"
	"bellows/core/gate"
	"bellows/core/lists"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A partition that is read again and again is subscribed to (server push, Bösen §4.2): a question about rows that the
// cache holds in an older version asks the lane to send them, from then on, when they have changed. While a partition
// is subscribed to, all rows that the cache holds of it are, so that a message about some lifts the version of all. A
// read that needs what is sure to come waits for it and asks nothing (TestRereadRowsAreSubscribed).
//
// A reader that waits so has no question under way. So each thing that may keep the rows from coming makes it ask: a
// lane that had no room (Uncertain), another owner (Move), a message that is not new enough with none after it
// (wakeAwaiting). A subscription is not given up while a reader waits for it
// (TestSubscriptionStaysWhileQuestionIsOut; planted: gave-up-asking).
//
// Of a sparse table the rows are those of keys, whether or not they exist yet. Since what is read of such a table
// changes from clock to clock more often than not, a subscription to keys has a bound, and must earn its keep: see
// keySubscription. Turned down: to subscribe at the first read, since most rows of sparse data are read once
// (docs/decisions/0022).

// Uncertain notes that a push that was expected at a lane is not sure to be recorded any more: the lane may have to
// wait for the very tasks that wait for what its record would bring. Those readers ask instead
// (TestReadAsksWhenFlushFindsNoRoom).
func (c *Cache) Uncertain(lane int, fx *Effects) {
	c.lanes[lane].expected--
	for n := range c.partitions {
		if c.partitions[n].lane == lane && c.partitions[n].subscribed {
			c.wakeAwaiting(n, fx)
		}
	}
}

// Move says that another lane owns a partition, or that the same one owns it at another generation. It ends the
// subscription, since the new owner knows of none: readers that waited for rows to come unasked ask for them. Cached
// rows stays (TestAMoveEndsASubscription); the copy of a lease does not (TestMoveVoidsHeldCopy).
func (c *Cache) Move(n, lane int, g bellows.Generation, out *wire.Outbox) {
	c.SetOwner(n, lane, g)
	c.copies.drop(n)
	p := &c.partitions[n]
	if p.subscribed {
		p.subscribed, p.keySub = false, keySubscription{most: p.keySub.most}
	}
	for i := 0; i < len(c.open); i++ {
		if f := c.open[i]; f.number == n && f.request == 0 {
			c.askAll(f, out)
		}
	}
}

// wakeAwaiting wakes the readers that waited for rows that came unasked, and asks for those that no other message
// will bring.
func (c *Cache) wakeAwaiting(n int, fx *Effects) {
	p := &c.partitions[n]
	for i := 0; i < len(c.open); i++ {
		f := c.open[i]
		if f.number != n {
			continue
		}
		switch {
		case f.request > 0: // it has asked
		case gate.Admits(f.need, p.block.commit, p.block.complete):
			for _, r := range f.waiters {
				c.pin(r, n, p.block)
			}
			c.resume(f, fx)
			p.unread = 0
			i-- // another has taken its place
		case !c.comes(p, f.need):
			c.askAll(f, fx.Outbox)
		}
	}
}

// takeUnasked takes rows that came for a subscription. They are memory of the message's: all rows become a block that
// uses it, some are copied into the block that there is. A subscription that does not pay is given up here.
func (c *Cache) takeUnasked(n int, r *wire.RowsPart, a *Answer, fx *Effects) {
	p := &c.partitions[n]
	if !p.subscribed || p.block == nil || p.outdated(r.Generation) {
		return // given up meanwhile, or moved
	}
	if r.Rows == nil && r.Keys == nil {
		b := c.blocks.Get()
		b.commit, b.complete, b.rows, b.values, b.readers, b.source = r.Commit, r.Complete, nil, r.Values, 1, a
		a.uses++
		c.unpin(p.block)
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
	pays := p.unread <= c.unread && !p.keySub.idle(c.unread*len(p.block.keys))
	if !pays && (!c.about(n) || planted.On("gave-up-asking")) {
		c.unsubscribe(p, fx.Outbox)
	}
}

// unsubscribe gives up a subscription, and the cached rows with it: they grow old, and the next read of them is not
// yet a second one, which would subscribe at once. Rows that are under way are ignored when they come.
func (c *Cache) unsubscribe(p *partition, out *wire.Outbox) {
	p.subscribed = false
	p.keySub = keySubscription{most: p.keySub.most}
	c.unpin(p.block)
	p.block = nil
	out.Send(c.self, c.lanes[p.lane].address, &wire.Unsubscribe{Pair: p.pair, Incarnation: c.process})
}

// keySubscription is what a node knows of its subscription to keys of a partition: how many, and whether it pays.
//
// It pays as long as keys are read about as often as they come. Each key that comes costs what two reads of a key
// earn: fewer bytes travel for a key that comes and is read in each clock than for one that is asked for, and no task
// waits; but keys that are not read any more still come. A debt of Limits.Unread times the keys of the subscription
// ends it (TestUnprofitableSubscriptionEnds), as do so many unread messages, and one more.
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

// keysToAsk writes to a list the keys that are asked for when some are wanted, and reports whether they are
// subscribed to.
//
// The first read of a key asks for it. If the cache has all wanted keys in an older version, the question is for all
// cached keys, and begins a subscription if so many keys may be subscribed to. Later, other wanted keys are added to
// the subscription (TestOtherKeysAreAddedToASubscription). In a partition without a barrier the question then includes
// all cached keys if they are older: the answer could not be joined with them (TestOlderBlockIsAskedForWhole).
func (p *partition) keysToAsk(wanted []bellows.Key, need wire.Need, to []bellows.Key) (_ []bellows.Key, sub bool) {
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
