package sim

import (
	"bellows"
	"bellows/core/coord"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/driver"
)

// cutShells makes the shells that take cuts of the job.
func (w *world) cutShells() {
	w.cuts = cutting.Shells{Chance: w.Cuts, Loss: w.LoseAll, World: cutting.World{Rng: w.Cutting, Route: w.common.Route, Tables: w.Job.Schemas,
		After: func(millis int64, n bellows.NodeID, do func()) { w.After(1+millis, w.nodes[n], do) },
		Say: func(to wire.Address, m wire.Message) {
			var out wire.Outbox
			out.Send(to, to, m)
			w.post(w.nodes[to.Node], &out)
		},
		Check: w.checkCut, Kept: w.keepCut, Wrong: w.Violated, Hit: w.coverage.Hit}}
}

// checkCut holds a partition as it was at a cut against the model after exactly the commits up to it, and the image that was kept by then.
func (w *world) checkCut(at wire.Address, ref bellows.PartitionRef, live, kept *store.Image, n bellows.CommitNumber) {
	w.compare(at, ref, live, n, true)
	switch was := w.oracle.KeptAt(n); {
	case was > 0 && kept == nil:
		w.Violated("keep: %v has no image of %v at cut %d, which was kept at %d", at, ref, n, was)
	case was > 0:
		w.compare(at, ref, kept, was, true)
	case (kept != nil) != (w.before != nil && w.before.Kept != nil):
		w.Violated("keep: %v has an image of %v at cut %d, which no life has kept, or lacks one", at, ref, n)
	}
}

// keepCut tells the controller that a cut is kept, from which a controller that follows goes on, and another life if all nodes are lost.
func (w *world) keepCut(c *cutting.Cut) {
	if w.outcome != nil {
		return
	}
	w.moved()
	w.lead.CutKept(c.Commit, &w.fx)
	if w.obey(); w.failover.saved.Commit < c.Commit {
		w.failover.asked = savepoint{c.Saved, c.Driver.(driver.Driver)} // which is covered soon
	}
	if w.cuts.Loss {
		w.cuts.Loss = false
		w.After(w.Cutting.Int64N(1500), nil, func() { w.lost = w.outcome == nil })
	}
}

// goesOnFrom is what the next life begins with: what the last has left, or the last cut where all nodes were lost.
func (w *world) goesOnFrom() (coord.State, *cutting.Image) {
	if w.lost {
		c := w.cuts.Lost()
		w.Note("all nodes are lost; the job goes on from cut %d", c.Commit)
		return c.State, c.Image(w.common.Route)
	}
	live, kept := w.lead.State.Images()
	return w.outcome.State, &cutting.Image{Live: live, Kept: kept}
}
