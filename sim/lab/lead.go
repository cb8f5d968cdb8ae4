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
	if on := l.Training(); on != l.training.On() {
		l.training.Set(w.now(), on)
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
	l.node.post(&l.fx.Outbox)
	l.fx.Reset()
	w.followMoves()
	joins := l.Joins
	l.Joins = nil
	for _, o := range joins {
		w.admitted(o)
	}
}
