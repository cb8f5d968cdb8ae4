package sim

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/admission"
	"bellows/sim/internal/await"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/failover"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/images"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/mirrors"
	"bellows/sim/internal/model"
	"bellows/sim/internal/moves"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/observe"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/stages"
	"bellows/sim/internal/steps"
	"bellows/sim/internal/verdict"
	"bellows/sim/internal/witness"
)

// observers look at a life of a job and check it. The world tells the list of every event; it asks the others for what they know.
type observers struct {
	list      observe.List
	job       *lifecycle.Watch
	states    *nodestate.Watch
	known     *lanewatch.Watch // what lanes have been sent
	stages    *stages.Watch
	ledger    *account.Watch
	moves     *moves.Watch
	await     await.Watch
	waits     await.Leader // what node 0 waits for
	flushes   *await.Clients
	witness   *witness.Watch
	failover  *failover.Watch
	admission *admission.Watch
	images    *images.Watch
	verdict   *verdict.Watch
	mirrors   *mirrors.Mirrors
}

// observe makes the observers of an attempt in the order in which they are called: an observer that asks another comes
// after it.
func (w *world) observe(states []*nodestate.Node) {
	lead := func() *shell.Lead { return w.lead }
	newest := func() *route.Route { return w.route }
	o, first := &w.observers, w.common.Route

	o.job = &lifecycle.Watch{Begins: w.begins}
	o.mirrors = &mirrors.Mirrors{Job: w.Job, Every: w.Mirrors, Must: w.Must}
	o.states = &nodestate.Watch{Trace: w.Trace, All: states}
	o.known = &lanewatch.Watch{Trace: w.Trace, Controller: func() bellows.Term { return w.failover.Term }}
	o.stages = new(stages.Watch)
	for range states {
		o.stages.Add()
	}
	o.moves = &moves.Watch{Trace: w.Trace, Coverage: w.coverage, Lanes: o.known, Step: w.meddle, Record: w.enters, Keep: w.shiftKept, Moved: w.moved}
	o.moves.Begin(first)
	o.ledger = &account.Watch{Ledger: account.NewLedger(first), Trace: w.Trace, Coverage: w.coverage, History: &o.moves.History, Lanes: o.known,
		Nodes: o.states, Stages: o.stages, Width: func(t bellows.TableID) int { return w.Job.Schemas[t].Width }}
	o.flushes = &await.Clients{Trace: w.Trace, Coverage: w.coverage, Ledger: o.ledger, Route: newest, Lossy: &w.Loss.Done, Patience: noticeMax, Era: w.era()}
	o.witness = &witness.Watch{Witness: witness.New(w.Schedule, w.oracle, w.Violated), Trace: w.Trace, Era: w.era(), History: &o.moves.History, Ledger: o.ledger}
	o.failover = &failover.Watch{Trace: w.Trace, Coverage: w.coverage, View: failover.View{Ledger: o.ledger, Oracle: w.oracle, Life: o.job, First: w.common.Lanes,
		Knows: func() bool { return w.lead.Begun() }, Lanes: func() []wire.Address { return w.route.Lanes() }}}
	o.waits = await.Leader{Lead: lead, Life: o.job, Failover: o.failover, Oracle: w.oracle, Followed: &w.followedAt}
	o.admission = &admission.Watch{Trace: w.Trace, Coverage: w.coverage, Nodes: o.states, Life: o.job, Lead: lead}
	o.images = &images.Watch{Trace: w.Trace, Coverage: w.coverage, Oracle: w.oracle, Ledger: o.ledger, History: &o.moves.History, Lanes: o.known,
		Nodes: o.states, Life: o.job, Route: first, Job: w.Job, View: images.View{
			Kept: func() bellows.CommitNumber { return w.driver.Kept }, Newest: newest, CutShort: func() bool { return w.failover.CutShort },
			Removed: func(a wire.Address) bool { return slices.Contains(w.removed, a) }}}
	o.verdict = &verdict.Watch{Trace: w.Trace, Coverage: w.coverage, Schedule: w.Schedule, Life: o.job, Nodes: o.states, Lanes: o.known, Ledger: o.ledger,
		Moves: o.moves, Failover: o.failover, Oracle: w.oracle, Images: o.images, Ends: &w.faults.ends, View: verdict.View{
			Lead: lead, Driver: func() *driver.Driver { return w.driver }, Losses: func() int { return w.losses }, Tick: beatEvery}}
	events := &coverage.Watch{Coverage: w.coverage, Words: model.Words, Records: w.Limits.Coord.Records, Commits: w.Limits.Lane.Commitments,
		Divided: w.Job.Division, Handed: func(s bellows.SplitID) bellows.Clock { return w.driver.Handed(s) },
		Buried: func(n bellows.NodeID) bool { return w.nodes[n].Buried }}
	w.steps = &steps.Life{Schedule: w.Schedule, Route: first, Witness: o.witness.Witness, Coverage: w.coverage, Violated: w.Violated,
		Leased: func(n bellows.NodeID) { w.stages.Enter(n, schedule.LeaseHeld) }}
	if w.willInvade() {
		w.faults.hostile = new(hostile.Memory)
		o.list.Add(w.faults.hostile)
	}
	o.list.Add(&w.hooks, o.known, o.moves, events, o.stages, o.ledger, o.flushes, o.witness, hostile.Recorder{Past: &w.faults.memory, Rng: w.Rng}, o.job, o.states,
		model.Watch{Oracle: w.oracle, Must: w.Must}, &w.cuts, o.failover, o.verdict, o.images, o.mirrors, reactions{w})
}

// before tells the observers what an actor is about to take. Actors must ignore a controller of an earlier term.
func (w *world) before(e wire.Envelope) {
	if t := e.Term(); t > 0 && t < failover.FirstTerm && e.From == wire.ControllerAt() {
		return
	}
	w.list.Before(e)
}

// begins lets happen what the schedule has, from the first task on.
func (w *world) begins() {
	w.grow()
	w.shift()
	w.reshapes()
	w.host(false)
}

// inStage reports whether a node is in a stage.
func (w *world) inStage(n bellows.NodeID, p schedule.Stage) bool {
	switch p {
	case schedule.TheEnd:
		return w.job.Ending && w.job.Outcome == nil
	case schedule.Collecting:
		return w.lead.Collecting()
	case schedule.Joining:
		return !w.job.Begun && !w.job.Ending
	}
	return w.stages.IsIn(n, p)
}

// reactions are what messages cause in the world itself: what it may lose from then on, and a controller that is lost at a message.
type reactions struct{ w *world }

// Posted allows what nodes and controllers report.
func (r reactions) Posted(e wire.Envelope) {
	w := r.w
	switch m := e.Message.(type) {
	case *wire.Records:
		w.moved()
	case *wire.End:
		if !m.Parts {
			w.faults.ends.ExpectLosses(m)
		}
	case *wire.Complaint:
		if n := w.nodes[e.From.Node]; m.Node == n.Number && !m.Breach {
			w.mayLose(n)
			n.gaveUp(m.Reason)
		}
	}
}

// Delivered loses the controller when a node has reported that it is ready, if the schedule has that.
func (r reactions) Delivered(e wire.Envelope) {
	if _, ready := e.Message.(*wire.Ready); ready {
		r.w.breakWord(e.From.Node)
	}
}
