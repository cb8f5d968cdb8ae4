package sim

import (
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/failover"
	"bellows/sim/internal/fresh"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
)

// One controller of a life may be thrown away at any step, or between two messages of a step, and another follows it by what the
// lanes hold. Node 0 stays: only the state is lost, or its process with it. The controller that follows gets the newest state that
// every lane covers, or else that with which the life began; what its driver knew and drivers do not save is lost. The world only
// repeats what nodes would: that they are ready, which nodes they have lost, and that their tasks have ended. It also asks again for
// what was asked of the controller before and is in no record (regrow). Package failover keeps what is known of all that.

// recorded returns the newest record that a lane has, or finds in its mail. It ignores messages of earlier controllers,
// which a lane refuses, and lanes that no other lane knows: no controller asks a lane that was added by a record that
// only this lane has.
func (w *world) recorded() (last bellows.CommitNumber) {
	for more := true; more; {
		known := last
		for _, l := range w.lanes {
			if !slices.Contains(w.common.Lanes, l.Address) && !slices.Contains(w.moves.RouteAt(known).Lanes(), l.Address) {
				continue
			}
			last = max(last, l.Applied())
			for _, m := range w.actor(l.Address).Inbox {
				if r, ok := m.Envelope.Message.(*wire.Records); ok && len(r.List) > 0 && !m.Forged && r.Term >= l.Term {
					last = max(last, r.List[len(r.List)-1].Number)
				}
			}
		}
		more = last > known
	}
	return last
}

// controllerOptions returns those of every controller.
func (w *world) controllerOptions() coord.Options {
	opt := coord.Options{Term: w.failover.Term, Driver: w.driver, Limits: w.Limits.Coord, Fingerprint: w.ownJob(), Confirms: w.failover.Confirm}
	if w.failover.Another || w.failover.Untrue || w.failover.Confirm && w.failover.Later() {
		opt.TellFrom = w.failover.Told + 1
	}
	return opt
}

// beginFailover notes how a life begins.
func (w *world) beginFailover() {
	f := w.failover
	f.Term, f.Barrier, f.First.Driver = failover.FirstTerm, w.oracle.Barrier, *w.driver
	f.Confirm = w.KeySeed%4 == 0 && w.Failovers > 0 && !slices.ContainsFunc(slices.Concat(w.common.Lanes, w.common.Clients), func(a wire.Address) bool { return a.Node == 0 })
}

// mayLoseController reports whether the controller may be lost now: until all is over.
func (w *world) mayLoseController() bool {
	return w.job.Outcome == nil && !w.nodes[0].Done() && w.nodes[0].PausedUntil <= w.Now && !w.lead.Recovering()
}

// loseController loses the controller, at once or in the midst of its next words; or, of a node that has nothing else, its process.
func (w *world) loseController() {
	if n := w.nodes[0]; len(n.actors) == 1 && !w.joinable() && w.Chances.IntN(2) == 0 {
		w.loseProcess(n)
		return
	}
	if w.Chances.IntN(2) == 0 {
		w.failover.Break.Due = true
		return
	}
	w.follow()
}

// loseProcess replaces the process of node 0, which takes a while to start. Messages under way to the previous process
// or from it are lost, in any combination.
func (w *world) loseProcess(n *node) {
	w.Note("node 0 is another process")
	w.coverage.Hit("followed-by-a-process")
	for p := range n.pairs.Each() {
		p.Peer().Severed = p.Peer().Severed || !p.Stands() // it may have waited long already
		p.Reborn()
	}
	n.actors[0].Clear()
	last, made := w.recorded(), w.route.Version()
	w.oracle.Forget(last)
	w.moves.Forget(last)
	w.failover.Forked = w.failover.Forked || w.moves.RouteAt(last).Version() < made
	if w.failover.Untrue = w.failover.Told > last; w.failover.Untrue && w.failover.Confirm {
		w.Violated("P1: it was told what counts by record %d, and no lane has more than %d", w.failover.Told, last)
	}
	w.faults.ends.Expect("the job cannot be recovered: the controller before has told")
	w.faults.ends.Expect("the current controller knows")
	w.failover.Another = true
	w.failover.Epochs.Again()
	w.follow()
	w.failover.Another = false
	w.starts(n, w.Chances.Int64N(schedule.LeaseMillis))
}

// breaks loses the controller after some of its messages have left, and reports whether it did. The first of them
// leave.
func (w *world) breaks() bool {
	f := w.failover
	list := w.fx.Envelopes
	if !f.Break.Due || len(list) == 0 {
		return false
	}
	noOwn := f.NoOwn
	f.Break = failover.Break{}
	if !w.mayLoseController() || w.fx.Outcome != nil {
		return false
	}
	w.coverage.Hit("followed-in-mid-word")
	f.Epochs.Lost(len(w.fx.Epochs))
	said := 1
	if !noOwn {
		said += w.Chances.IntN(len(list))
	}
	w.fx.Envelopes = slices.DeleteFunc(list, func(e wire.Envelope) bool { said--; return said <= 0 && e.From == wire.ControllerAt() })
	w.post(w.nodes[0], &w.fx.Outbox)
	w.follow()
	return true
}

// follow lets another controller follow the one that there is.
func (w *world) follow() {
	f := w.failover
	f.Term++
	if f.Confirm {
		f.Epochs.Again()
	}
	w.Note("controller of term %d follows", f.Term)
	f.Wanted, w.followedAt = f.Wanted || w.job.Ending || w.lead.Ending() || f.Asked.Commit > 0 || w.lead.Cutting() || w.lead.CutDue(), w.Now
	w.coverage.Hit("controller-followed")
	w.coverage.HitIf("ending-followed", w.job.Ending)
	for _, l := range w.lanes {
		l.GaveAt = 0
	}
	w.askAgain()
	w.admission.Followed()
	w.moved()
	w.fx = coord.Effects{}
	from := f.Newest()
	if f.Covered.Commit > 0 {
		w.coverage.Hit("followed-from-a-save")
		w.coverage.HitIf("saved-in-mid-clock", len(from.Open) > 0)
	}
	if !w.oracle.Knows(model.Counts) { // the previous controller may have meant to change it
		w.oracle.Barrier, w.oracle.BarrierFrom = f.Barrier, 0
	}
	w.driver = driver.New(w.Schedule, w.oracle, w.Violated)
	var err error
	if f.Another {
		w.lead, err = shell.FollowLead(w.common, w.controllerOptions(), from.Saved, len(w.nodes))
	} else {
		w.lead, err = shell.RecoverLead(w.lead, w.common, w.controllerOptions(), from.Saved)
	}
	if err != nil {
		w.Violated("no controller follows: %v", err)
		return
	}
	w.driver.Follow(&from.Driver)
	w.pending = append(w.pending, w.drive()...)
	f.Fresh, err = fresh.New(w.common, from.Saved, f.Term)
	w.Must(err)
	if f.Another {
		w.nodes[0].checker = f.Fresh.Checker
		for _, n := range w.nodes[1:] {
			for _, a := range n.actors {
				w.nodes[0].checker.Meet([]wire.Address{a.Address})
			}
		}
	}
	if f.Wanted && w.Limits.Lane.Tail > 0 {
		w.faults.ends.Expect("the job cannot be recovered: records from")
	}
	f.Asked = failover.Savepoint{}
	w.lead.Start(&w.fx)
	if w.job.Interrupted {
		w.lead.Interrupt(&w.fx)
	}
	for _, l := range w.nodes[0].lanes {
		if !slices.Contains(w.common.Lanes, l.Address) {
			w.lead.Host(l.Address, &w.fx)
		}
	}
	if w.nodes[0].Closed {
		w.lead.TasksEnded(&w.fx)
	}
	w.obey()
	for _, n := range w.nodes {
		if n.Number == 0 || !f.Another { // else it hears of it by its connection
			w.After(1+w.Chances.Int64N(20), n, func() { n.Followed(0) })
		}
	}
	for range 3 {
		w.sendOldRecord(w.lanes[w.Chances.IntN(len(w.lanes))], f.Term-1)
	}
	w.failFollowed()
}

// failFollowed lets a task fail in some of the jobs that have grown, while the controller that follows asks what the lanes hold, and does not know all of these yet.
func (w *world) failFollowed() {
	if w.job.Ending || len(w.route.Lanes()) <= len(w.common.Lanes) || w.Chances.IntN(8) > 0 {
		return
	}
	for _, k := range w.workers {
		if k.victim() != nil {
			w.inject(schedule.Plan{Fault: "kill", Node: k.node.Number})
			return
		}
	}
}

// Followed makes a node report to another controller that it is ready, and which nodes it has lost.
func (n *node) Followed(bellows.NodeID) {
	if n.Number == 0 {
		for p := range n.pairs.Each() {
			if reason, told := p.Lost(); told {
				n.Disconnected(p.Peer().Number, reason)
			}
		}
	} else if n.shell != nil && !n.Done() {
		n.shell.Followed(&n.fx)
		n.obey()
	}
}

// sendOldRecord lets a lane hear the controller before, once it has heard of the one that follows: it must refuse that.
func (w *world) sendOldRecord(l *lane, old bellows.Term) {
	w.After(1+w.Chances.Int64N(200), l.node, func() {
		if l.Term <= old || l.Closed {
			return
		}
		before := l.Refused()
		m := wire.New[wire.Records]()
		m.Term = old
		m.AppendControl(l.Applied()+1, bellows.Control{Kind: bellows.KeepTables})
		var out wire.Outbox
		l.Step([]wire.Envelope{{From: wire.ControllerAt(), To: l.Address, Message: m, Era: w.era()}}, &out)
		w.post(l.node, &out)
		if l.Refused() != before+1 {
			w.Violated("P1: %v takes a record of term %d, and was told of term %d", l.Address, old, l.Term)
		}
		w.coverage.Hit("old-term-refused")
	})
}

// saveController saves the controller now and then, and asks the lanes whether they have come so far.
func (w *world) saveController() {
	f := w.failover
	f.Wanted = f.Wanted || w.lead.Cutting() || w.lead.CutDue()
	if w.Failovers == 0 || w.job.Ending || w.job.Outcome != nil {
		return
	}
	if f.Asked.Commit > 0 && w.lead.Covered() >= f.Asked.Commit {
		w.lead.LetGo(f.Asked.Commit) // records after that save may fill a tail by now
		f.Covered, f.Asked, f.Wanted = f.Asked, failover.Savepoint{}, w.lead.Cutting() || w.lead.CutDue()
	}
	for _, l := range w.lanes {
		f.CheckTail(l.Address, l.Oldest())
	}
	if w.Chances.IntN(6) >= w.Job.Saves() && (w.Cuts > 0 || !w.lead.CutDue()) || f.Asked.Commit > 0 {
		return
	}
	if s, ok := w.lead.Save(); ok {
		f.Asked = failover.Savepoint{Saved: s, Driver: *w.driver}
		w.lead.Covers(s.Commit, &w.fx)
		w.obey()
	}
}
