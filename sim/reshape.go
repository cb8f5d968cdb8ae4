package sim

import (
	"bellows"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/sim/internal/advising"
	"bellows/sim/internal/reshaping"
)

// reshapes asks for other shapes of the job, from now on, as the schedule has it.
func (w *world) reshapes() {
	for _, e := range w.Reshapes {
		w.After(e.Millis, w.nodes[0], func() { w.persons.Want(e) })
	}
}

// drive makes the driver of the job's shape, for the current controller. It returns the asks that the previous driver has not answered.
func (w *world) drive() (again []reshape.Ask) {
	if len(w.Reshapes) == 0 {
		return nil
	}
	if w.shaper != nil {
		again = w.shaper.Unanswered()
		w.coverage.HitIf("reshape-followed", len(again) > 0)
	}
	w.commands = &reshaping.Commands{Lead: func() *shell.Lead { return w.lead }, Fx: &w.fx, Term: w.failover.Term, Life: w.job, Nodes: w.states, Rng: w.Shaping,
		Leads: func() bellows.Term { return w.failover.Term }, World: reshaping.World{
			Obey:     func() { w.moved(); w.obey() },
			Come:     w.comes,
			Uninvite: func(n bellows.NodeID) { w.uninvite(w.nodes[n]) },
			Leave:    func(list []wire.Address) { w.removed = append(w.removed, list...) },
			After:    func(millis int64, do func()) { w.After(millis, w.nodes[0], do) },
			Millis:   func() int64 { return w.Now }}}
	w.shaper = reshaping.New(w.Trace, w.coverage, w.commands)
	w.persons = reshaping.Persons{Trace: w.Trace, Life: w.job, Shaper: w.shaper, Later: func(do func()) { w.After(10, w.nodes[0], do) }}
	if w.Advised {
		c := w.commands
		w.persons.Scaled = w.advice.Lead(advising.Job{Facts: c.Facts, Over: c.IsOver, After: c.World.After}, w.shaper)
	}
	return again
}

// joinable reports whether nodes may join the job.
func (w *world) joinable() bool { return len(w.Guests)+len(w.Reshapes) > 0 }

// moveSplit moves a split for an operator without knowledge of plans.
func (w *world) moveSplit(s bellows.SplitID, to bellows.NodeID) error {
	err := w.lead.MoveSplit(s, to, &w.fx)
	if err == nil && w.shaper != nil {
		w.shaper.Superseded(int(s), -1)
	}
	return err
}

// movePartition moves a partition for an operator.
func (w *world) movePartition(ref bellows.PartitionRef, to wire.Address, urgent bool) error {
	err := w.lead.MovePartition(ref, to, urgent, &w.fx)
	if err == nil && w.shaper != nil {
		w.shaper.Superseded(-1, w.route.Number(ref))
	}
	return err
}

// cancelMove cancels the move of a partition for an operator.
func (w *world) cancelMove(ref bellows.PartitionRef) {
	w.lead.CancelMove(ref, &w.fx)
	if w.shaper != nil {
		w.shaper.Superseded(-1, w.route.Number(ref))
	}
}
