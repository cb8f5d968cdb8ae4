package coord

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/finish"
	"bellows/core/planted"
	"bellows/core/takeover"
	"bellows/link/wire"
)

// recovery is a controller that follows another one and does not know yet how far that had come. Package takeover
// finds it out. It numbers nothing before (TestNothingIsNumberedBeforeEveryPromise): whatever reaches it meanwhile
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

// ask asks the lanes of nodes that are ready what they hold, each once; of a job that has failed all.
func (c *Controller) ask(fx *Effects) {
	fx.Met = append(fx.Met, c.recovery.Ask(c.roster, c.ending.Begun(), &fx.Outbox)...)
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
	c.chooseTail(fx)
}

// mayHaveLeft reports whether a node is perhaps one that has left, as a lane may say that has not answered yet.
func (c *Controller) mayHaveLeft(n bellows.NodeID) bool {
	return c.recovery != nil && !c.ending.Begun() && !planted.On("leaver-judged") && c.recovery.MayHaveLeft(n, c.roster)
}

// askAdded asks the lanes that have begun since, as a lane says.
func (c *Controller) askAdded(m *wire.Holding, fx *Effects) {
	fx.Met = append(fx.Met, c.recovery.EnrolAdded(m, c.roster)...)
	c.ask(fx)
}

// decided does again what the one before had decided: who was declared gone is, and a job that had
// failed does. One that had finished, or was interrupted, comes to the same end by its records. A job
// that has failed since fails now, when all lanes have the same records and are known, so that its
// audit is whole: a lane that is behind takes what it holds for counted where it was sent first.
func (c *Controller) decided(r *recovery, fx *Effects) {
	for _, n := range r.Fenced() {
		if r.End() == nil && !planted.On("fence-forgotten") {
			c.lose(n, fmt.Sprintf("node %d is gone: the controller before has declared it so", n), false, fx)
		}
	}
	if end := r.End(); end != nil && !c.ending.Begun() && c.claims.Outstanding() > 0 {
		c.end(&Outcome{Kind: end.Kind, Reason: end.Reason}, fx)
	}
	if r.failed != nil && !c.ending.Begun() && c.claims.Outstanding() > 0 {
		c.end(r.failed, fx)
	}
}

// chooseTail chooses the records to read, and asks for the first of them, as soon as all lanes have answered.
func (c *Controller) chooseTail(fx *Effects) {
	switch chosen, err := c.recovery.ChooseTail(c.roster); {
	case err != nil:
		c.end(&Outcome{Kind: bellows.Lost, Reason: err.Error()}, fx)
	case chosen:
		c.askTail(fx)
	}
}

// askTail asks a lane for the next of the records to read. When all have come, the recovery has what it needs.
func (c *Controller) askTail(fx *Effects) {
	switch complete, err := c.recovery.AskTail(c.roster, &fx.Outbox); {
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
		c.askTail(fx)
	}
}

// recovered goes on where the one before has ended: it replays, and then makes up for what was under way.
func (c *Controller) recovered(fx *Effects) {
	r := c.recovery
	c.replay(fx)
	if told := c.cfg.TellFrom; told > c.log.Number()+1 && !c.ending.Begun() && !planted.On("told-and-lost") {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: the controller before has told of record %d, and no lane has more than %d", told-1, c.log.Number())}, fx)
	}
	if r.driver != nil && !c.ending.Begun() {
		c.end(&Outcome{Kind: bellows.Bug, Err: r.driver, Reason: "the job cannot be recovered: the driver does not do again what it did"}, fx)
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
	for _, n := range c.roster.Removed() { // whoever heard it from the controller before may not have acted on it
		fx.Buried = append(fx.Buried, Buried{Node: n, Reason: fmt.Sprintf("node %d is gone: the controller before has declared it so", n), Again: true})
	}
	c.agenda.announced = len(c.agenda.staleness)
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

// replay lets the driver do again what it has done, with nothing emitted. The records are what it
// was told, and what it asked for.
func (c *Controller) replay(fx *Effects) {
	r := c.recovery
	tail, saved := r.Tail(), c.log.Number()
	for i := range tail {
		if tail[i].Number > saved && !planted.On("tail-unmeasured-after-failover") {
			c.log.Measure(&tail[i])
		}
	}
	last := max(saved, r.Next()-1)
	if saved == 0 {
		if one := r.At(1); one != nil && one.Control.Kind == bellows.Drain && one.Control.Clock == bellows.NoClock {
			c.log.Advance()
			c.agenda.draining = true // before anything was dispatched
		}
		c.dispatchFirst(fx)
	}
	for c.log.Number() < last && r.driver == nil && !c.ending.Begun() {
		one := r.At(c.log.Number() + 1)
		switch one.Control.Kind {
		case bellows.NoControl:
			c.replayFlush(one, fx)
		case bellows.Drain:
			c.log.Replay(one)
			c.agenda.draining = true
		case bellows.CutTables:
			c.log.Replay(one)
		case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane, bellows.RemoveClient, bellows.LoseClient:
			c.replayRoute(one)
		default:
			r.driver = fmt.Errorf("record %d is %+v, for which it has not asked", one.Number, one.Control)
		}
	}
}

// replayFlush takes the record of a flush that counts.
func (c *Controller) replayFlush(one *wire.Record, fx *Effects) {
	c.log.Replay(one)
	c.cut.Gather(one.Pairs, one.Results, c.agenda.staleness)
	c.roster.AddSent(one.Flush.Client, one.Sent)
	if c.tells() {
		c.log.AddVisits(one.Results, &fx.Told)
	}
	for i := range one.Results {
		if err := c.claims.Replay(one.Results[i].Unit); err != nil {
			c.recovery.driver = fmt.Errorf("record %d: %w", one.Number, err)
			return
		}
	}
	c.tellDriver(one.Flush.Client, one.Results, fx)
}

// tells reports whether the visits of the newest record are reported. During a replay, those are not that the
// controller before has reported for certain.
func (c *Controller) tells() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.log.Number() >= c.cfg.TellFrom
}

// tellsEpochs reports whether an epoch that ends with the newest record is reported. An epoch is reported after the
// visits up to its record, and the controller before may have reported only these. To report an epoch twice is
// harmless.
func (c *Controller) tellsEpochs() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.log.Number()+1 >= c.cfg.TellFrom
}

// replayRoute takes the record of a change of the route.
func (c *Controller) replayRoute(one *wire.Record) {
	c.log.Replay(one)
	change := &one.Control
	if planted.On("replay-forgets-route") {
		return
	}
	if err := c.roster.Replay(*change, c.nowMillis); err != nil {
		c.recovery.driver = fmt.Errorf("record %d: %w", c.log.Number(), err)
		return
	}
	if change.Kind == bellows.MoveSplit {
		c.claims.Rehome(change.Split, change.Node, c.log.Number())
	}
}

// partAll counts those who were removed no more among the job's; those whom an heir has are not
// leaving either, and their nodes may go.
func (c *Controller) partAll(r *recovery, fx *Effects) {
	for _, a := range c.roster.SettleRemoved(r.Adopted(), c.nowMillis) {
		c.log.Remove(a)
	}
	for _, one := range r.Adopted() {
		if one.Kind != bellows.LoseClient && !planted.On("left-not-told-again") {
			c.vacate(one.Node, fx)
		}
	}
}

// replayMove takes the record of a split that moved between two of its clocks: it stands before
// what follows the dispatch of the second.
func (c *Controller) replayMove(s bellows.SplitID) {
	if !c.claims.Rests(s) {
		return // it moved since what was out of it was given back
	}
	if one := c.recovery.At(c.log.Number() + 1); one != nil && one.Control.Kind == bellows.MoveSplit && one.Control.Split == s {
		c.replayRoute(one)
	}
}

// repeats reports whether a control record is one that the driver has asked for before.
func (c *Controller) repeats(r bellows.Control) bool {
	if c.recovery == nil {
		return false
	}
	known, err := c.recovery.Repeats(c.log.Number()+1, r)
	if err != nil {
		c.recovery.driver = errors.Join(c.recovery.driver, err)
	}
	return known
}

// catchUp sends lanes that are behind what the others have, and those that have not begun the whole route.
func (c *Controller) catchUp(r *recovery, fx *Effects) {
	for i, l := range c.roster.Lanes() {
		switch {
		case planted.On("lane-left-behind"):
		case r.Fresh(i, c.roster):
			c.welcome(l, c.roster.Whole(), fx)
		default:
			r.CatchUp(i, c.roster, c.cfg.Limits.Records, &fx.Outbox)
		}
	}
}

// awaitLanes names the lanes that keep the controller from going on where the one before has ended,
// and gives up in the end.
func (c *Controller) awaitLanes(fx *Effects) {
	waited, name := c.waits.Look(c.nowMillis, c.cfg.Times.Notice)
	late := waited > c.cfg.Times.Task
	if !name && !late {
		return
	}
	open := c.recovery.Awaited(c.roster)
	if late {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: %v has not said what it holds for %.1f s", open[0], float64(waited)/1000)}, fx)
		return
	}
	if s := finish.NameWait("the controller has waited %.1f s for what %s holds, and gives up after %.1f s",
		waited, open, c.cfg.Times.Task); s != "" {
		fx.Notices = append(fx.Notices, s)
	}
}
