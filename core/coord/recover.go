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

// Recover makes the controller that follows a lost one. The records that the lanes keep and, perhaps, a saved state
// remain: from is the last saved state that is covered (Covers), or the state that the job began with. The driver must
// not have done anything yet.
//
// It uses the newest recorded route. Lanes report the actors that joined since the job's beginning, and those are asked
// as well. An actor that was recorded and has not begun begins now, and every client receives the whole route and
// staleness, which it may know. Lanes learn of a route before clients do (conclude). If a client knows a newer route
// nevertheless, the job ends with an error that names it.
//
// Its shell gives it the next term, starts and drives it as any controller, and makes every node report again that it
// is ready; each node reports this to every controller. Then the controller asks the lanes what they hold, replays the
// records through the driver, sends to lanes that miss records what the others have, dispatches once more what was out,
// and commits what is held whole. Nothing is emitted twice: the replay dispatches nothing and emits no epoch, and a
// client ignores a unit that it knows. The client handles a flush with a missing part, as always.
//
// Nodes that the previous controller had lost are lost again: at once, if a lane knows. A job that was ending ends
// again, by its records or as a lane reports (decided).
func Recover(job core.Job, opt Options, from Saved) (*Controller, error) {
	c := New(job, opt)
	if err := c.restore(from); err != nil {
		return nil, err
	}
	c.membership.Expect()
	c.timeless = true
	c.recovery = &recovery{Takeover: takeover.New(job.Controller, c.cfg.Term, from.Commit, len(c.membership.Lanes()))}
	return c, nil
}

// takeHolding takes what a lane holds, and its promise.
func (c *Controller) takeHolding(from wire.Address, m *wire.Holding, fx *Effects) {
	i, r := slices.Index(c.membership.Lanes(), from), c.recovery
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
	r.Excuse(m.Adopted, c.membership)
	c.advance(fx)
}

// decided repeats the decisions of the previous controller: nodes that it declared gone, and a job that had failed. A
// job that had finished, or was interrupted, comes to the same end by its records. A job that has failed since fails
// only now, when all lanes have the same records and are known, so that its audit is complete: a lane that misses
// records counts what it holds as if it counted where it was sent first.
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

// declaredGone returns the reason for the loss of a node that the previous controller had lost.
func declaredGone(n bellows.NodeID) string {
	return fmt.Sprintf("node %d is gone: the controller before has declared it so", n)
}

// advance takes the next step of the recovery. When all records have come, the controller has what it needs.
func (c *Controller) advance(fx *Effects) {
	switch complete, err := c.recovery.Advance(c.membership, &fx.Outbox); {
	case err != nil:
		c.end(&Outcome{Kind: bellows.Lost, Reason: err.Error()}, fx)
	case complete:
		c.recovered(fx)
	}
}

// takeTail takes records that a lane has kept.
func (c *Controller) takeTail(from wire.Address, m *wire.Records, fx *Effects) {
	r := c.recovery
	if c.ending.Begun() || r == nil || !r.Awaits(from, c.membership) {
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

// recovered continues where the previous controller has ended: it replays, and then restores what was under way.
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
	fx.Route = c.membership.Route()
	c.catchUp(r, fx)
	c.partAll(r, fx)
	c.sendRecords(fx)
	c.membership.VoidCopies(&fx.Outbox)
	for _, n := range c.membership.Removed() { // the previous controller may have reported it, without effect
		fx.Buried = append(fx.Buried, Buried{Node: n, Reason: declaredGone(n), Again: true})
	}
	c.agenda.Announced()
	for _, a := range append(slices.Clone(c.membership.Clients()), c.membership.Leavers()...) {
		if a.Role == wire.Client && !planted.On("client-not-told-again") {
			c.welcome(a, c.membership.Whole(), fx)
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
	if !c.ending.Begun() && c.claims.Outstanding() > 0 { // else it ended before the interrupt
		c.drain()
	}
}
