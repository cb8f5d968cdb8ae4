package coord

import (
	"fmt"

	"bellows"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/core/takeover"
	"bellows/link/wire"
)

// The second phase of a commit, as its coordinator sees it: a flush is done, when all of it is
// held. takeDone is read downwards. A flush that was counted before is known by its name, since a client
// and a lane may both report it. One that comes before its turn is kept (claim.Book.Postpone). The rest is
// committed: if the current owners hold it (membership.Group.Stale), and its units are the next of their splits
// (claim.Book.Complete), it gets its number (record). Then the driver gets the results (tellDriver), and dispatches
// more.
//
// Turned down: lanes that tell the controller what they hold, each of its part: a frame for each
// client and lane (docs/decisions/0022).

// takeDone numbers a flush when it is the next of its splits, and then those that had to wait for it. After the end it
// does nothing: the commit that ends the job has been announced.
func (c *Controller) takeDone(from wire.Address, m *wire.Done, fx *Effects) {
	if c.ending.Begun() && !planted.On("done-after-end") {
		wire.Free(m)
		return
	}
	if c.membership.IsRemoved(m.Flush.Client) && !planted.On("done-of-the-lost-counted") { // passed on before the fence
		wire.Free(m)
		return
	}
	if c.log.Counted(m.Flush) && !planted.On("done-counted-twice") { // its client has said so, and a lane
		wire.Free(m)
		return
	}
	if r := c.recovery; r != nil {
		if !r.Keep(journal.Arrival{From: from, Done: m}) {
			c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf(
				"%d flushes are done before the controller knows what was recorded", takeover.KeptMax)}, fx)
		}
		return
	}
	if postponed, err := c.claims.Postpone(journal.Arrival{From: from, Done: m}); postponed {
		if err != nil {
			c.end(&Outcome{Kind: bellows.Lost, Reason: err.Error()}, fx)
		}
		return
	}
	c.commit(from, m, fx)
	for i := range m.Results {
		for _, d := range c.claims.TakeEarly(m.Results[i].Unit.Split) {
			c.takeDone(d.From, d.Done, fx)
		}
	}
	for i := range m.Results {
		c.finishMove(m.Results[i].Unit.Split, fx)
	}
	wire.Free(m)
}

// commit numbers a flush and passes its results to the driver. A flush that cannot count ends the job: its units were
// run twice, or by a client that they were not dispatched to. If a former owner holds it, the current owner must hold
// it first (current).
func (c *Controller) commit(from wire.Address, m *wire.Done, fx *Effects) {
	complete := c.claims.Progress().Complete()
	stale, err := c.membership.Stale(m.Pairs)
	if len(stale) > 0 {
		c.sendRecords(fx) // of the route by which it is stale: it is heard of no sooner than by a lane
		fx.Send(c.cfg.Controller, wire.ClientAt(m.Flush.Client), &wire.Stale{Term: c.cfg.Term,
			Route: c.membership.Route().Version(), Flush: m.Flush, Pairs: stale})
		return
	}
	for i := 0; i < len(m.Results) && err == nil; i++ {
		err = c.claims.Complete(m.Results[i].Unit, m.Flush.Client)
	}
	if err != nil {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("%v refused: %v", m.Flush, err)}, fx)
		return
	}
	c.waits.Next(c.nowMillis)
	if !m.Deferrable || c.claims.Progress().Complete() > complete {
		c.log.Hurry()
	}
	c.record(m, fx)
	if o := c.tellDriver(from.Node, m.Results, fx); o != nil {
		c.end(o, fx)
	}
}
