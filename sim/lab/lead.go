package lab

import (
	"bellows/core/coord"
	"bellows/core/shell"
	"bellows/core/tally"
	"bellows/link/wire"
)

// lead drives the shell of node 0.
type lead struct {
	*shell.Lead
	actor    *actor
	node     *node
	fx       coord.Effects
	outcome  *coord.Outcome
	training tally.Stopwatch // while a task that visits items is out
}

func (n *node) addLead() error {
	made, err := shell.NewLead(n.w.common, coord.Options{Driver: n.w.cfg.Job.Driver})
	if err != nil {
		return err
	}
	l := &lead{Lead: made, node: n}
	l.actor = &actor{step: func(batch []wire.Envelope) {
		l.Step(batch, &l.fx)
		l.obey()
	}}
	n.lead = l
	return nil
}

// obey carries out what the shell wants. That a wait lasts is no news: machines are as slow as the experiment says.
func (l *lead) obey() {
	w := l.node.w
	if on := l.Training(); on != l.training.Running() {
		l.training.Set(w.elapsed(), on)
	}
	for _, e := range l.fx.Epochs {
		w.endEpoch(e)
	}
	if l.fx.Outcome != nil {
		l.outcome = l.fx.Outcome
	}
	if l.fx.Route != nil {
		w.route = l.fx.Route
	}
	w.measure()
	l.node.post(&l.fx.Outbox)
	l.hear()
	l.fx.Reset()
	w.followMoves()
	w.followScript()
	w.look()
	joins := l.Joins
	l.Joins = nil
	for _, o := range joins {
		w.admitted(o)
	}
}

// hear takes note of nodes that leave or are lost, of moves that were given up, and of cuts.
func (l *lead) hear() {
	w := l.node.w
	for _, n := range l.fx.Left {
		w.nodes[n].departs()
	}
	for _, b := range l.fx.Buried {
		w.continues(w.nodes[b.Node])
	}
	for i := range l.fx.Moves {
		if m := &l.fx.Moves[i]; m.Reason != "" {
			w.givenUp(w.route.Number(m.Ref), m.Reason)
		}
	}
	for i := range l.fx.Cuts {
		w.cutDone(&l.fx.Cuts[i])
	}
}
