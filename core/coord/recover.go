package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/planted"
	"bellows/core/takeover"
	"bellows/link/wire"
)

// recovery is a controller that follows another one and does not know yet how far that had come. Package takeover
// finds it out. It numbers nothing before (TestNumberingWaitsForEveryPromise): whatever reaches it meanwhile
// waits, or is sent again.
type recovery struct {
	*takeover.Takeover
	ready  bool     // all nodes are
	driver error    // how the driver differs from the records
	failed *Outcome // the first failure since; nil: none
}

// Recover makes the controller that follows one that is gone, of whom are left the records that the
// lanes keep and, perhaps, a state that was saved: from is the last one that is covered (Covers),
// or the state that the job began with. The driver is one that has done nothing yet.
//
// It goes by the newest route that was recorded. Lanes say who takes part since the job's
// beginning, and those are asked, too. Whoever was recorded to take part and has not begun does so
// now, and every client is told the route and the staleness as a whole, which it may know. What
// clients have heard of a route lanes have heard before (conclude). A client that knows a newer one
// than that all the same ends the job by name.
//
// Its shell gives it the next term, starts and drives it as any controller, and has every node say
// once more that it is ready: whoever is does so to each controller. Then the controller asks the
// lanes what they hold, replays the records through the driver, tells the lanes that are behind
// what the others have, dispatches once more what was out, and commits what is held whole. Nothing
// is emitted twice: dispatches and epochs of the replay are not, and a client takes no notice of a
// unit that it knows. A flush of which a part is missing is its client's matter, as always.
//
// Nodes that the one before had lost are lost again: at once, if a lane was told. A job that was
// ending ends again, by its records or as a lane was told (decided).
func Recover(job core.Job, opt Options, from Saved) (*Controller, error) {
	c := New(job, opt)
	if err := c.restore(from); err != nil {
		return nil, err
	}
	c.roster.Expect()
	c.timeless = true
	c.recovery = &recovery{Takeover: takeover.New(job.Controller, c.cfg.Term, from.Commit, len(c.roster.Lanes()))}
	return c, nil
}

// takeHolding takes what a lane holds, and its promise.
func (c *Controller) takeHolding(from wire.Address, m *wire.Holding, fx *Effects) {
	i, r := slices.Index(c.roster.Lanes(), from), c.recovery
	switch {
	case i < 0 || m.Term != c.cfg.Term:
		return
	case r == nil:
		c.log.Confirm(m.Last)
		if !c.ending.Begun() {
			c.log.TakeAnswer(from, m.Last)
		}
		return
	case c.ending.Begun():
		r.TakeHolding(i, m)
		c.endAdded(m, fx)
		return
	}
	c.waits.Restart(c.nowMillis)
	r.TakeHolding(i, m)
	c.askAdded(m, fx)
	r.Hear(m)
	r.Excuse(m.Adopted, c.roster)
	c.advance(fx)
}

// decided does again what the one before had decided: who was declared gone is, and a job that had
// failed does. One that had finished, or was interrupted, comes to the same end by its records. A job
// that has failed since fails now, when all lanes have the same records and are known, so that its
// audit is whole: a lane that is behind takes what it holds for counted where it was sent first.
func (c *Controller) decided(r *recovery, fx *Effects) {
	for _, n := range r.Fenced() {
		if r.End() == nil && !planted.On("fence-forgotten") {
			c.lose(n, declaredGone(n), false, fx)
		}
	}
	if end := r.End(); end != nil && !c.ending.Begun() && c.claims.Outstanding() > 0 {
		c.end(&Outcome{Kind: end.Kind, Reason: end.Reason}, fx)
	}
	if r.failed != nil && !c.ending.Begun() && c.claims.Outstanding() > 0 {
		c.end(r.failed, fx)
	}
}

// declaredGone is why a node is lost that the previous controller had lost.
func declaredGone(n bellows.NodeID) string {
	return fmt.Sprintf("node %d is gone: the controller before has declared it so", n)
}

// advance takes the next step of the recovery. When all records have come, the controller has what it needs.
func (c *Controller) advance(fx *Effects) {
	switch complete, err := c.recovery.Advance(c.roster, &fx.Outbox); {
	case err != nil:
		c.end(&Outcome{Kind: bellows.Lost, Reason: err.Error()}, fx)
	case complete:
		c.recovered(fx)
	}
}

// takeTail takes records that a lane has kept.
func (c *Controller) takeTail(from wire.Address, m *wire.Records, fx *Effects) {
	r := c.recovery
	if c.ending.Begun() || r == nil || !r.Awaits(from, c.roster) {
		wire.Free(m)
		return
	}
	c.waits.Restart(c.nowMillis)
	switch read, breach := r.TakeTail(from, m); {
	case breach != nil:
		c.lose(from.Node, breach.Error(), true, fx)
	case read:
		c.advance(fx)
	}
}

// recovered goes on where the one before has ended: it replays, and then makes up for what was under way.
func (c *Controller) recovered(fx *Effects) {
	r := c.recovery
	if o := c.replay(fx); o != nil {
		c.end(o, fx)
	}
	if told := c.cfg.TellFrom; told > c.log.Number()+1 && !c.ending.Begun() && !planted.On("told-and-lost") {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: the controller before has "+
			"told of record %d, and no lane has more than %d", told-1, c.log.Number())}, fx)
	}
	if r.driver != nil && !c.ending.Begun() {
		c.end(&Outcome{Kind: bellows.Bug, Err: r.driver,
			Reason: "the job cannot be recovered: the driver does not do again what it did"}, fx)
	}
	if c.ending.Begun() {
		return
	}
	c.recovery, c.begun = nil, true
	c.log.Confirm(r.UpTo())
	fx.Route = c.roster.Route()
	c.catchUp(r, fx)
	c.partAll(r, fx)
	c.sendRecords(fx)
	c.roster.VoidCopies(&fx.Outbox)
	for _, n := range c.roster.Removed() { // the previous controller may have reported it, without effect
		fx.Buried = append(fx.Buried, Buried{Node: n, Reason: declaredGone(n), Again: true})
	}
	c.agenda.Announced()
	for _, a := range append(slices.Clone(c.roster.Clients()), c.roster.Leavers()...) {
		if a.Role == wire.Client && !planted.On("client-not-told-again") {
			c.welcome(a, c.roster.Whole(), fx)
		}
	}
	if c.decided(r, fx); !c.ending.Begun() && !planted.On("dispatch-not-repeated") {
		c.claims.RedispatchAll()
		c.waits.Restart(c.nowMillis)
	}
	for _, d := range append(r.Whole(), r.Kept()...) {
		c.takeDone(d.From, d.Done, fx)
	}
	r.Free()
	if !c.ending.Begun() && c.claims.Outstanding() > 0 { // else it has ended before somebody wanted out
		c.drain()
	}
}
