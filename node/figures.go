package node

import (
	"context"
	"time"

	"bellows"
	"bellows/node/measure"
	"bellows/policy/gauge"
)

// measure passes on what this step has done. The loss of a node is a change of shape too: others have its splits. A
// job of one process has one shape.
func (l *lead) measure() {
	if l.mesh == nil || !l.begun {
		return
	}
	complete, _, _ := l.shell.Progress()
	changing := l.plan != nil || len(l.moves)+len(l.shifts)+len(l.guests)+len(l.leaves) > 0
	l.feed.Step(&measure.State{Now: time.Since(l.began), Complete: complete, Changing: changing,
		Cutting: l.saving.note != nil, Epochs: l.fx.Epochs}, l.cluster.Self, l.report)
}

// Figures returns what the job has measured of itself. An error of kind Unavailable says how many clocks it takes
// more; one of kind Config, why the job will have no figures.
func (c *Commands) Figures(ctx context.Context) (*gauge.Figures, error) {
	const what = "look at the job's figures"
	l := c.lead.Load()
	if l == nil {
		return nil, errNotBegun(what)
	}
	if l.mesh == nil {
		return nil, bellows.Errorf(bellows.Config, what, "", "it runs in one process, which has no other shape")
	}
	epoch, err := measure.NewFigures(l.job) // not in the controller's step
	if err != nil {
		return nil, err
	}
	var found *gauge.Figures
	err = c.ask(ctx, what, func(l *lead) (err error) {
		if l.finished {
			return errOver(what)
		}
		found, err = l.feed.Figures(epoch, l.whole())
		return err
	})
	return found, err
}

// whole returns the job as the controller knows it.
func (l *lead) whole() *measure.Whole {
	w := &measure.Whole{Job: l.job, Route: l.route, Leads: l.cluster.Self}
	w.Complete, _, _ = l.shell.Progress()
	for _, m := range l.present() {
		w.Nodes = append(w.Nodes, gauge.Node{ID: m.Node, Slots: m.Slots, Lanes: m.Lanes})
	}
	return w
}

// lastFigures returns the figures of a job that ends; nil if too little was measured.
func (l *lead) lastFigures() *gauge.Figures {
	epoch, err := measure.NewFigures(l.job)
	if err != nil {
		return nil
	}
	f, err := l.feed.Figures(epoch, l.whole())
	if err != nil {
		return nil
	}
	return f
}
