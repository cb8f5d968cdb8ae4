package sim

import (
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/fresh"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
)

// failover is what the world knows of the controllers of a life: one may be thrown away at any step, or in the midst of what it says, and another
// follows it by what the lanes hold. Node 0 goes on: it is the state that is lost.
//
// A controller is lost between two steps (loseController), or with a beginning of what its last step wanted said (broken): then the records that were cut off
// were never numbered as far as anybody knows, and a decision that one lane has heard must be found there. The one that follows gets the state that
// was saved last, if every lane has said that it covers that, and else what the life began with; what its driver knew and drivers do not save goes with it. What it
// finds is the core's to do. The world only repeats what nodes would: that they are ready, of whom they have lost, and that their tasks have
// ended; and asks again for what was asked of the one before and is in no record (regrow).
type failover struct {
	term     bellows.Term         // of the newest
	known    bellows.Term         // of the newest that knows what was recorded
	begun    savepoint            // with which the life began
	saved    savepoint            // the newest that every lane covers
	asked    savepoint            // of which they were asked
	fresh    fresh.Checker        // of a process that would begin to lead with the newest
	broken   bool                 // the next words of the controller do not all leave
	unsaid   bool                 // and none of its own does
	heard    int                  // words of what lanes hold
	cutShort bool                 // the job ended before the controller knew what was recorded
	another  bool                 // the next is of another process
	confirms bool                 // what is told a lane has, as wherever a process may follow; in most schedules it need not, as where that lane has died
	told     bellows.CommitNumber // the newest record of which was told that it counts
	untrue   bool                 // of that nobody has the record
	wanted   bool                 // since it was last saved, a save was due or under way, or too late: lanes may drop records before one is done
	forked   bool                 // a route was lost with the process that made it, of which clients may have heard: what the next one says they may refuse

	barrier bool // that of the oracle, as the life began
	epochs  driver.Shown
}

// savepoint is a controller as it was saved, and what its driver knew that drivers do not save.
type savepoint struct {
	coord.Saved
	driver driver.Driver
}

// tells takes note of what node 0 has told of the job.
func (w *world) tells() {
	for _, v := range w.fx.Visits {
		w.failover.told = max(w.failover.told, v.Commit)
	}
	for _, e := range w.fx.Epochs {
		w.Must(w.failover.epochs.See(e.Number))
	}
}

// recorded is the newest record that a lane has, or finds in its mail: but for what a controller of the past has said, which it refuses, and of lanes that others know of. One that was added by a
// record that nobody else has nobody asks.
func (w *world) recorded() (last bellows.CommitNumber) {
	for more := true; more; {
		known := last
		for _, l := range w.lanes {
			if !slices.Contains(w.common.Lanes, l.address) && !slices.Contains(w.moves.History.At(known).Lanes(), l.address) {
				continue
			}
			last = max(last, l.Applied())
			for _, m := range w.actor(l.address).inbox {
				if r, ok := m.envelope.Message.(*wire.Records); ok && len(r.List) > 0 && !m.forged && r.Term >= l.term {
					last = max(last, r.List[len(r.List)-1].Number)
				}
			}
		}
		more = last > known
	}
	return last
}

// controllerOptions are those of every controller.
func (w *world) controllerOptions() coord.Options {
	opt := coord.Options{Term: w.failover.term, Driver: w.driver, Limits: w.Limits.Coord, Fingerprint: w.ownJob(), Confirms: w.failover.confirms}
	if w.failover.another || w.failover.untrue || w.failover.confirms && w.failover.term > term {
		opt.TellFrom = w.failover.told + 1
	}
	return opt
}

// begin takes note of how a life begins.
func (f *failover) begin(w *world) {
	f.term, f.barrier, f.begun.driver = term, w.oracle.Barrier, *w.driver
	f.confirms = w.KeySeed%4 == 0 && w.Failovers > 0 && !slices.ContainsFunc(slices.Concat(w.common.Lanes, w.common.Clients), func(a wire.Address) bool { return a.Node == 0 })
}

// resumes takes note of what the life before has left.
func (f *failover) resumes(w *world, s coord.State) {
	f.begun = savepoint{coord.Saved{State: s}, *w.driver}
}

// mayLoseController reports whether the controller may be lost now: until all is over.
func (w *world) mayLoseController() bool {
	return w.outcome == nil && !w.nodes[0].done() && w.nodes[0].pausedUntil <= w.Now && !w.lead.Recovering()
}

// loseController loses the controller, at once or in the midst of its next words; or, of a node that has nothing else, its process.
func (w *world) loseController() {
	if n := w.nodes[0]; len(n.actors) == 1 && len(w.Guests) == 0 && w.Chances.IntN(2) == 0 {
		w.loseProcess(n)
		return
	}
	if w.Chances.IntN(2) == 0 {
		w.failover.broken = true
		return
	}
	w.follow()
}

// loseProcess puts another process in the place of that of node 0, which takes a while to begin: whatever was under way to the one before or from it is lost, in any part.
func (w *world) loseProcess(n *node) {
	w.Note("node 0 is another process")
	w.coverage.Hit("followed-by-a-process")
	for p := range n.pairs.All() {
		p.To().severed = p.To().severed || !p.Stands() // it may have waited long already
		p.Reborn()
	}
	clear(n.actors[0].inbox)
	n.actors[0].inbox = n.actors[0].inbox[:0]
	last, made := w.recorded(), w.route.Version()
	w.oracle.Forget(last)
	w.moves.Forget(last)
	w.failover.forked = w.failover.forked || w.moves.History.At(last).Version() < made
	if w.failover.untrue = w.failover.told > last; w.failover.untrue && w.failover.confirms {
		w.Violated("P1: it was told what counts by record %d, and no lane has more than %d", w.failover.told, last)
	}
	w.faults.ends.May("the job cannot be recovered: the controller before has told")
	w.faults.ends.May("the controller of now knows")
	w.failover.another = true
	w.failover.epochs.Again()
	w.follow()
	w.failover.another = false
	w.starts(n, w.Chances.Int64N(schedule.LeaseMillis))
}

// breaks lets the controller be lost in the midst of its words, and reports whether it was. What leaves is a beginning of them.
func (f *failover) breaks(w *world) bool {
	list := w.fx.Envelopes
	if !f.broken || len(list) == 0 {
		return false
	}
	unsaid := f.unsaid
	f.broken, f.unsaid = false, false
	if !w.mayLoseController() || w.fx.Outcome != nil {
		return false
	}
	w.coverage.Hit("followed-in-mid-word")
	f.epochs.Lost(len(w.fx.Epochs))
	said := 1
	if !unsaid {
		said += w.Chances.IntN(len(list))
	}
	w.fx.Envelopes = slices.DeleteFunc(list, func(e wire.Envelope) bool { said--; return said <= 0 && e.From == wire.ControllerAt() })
	w.post(w.nodes[0], &w.fx.Outbox)
	w.follow()
	return true
}

// follow has another controller follow the one that there is.
func (w *world) follow() {
	f := &w.failover
	f.term++
	if f.confirms {
		f.epochs.Again()
	}
	w.Note("controller of term %d follows", f.term)
	f.wanted, w.followedAt = f.wanted || w.ending || w.lead.Ending() || f.asked.Commit > 0 || w.lead.Cutting() || w.lead.CutDue(), w.Now
	w.coverage.Hit("controller-followed")
	w.coverage.HitIf("ending-followed", w.ending)
	for _, l := range w.lanes {
		l.gaveAt = 0
	}
	w.askAgain()
	w.followGuests()
	w.moved()
	w.fx = coord.Effects{}
	from := &f.begun
	if f.saved.Commit > 0 {
		from = &f.saved
		w.coverage.Hit("followed-from-a-save")
		w.coverage.HitIf("saved-in-mid-clock", len(from.Open) > 0)
	}
	if !w.oracle.Knows(model.Counts) { // the one before may have meant to change it
		w.oracle.Barrier, w.oracle.BarrierFrom = f.barrier, 0
	}
	w.driver = driver.New(w.Schedule, w.oracle, w.Violated)
	var err error
	if f.another {
		w.lead, err = shell.FollowLead(w.common, w.controllerOptions(), from.Saved, len(w.nodes))
	} else {
		w.lead, err = shell.RecoverLead(w.lead, w.common, w.controllerOptions(), from.Saved)
	}
	if err != nil {
		w.Violated("no controller follows: %v", err)
		return
	}
	w.driver.Follow(&from.driver)
	f.fresh, err = fresh.New(w.common, from.Saved, f.term)
	w.Must(err)
	if f.another {
		w.nodes[0].checker = f.fresh.Checker
		for _, n := range w.nodes[1:] {
			for _, a := range n.actors {
				w.nodes[0].checker.Meet([]wire.Address{a.address})
			}
		}
	}
	if f.wanted && w.Limits.Lane.Tail > 0 {
		w.faults.ends.May("the job cannot be recovered: records from")
	}
	f.asked = savepoint{}
	w.lead.Start(&w.fx)
	if w.interrupted {
		w.lead.Interrupt(&w.fx)
	}
	for _, l := range w.nodes[0].lanes {
		if !slices.Contains(w.common.Lanes, l.address) {
			w.lead.Host(l.address, &w.fx)
		}
	}
	if w.nodes[0].closed {
		w.lead.TasksEnded(&w.fx)
	}
	w.obey()
	for _, n := range w.nodes {
		if n.id == 0 || !f.another { // else it hears of it by its connection
			w.After(1+w.Chances.Int64N(20), n, func() { n.Followed(0) })
		}
	}
	for range 3 {
		w.sendOldRecord(w.lanes[w.Chances.IntN(len(w.lanes))], f.term-1)
	}
	w.failFollowed()
}

// failFollowed lets a task fail in some of the jobs that have grown, while the controller that follows asks what the lanes hold, and does not know all of these yet.
func (w *world) failFollowed() {
	if w.ending || len(w.route.Lanes()) <= len(w.common.Lanes) || w.Chances.IntN(8) > 0 {
		return
	}
	for _, k := range w.workers {
		if k.victim() != nil {
			w.inject(schedule.Plan{Fault: "kill", Node: k.node.id})
			return
		}
	}
}

// Followed has a node tell another controller that it is ready, and of whom it has lost.
func (n *node) Followed(bellows.NodeID) {
	if n.id == 0 {
		for p := range n.pairs.All() {
			if reason, told := p.Lost(); told {
				n.Disconnected(p.To().id, reason)
			}
		}
	} else if n.shell != nil && !n.done() {
		n.shell.Followed(&n.fx)
		n.obey()
	}
}

// sendOldRecord has a lane hear the controller before, once it has heard of the one that follows: it must refuse that.
func (w *world) sendOldRecord(l *lane, old bellows.Term) {
	w.After(1+w.Chances.Int64N(200), l.node, func() {
		if l.term <= old || l.closed {
			return
		}
		before := l.Refused()
		m := wire.New[wire.Records]()
		m.Term = old
		m.AppendControl(l.Applied()+1, bellows.Control{Kind: bellows.KeepTables})
		var out wire.Outbox
		l.Step([]wire.Envelope{{From: wire.ControllerAt(), To: l.address, Message: m, Era: w.era()}}, &out)
		w.post(l.node, &out)
		if l.Refused() != before+1 {
			w.Violated("P1: %v takes a record of term %d, and was told of term %d", l.address, old, l.term)
		}
		w.coverage.Hit("old-term-refused")
	})
}

// saveController saves the controller now and then, and asks the lanes whether they have come so far.
func (w *world) saveController() {
	f := &w.failover
	f.wanted = f.wanted || w.lead.Cutting() || w.lead.CutDue()
	if w.Failovers == 0 || w.ending || w.outcome != nil {
		return
	}
	if f.asked.Commit > 0 && w.lead.Covered() >= f.asked.Commit {
		f.saved, f.asked, f.wanted = f.asked, savepoint{}, false
		w.lead.LetGo(f.saved.Commit)
	}
	if w.Chances.IntN(6) >= w.Job.Saves() && (w.Cuts > 0 || !w.lead.CutDue()) || f.asked.Commit > 0 {
		return
	}
	if s, ok := w.lead.Save(); ok {
		f.asked = savepoint{s, *w.driver}
		w.lead.Covers(s.Commit, &w.fx)
		w.obey()
	}
}

// wholeHeld reports whether lanes hold all that was sent of a flush: then another controller may number it without its client's word.
func (w *world) wholeHeld(id bellows.FlushID) bool {
	if w.failover.term == term {
		return false
	}
	whole := w.ledger.Whole(w.route.Lanes(), id)
	w.coverage.HitIf("held-flush-numbered", whole)
	return whole
}

// checkHolding holds what a lane says that it has against what it was sent.
func (w *world) checkHolding(from wire.Address, m *wire.Holding) {
	if w.ending || int(m.Last) > len(w.oracle.Log) {
		return
	}
	w.coverage.HitIf("lane-caught-up", w.failover.term > term && int(m.Last) < len(w.oracle.Log))
	w.Must(w.ledger.Holds(from, m))
	w.Must(account.Holding(from, m, func(ref bellows.PartitionRef) bellows.CommitNumber { return w.oracle.Touched(ref, m.Last) }))
}
