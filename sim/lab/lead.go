package lab

import (
	"bellows/coord"
	"bellows/wire"
)

// lead is the shell of the controller, at node 0.
type lead struct {
	actor      *actor
	node       *node
	controller *coord.Controller
	fx         coord.Effects
	outcome    *coord.Outcome
	training   bool  // a task that visits items is out
	busy       int64 // since when
	trained    int64 // before busy
}

func (n *node) addLead() {
	job := &n.w.cfg.Job
	l := &lead{node: n, controller: coord.New(n.w.common, coord.Options{Driver: job.Driver})}
	l.actor = &actor{step: func(batch []wire.Envelope) {
		l.controller.Step(batch, &l.fx)
		l.obey()
	}}
	n.lead = l
}

// start lets the job begin.
func (l *lead) start() {
	l.controller.Start(&l.fx)
	l.obey()
	l.node.settle()
}

// obey carries out what the controller wants.
func (l *lead) obey() {
	w := l.node.w
	now := w.agenda.Now()
	switch training := l.controller.Training(); {
	case training && !l.training:
		l.training, l.busy = true, now
	case !training && l.training:
		l.training = false
		l.trained += now - l.busy
	}
	for _, e := range l.fx.Epochs {
		w.endEpoch(e)
	}
	if l.fx.Outcome != nil {
		l.outcome = l.fx.Outcome
	}
	l.node.post(&l.fx.Outbox)
	l.fx.Reset()
}

// trainedFor is how long tasks that visit items have been out, in nanoseconds.
func (l *lead) trainedFor() int64 {
	if l.training {
		return l.trained + l.node.w.agenda.Now() - l.busy
	}
	return l.trained
}
