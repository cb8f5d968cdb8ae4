package coord

import (
	"cmp"
	"fmt"

	"bellows"
	"bellows/core/jobend"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Controller is the state of one job: the coordinator of the commit protocol, the other half of the
// application's driver, and the one who says who takes part.
//
// It waits for all nodes to be ready, then trains, is ending (every actor is to say Closed),
// collects the state if the job has finished, and is over when its Outcome is out. One that follows
// another asks every lane first (recovery), and numbers nothing before all have promised its term.
//
// Invariants, and what holds them:
//
//   - Numbers have no gaps, and each is of one record that every lane gets, in order: P1 of the
//     simulation.
//   - A flush counts if every unit of it is its split's next and was dispatched:
//     TestWorkThatWasNotDispatchedIsRefused, TestAnOverlapEndsTheJob,
//     TestUnitsCountInTheOrderOfDispatch; once:
//     TestADoneThatComesAgainIsKnown.
//   - Whatever changes what it does next is a record, or follows from records: a controller that has
//     them dispatches the same (TestNumberingWaitsForEveryPromise, TestEpochsAppearOnce,
//     train/traintest.CanBeSaved of every driver).
//   - What leaves in a step leaves records first, then routes, then dispatches, which rely on both
//     (conclude). The simulation finds the planted bug route-told-first.
//   - It declares nobody gone for a silence through which it slept itself:
//     TestAControllerThatSleptBlamesNobody.
//   - Whom it waits for is named after a while, and given up at last:
//     TestActorDelayingTheEndIsNamed, TestEndlessTaskIsNamedAndEndsJob, P8 of the
//     simulation.
//
// It has no lock: one goroutine at a time steps it. Turned down: a record of the driver's state
// instead of a replay, which is as large as the splits are many, and until all lanes had it none
// could free what is before it (docs/decisions/0032).
type Controller struct {
	training
	timeless bool // it follows another, and does not know the time
}

// Start lets the driver dispatch its first tasks, or dispatches those that a saved run had left, when all
// nodes are ready.
func (c *Controller) Start(fx *Effects) {
	fx.Era = c.cfg.Era
	c.opened = true
	c.begin(fx)
	c.conclude(fx)
}

// begin dispatches the first tasks, if nobody is waited for and it has not been done. One that
// follows another asks the lanes instead, and begins when it knows what they know.
func (c *Controller) begin(fx *Effects) {
	if c.begun || !c.opened || c.ending.Begun() {
		return
	}
	if c.recovery != nil {
		if c.membership.AllReady() {
			if !c.recovery.ready {
				c.recovery.ready = true
				c.waits.Restart(c.nowMillis)
			}
			c.ask(fx)
		}
		c.advance(fx)
		return
	}
	if !c.membership.AllReady() {
		return
	}
	c.begun = true
	c.drain()
	c.dispatchFirst(fx)
}

// takeReady lets the job begin when the last node is ready. A node that has made another job ends this one.
func (c *Controller) takeReady(n bellows.NodeID, job bellows.Fingerprint, fx *Effects) {
	c.membership.Ready(n)
	if want := c.cfg.Fingerprint; want != (bellows.Fingerprint{}) && job != want && !c.ending.Begun() {
		reason := fmt.Sprintf("node %d has made another job than node %d: what differs is %s",
			n, c.cfg.Controller.Node, want.Differs(job))
		c.end(&Outcome{Kind: bellows.Config, Reason: reason}, fx)
	}
	c.begin(fx)
}

// Step takes messages in the order in which they arrived. What follows from all of them leaves at
// its end (conclude), so that a batch of dones makes one message of records for each lane.
func (c *Controller) Step(batch []wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	for _, e := range batch {
		if !e.IsOfEra(c.cfg.Era) || c.membership.IsRemoved(e.From.Node) && !planted.On("lost-heard") {
			continue
		}
		c.membership.Heard(e.From.Node)
		switch m := e.Message.(type) {
		case *wire.Done:
			c.takeDone(e.From, m, fx)
		case *wire.Computing:
			c.claims.TakeComputing(m, c.nowMillis)
		case *wire.Recalled:
			c.takeRecalled(e.From, m, fx)
		case *wire.Failed:
			c.fail(e.From, m, fx)
		case *wire.Ready:
			c.takeReady(e.From.Node, m.Fingerprint, fx)
		case *wire.Complaint:
			if m.Breach || m.Node == e.From.Node { // no reason is better
				c.lose(m.Node, m.Reason, m.Breach, fx)
			} else {
				c.membership.Accuse(e.From.Node, m.Node, m.Reason, c.cfg.Times.Complaint)
			}
		case *wire.Holding:
			c.takeHolding(e.From, m, fx)
		case *wire.Records:
			c.takeTail(e.From, m, fx)
		case *wire.Closed:
			c.takeClosed(e.From, m, fx)
		case *wire.Adopted:
			c.takeAdopted(m.List, fx)
		case *wire.Prepared:
			c.takePrepared(e.From, m, fx)
		case *wire.Shard:
			c.takeShard(e.From, m, fx)
		case *wire.Slab:
			c.takeState(e.From, c.ending.TakeSlab(e.From, m, c.nowMillis, &fx.Outbox), fx)
		case *wire.Collected:
			c.takeState(e.From, c.ending.TakeCollected(e.From, m, c.nowMillis), fx)
		}
	}
	c.conclude(fx)
}

// fail ends the job by the failure of a task or an actor. A controller that takes over finds out first which actors
// take part and what counts (decided).
func (c *Controller) fail(from wire.Address, m *wire.Failed, fx *Effects) {
	switch r := c.recovery; {
	case c.ending.Begun():
	case r != nil && !planted.On("failed-too-soon"):
		r.failed = cmp.Or(r.failed, jobend.Failure(from, m))
	default:
		c.end(jobend.Failure(from, m), fx)
	}
}

// Interrupt winds the job down to a point from which it can continue: clocks that have begun are
// finished, later tasks are left in the queue. A second one changes nothing.
func (c *Controller) Interrupt(fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.ending.Begun() {
		c.agenda.Interrupt()
	}
	if c.begun && !c.ending.Begun() {
		c.drain()
	}
}

// Tick tells the controller the time, and by node how many bytes have come from it so far (nil: that is not counted).
// A node that is silent for a lease is lost, and an actor that does not close in time is not waited for. Records that
// wait for their clock are sent now, so that none waits for longer than a tick. Call Tick until there is an outcome.
func (c *Controller) Tick(nowMillis int64, heard []uint64, fx *Effects) {
	fx.Era = c.cfg.Era
	c.nowMillis = nowMillis
	c.sendRecords(fx)
	c.confirm(fx)
	slept := c.membership.Tick(nowMillis, heard)
	c.waits.Skip(slept)
	c.ending.Skip(slept)
	c.membership.SkipWait(slept)
	c.cut.Skip(slept)
	switch {
	case c.timeless:
		c.timeless = false
		c.waits.Restart(nowMillis)
		c.ending.Restart(nowMillis)
	case c.opened && c.recovery != nil && !c.ending.Begun(): // a node that is not ready by now may have left
		c.ask(fx)
	}
	c.membership.Beat(c.cfg.Controller, &fx.Outbox)
	for !c.ending.Begun() || !planted.On("ending-unwatched") {
		loss, found := c.membership.Verdict(c.mayHaveLeft, c.spares)
		if !found {
			break
		}
		c.lose(loss.Node, loss.Reason, false, fx)
	}
	if c.ending.Finished() {
		return
	}
	for s := c.membership.NameSilent(); s != ""; s = c.membership.NameSilent() {
		fx.notice(s)
	}
	if !c.ending.Begun() {
		if c.recovery == nil {
			fx.notice(c.membership.NameLeaver(nowMillis, c.cfg.Times.Notice))
		}
		c.awaitCut(fx)
	}
	var sentence string
	var late *Outcome
	switch {
	case c.ending.Begun():
		fx.notice(c.ending.Await(nowMillis, c.membership, &fx.Outbox))
		c.proceed(fx)
	case c.Recovering():
		sentence, late = c.awaitLanes()
	case !c.begun:
		named, node, isLate := c.membership.NameAwaited()
		if fx.notice(named); isLate {
			c.lose(node.Node, node.Reason, false, fx)
		}
	case c.claims.Outstanding() > 0:
		sentence, late = c.awaitTasks()
	}
	if fx.notice(sentence); late != nil {
		c.end(late, fx)
	}
}
