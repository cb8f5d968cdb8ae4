// Package agenda decides at the controller what is still dispatched: it keeps staleness changes, the driver's end of
// tasks, and a user's interrupt.
//
// A driver changes the staleness of tables and says that it has no more tasks. A user interrupts the job: clocks that
// have begun are then the last ones, and tasks of later clocks are queued for another run. The controller asks the
// Agenda whether a clock is left to another run (Withholds), what to announce, and what it means that no work is out
// (Idle).
//
// Changes that decide what is dispatched later are records, which the controller makes of what is returned here.
package agenda

import (
	"slices"

	"bellows"
	"bellows/core/jobend"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Agenda is the plan of one job. The zero value is the plan of a job that begins.
//
// Invariants, and what holds them:
//
//   - A change of staleness is announced to each client once: TestStalenessIsAnnouncedOnce.
//   - A job drains at most once, from a record on: TestADrainIsOneRecord. From then on, the clocks that have begun are
//     the last: TestLaterClocksAreQueued.
type Agenda struct {
	staleness   []wire.Staleness // changes since the job's start
	announced   int              // of these, sent to clients
	queue       []wire.Task      // dispatched by the driver, to be begun by another run
	resumed     []journal.Out    // tasks that a saved run had out, to be run again
	finishing   bool             // the driver has no more tasks
	interrupted bool             // by the user
	draining    bool             // clocks that have begun are the last
}

// Resume continues from a saved state.
func (a *Agenda) Resume(s *journal.State) {
	a.queue, a.finishing, a.resumed = s.Queue, s.Finishing, s.Out
	if !planted.On("staleness-forgotten") {
		a.staleness = s.Staleness
	}
}

// Restore continues from a saved state of a controller that is to be replaced, after Resume. Its tasks are still out.
func (a *Agenda) Restore(s *journal.Saved) { a.resumed, a.draining = nil, s.Draining }

// State adds to a state what another run must know: nothing of the tasks that are out.
func (a *Agenda) State(to *journal.State) {
	to.Queue, to.Staleness = slices.Clone(a.queue), slices.Clone(a.staleness)
}

// Save adds to a saved state, after State, what only a controller that takes over must know.
func (a *Agenda) Save(to *journal.Saved) { to.Finishing, to.Draining = a.finishing, a.draining }

// SetStaleness changes the staleness of a table, and returns the record of the change.
func (a *Agenda) SetStaleness(m wire.Staleness) bellows.Control {
	a.staleness = append(a.staleness, m)
	return controlOf(m)
}

// controlOf returns the control record of a change of staleness.
func controlOf(m wire.Staleness) bellows.Control {
	return bellows.Control{Kind: bellows.SetStaleness, Table: m.Table, Clocks: m.Clocks}
}

// Override replaces the staleness of tables, which the job says, by what was changed.
func (a *Agenda) Override(clocks []int32) {
	for _, m := range a.staleness {
		clocks[m.Table] = m.Clocks
	}
}

// Records returns the records of the changes that a saved run has made: the last one of each table. Lanes may have
// loaded deltas that wait for a barrier, which an earlier change would lift.
func (a *Agenda) Records() (list []bellows.Control) {
	changed := map[bellows.TableID]bool{}
	for _, m := range slices.Backward(a.staleness) {
		if !changed[m.Table] {
			list = append(list, controlOf(m))
		}
		changed[m.Table] = true
	}
	slices.Reverse(list)
	return list
}

// Announce sends clients the changes that they do not know. The records of these must have been sent.
func (a *Agenda) Announce(self wire.Address, term bellows.Term, clients []wire.Address, out *wire.Outbox) {
	for ; a.announced < len(a.staleness); a.announced++ {
		for _, c := range clients {
			m := a.staleness[a.announced]
			m.Term = term
			out.Send(self, c, &m)
		}
	}
}

// Announced notes that clients know all changes.
func (a *Agenda) Announced() { a.announced = len(a.staleness) }

// Queue keeps a task for another run.
func (a *Agenda) Queue(s bellows.SplitID, args []float64) {
	a.queue = append(a.queue, wire.Task{Unit: bellows.Unit{Split: s}, Args: slices.Clone(args)})
}

// TakeQueue returns the tasks that a saved run has queued, and forgets them. Any says whether there were some.
func (a *Agenda) TakeQueue() (list []wire.Task, any bool) {
	list, any = a.queue, a.queue != nil
	a.queue = nil
	if planted.On("queue-forgotten") {
		return nil, any
	}
	return list, any
}

// TakeResumed returns the tasks that a saved run had out, and forgets them. Now they rely on a record of this run.
func (a *Agenda) TakeResumed(commit bellows.CommitNumber) []journal.Out {
	list := slices.Clone(a.resumed)
	a.resumed = nil
	for i := range list {
		list[i].Commit = commit
	}
	return list
}

// Finish notes that the driver has no more tasks.
func (a *Agenda) Finish() { a.finishing = true }

// Interrupt notes that the user wants the job to stop at a point from which it can continue.
func (a *Agenda) Interrupt() { a.interrupted = true }

// Drain begins the end of an interrupted job, and reports whether it does so now. The clocks up to the horizon are the
// last. That is a record, since it decides what is dispatched from then on.
func (a *Agenda) Drain(horizon bellows.Clock) (drain bellows.Control, begins bool) {
	if !a.interrupted || a.draining {
		return drain, false
	}
	a.draining = true
	return bellows.Control{Kind: bellows.Drain, Clock: horizon}, true
}

// ReplayDrain takes the record of another controller's Drain.
func (a *Agenda) ReplayDrain() { a.draining = true }

// Draining reports whether the clocks that have begun are the last.
func (a *Agenda) Draining() bool { return a.draining }

// Withholds reports whether a clock is left to another run: it is beyond the clocks that have begun.
func (a *Agenda) Withholds(clock, horizon bellows.Clock) bool { return a.draining && clock > horizon }

// Idle returns what it means that no task is out: the user has interrupted the job, the driver has finished, or the
// driver has forgotten to dispatch, so that nothing would ever come.
func (a *Agenda) Idle() *jobend.Outcome {
	switch {
	case len(a.queue) > 0:
		return &jobend.Outcome{Interrupted: true, Kind: bellows.Interrupted, Reason: "interrupted"}
	case a.finishing:
		return &jobend.Outcome{}
	}
	return &jobend.Outcome{Kind: bellows.Lost, Reason: "the driver dispatched no task and did not finish"}
}
