package sim

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/sim/internal/blame"
)

// checkCollected holds the state that has come to node 0 against the model. A job that finished, or was interrupted, has one, unless a node is lost that had a part of it.
func (w *world) checkCollected() {
	o := w.outcome
	if o.Uncollected != nil && w.asked && !slices.ContainsFunc(w.lanes, func(l *lane) bool {
		return (l.node.gone || l.node.hung) && (l.gaveAt == 0 || l.gaveAt == w.Now || l.lied)
	}) {
		w.Violated("P9: the state is not collected (%v), and all that are lost had given theirs, or had none", o.Uncollected)
	}
	w.checkHung()
	if o.Reason != "" && !o.Interrupted || o.Uncollected != nil {
		return
	}
	w.whole = true
	live, kept := w.lead.State.Images()
	for ref := range w.common.Route.All() {
		if kept != nil {
			w.checkImage(ref, &kept[ref.Table][ref.Partition], w.driver.Kept)
		}
		if kept == nil || o.Interrupted {
			w.checkImage(ref, &live[ref.Table][ref.Partition], o.Commits)
		}
	}
	if o.Reason == "" && w.before == nil { // tables as a whole, of those that were kept last or as they ended
		w.Must(w.oracle.CheckTables(cmp.Or(w.driver.Kept, o.Commits), w.lead.State.Tables))
	}
	if w.driver.Kept > 0 && kept == nil {
		w.Violated("keep: the tables of commit %d were kept, and are not among what was collected", w.driver.Kept)
	}
}

// checkHung sees that a model that is lost with tasks that do not return, and with nothing else, is so by name.
func (w *world) checkHung() {
	var hung *node
	for _, n := range w.nodes {
		switch {
		case n.hung:
			hung = n
		case n.gone:
			return
		}
	}
	if hung == nil || w.outcome.Uncollected == nil {
		return
	}
	w.coverage.Hit("model-left-with-tasks")
	w.Must(blame.CheckModelLost(w.uncollected(), hung.id, w.named))
}

// uncollected is why the state has not come to node 0; empty: it has, or nobody asked for it.
func (w *world) uncollected() string {
	if w.outcome == nil || w.outcome.Uncollected == nil {
		return ""
	}
	return w.outcome.Uncollected.Error()
}

// checkImage holds what has come of a partition against the model after exactly the commits up to n. What an earlier life kept is checked where it was made.
func (w *world) checkImage(ref bellows.PartitionRef, im *store.Image, n bellows.CommitNumber) {
	if n > 0 || w.before == nil {
		w.compare(wire.ControllerAt(), ref, im, n, false)
	}
}

// again is the next life of a job that was interrupted: on other nodes, from the image that was collected. Nil: there is none.
func (w *world) again() *world {
	if w.Violation != "" || w.invaded || w.life == livesMax || !w.lost && (w.outcome == nil || !w.outcome.Interrupted || !w.whole) {
		return nil
	}
	w.Schedule.DrawLife()
	state, before := w.goesOnFrom()
	n := &world{Schedule: w.Schedule, Trace: w.Trace, life: w.life + 1, before: before, coverage: w.coverage}
	n.Clock = &n.Now
	if n.oracle = w.oracle.Again(); w.lost {
		n.oracle = w.oracle.AgainAt(w.cuts.Last.Commit)
	} else {
		n.coverage.Hit("resumed")
	}
	n.faults.past = w.faults.memory
	n.build()
	n.Note("life %d", n.life)
	n.load(state.Complete)
	if err := n.lead.Resume(state); err != nil {
		n.Violated("the controller does not resume: %v", err)
	}
	n.failover.epochs = n.driver.Shown()
	n.failover.resumes(n, state)
	n.After(n.Rng.Int64N(200), nil, n.replayPastLife)
	return n
}

// livesMax bounds how often a job goes on after an interruption.
const livesMax = 3

// load gives the lanes what the life before has left.
func (w *world) load(complete []bellows.Clock) {
	for _, l := range w.lanes {
		damaged, err := w.before.Load(l.Lane, w.owned(l), w.common.Route.Cut, complete, w.Chances)
		w.coverage.HitIf("damaged-image-refused", damaged > 0)
		if err != nil {
			w.Violated("%v: %v", l.address, err)
		}
	}
}

// checkStillKept sees that images that an earlier life kept are still there, if this one has made none.
func (w *world) checkStillKept(l *lane) {
	if w.before == nil || l.kept > 0 {
		return
	}
	for ref := range w.owned(l) {
		w.Must(w.before.Still(ref, l.Kept(ref)))
	}
}
