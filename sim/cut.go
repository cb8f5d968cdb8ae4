package sim

import (
	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/failover"
)

// cutShells makes the shells that take cuts of the job. The list has them from the beginning.
func (w *world) cutShells() {
	w.cuts = cutting.Shells{Chance: w.Cuts, Loss: w.LoseAll, World: cutting.World{Rng: w.Cutting, Route: w.common.Route, Tables: w.Job.Schemas,
		After: func(millis int64, n bellows.NodeID, do func()) { w.After(1+millis, w.nodes[n], do) },
		Say: func(to wire.Address, m wire.Message) {
			var out wire.Outbox
			out.Send(to, to, m)
			w.post(w.nodes[to.Node], &out)
		},
		Driver: func() any { return *w.driver },
		Check:  w.images.CheckCut, Kept: w.keepCut, Wrong: w.Violated, Hit: w.coverage.Hit}}
}

// keepCut reports to the controller that a cut is kept. A controller that follows begins from it, and so does another life if all
// nodes are lost.
func (w *world) keepCut(c *cutting.Cut) {
	if w.job.Outcome != nil {
		return
	}
	w.moved()
	w.lead.CutKept(c.Commit, &w.fx)
	if w.failover.Covered.Commit < c.Commit { // it is covered soon, if this controller lives
		w.failover.Asked = failover.Savepoint{Saved: c.Saved, Driver: c.Driver.(driver.Driver)}
	}
	w.obey()
	if w.cuts.Loss {
		w.cuts.Loss = false
		w.After(w.Cutting.Int64N(1500), nil, func() { w.lost = w.job.Outcome == nil })
	}
}
