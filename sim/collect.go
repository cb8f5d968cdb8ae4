package sim

import (
	"bellows/core/coord"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/failover"
)

// again returns the next life of a job that was interrupted, on other nodes, from the image that was collected. It returns nil if
// the job was not interrupted.
func (w *world) again() *world {
	o := w.job.Outcome
	if w.Violation != "" || w.invaded || w.number == livesMax || !w.lost && (o == nil || !o.Interrupted || !w.images.Whole) {
		return nil
	}
	w.Schedule.DrawLife()
	state, before := w.resumesFrom()
	n := &world{Schedule: w.Schedule, Trace: w.Trace, life: life{number: w.number + 1}, coverage: w.coverage, advice: w.advice, hooks: w.hooks.AfterRestart()}
	n.Clock = &n.Now
	if n.oracle = w.oracle.Again(); w.lost {
		n.oracle = w.oracle.AgainAt(w.cuts.Last.Commit)
	} else {
		n.coverage.Hit("resumed")
	}
	n.faults.past = w.faults.memory
	n.build()
	n.images.Before = before
	n.Note("life %d", n.number)
	for _, l := range n.lanes {
		n.images.Load(l.Lane, &state, n.Chances)
	}
	if err := n.lead.Resume(state); err != nil {
		n.Violated("the controller does not resume: %v", err)
	}
	n.failover.Epochs = n.driver.Shown()
	n.failover.First = failover.Savepoint{Saved: coord.Saved{State: state}, Driver: *n.driver}
	n.After(n.Rng.Int64N(200), nil, n.faults.forger.ReplayEarlier)
	return n
}

// livesMax bounds how often a job is resumed after an interruption.
const livesMax = 3

// resumesFrom returns the state with which the next life begins: that of the last life, or of the last cut if all nodes were lost.
func (w *world) resumesFrom() (coord.State, *cutting.Image) {
	if w.lost {
		c := w.cuts.Lost()
		w.Note("all nodes are lost; the job goes on from cut %d", c.Commit)
		return c.State, c.Image(w.common.Route)
	}
	live, kept := w.lead.State.Images()
	return w.job.Outcome.State, &cutting.Image{Live: live, Kept: kept}
}
