package node

import (
	"context"
	"time"

	"bellows"
	"bellows/link/wire"
	"bellows/node/measure"
	"bellows/policy/advise"
	"bellows/policy/gauge"
)

// measure passes on what this step has done. A job of one process has one shape, and is not measured.
func (l *lead) measure() {
	if l.mesh == nil || !l.begun {
		return
	}
	complete, _, _ := l.shell.Progress()
	changing := l.plan != nil || len(l.moves)+len(l.shifts)+len(l.guests)+len(l.leaves) > 0
	l.feed.Step(&measure.State{Now: time.Since(l.began), Complete: complete, Rerouted: l.fx.Route != nil,
		Nodes: len(l.members), Changing: changing, Cutting: l.saving.note != nil, Epochs: l.fx.Epochs}, measured{l})
}

// measured is the job of a feed.
type measured struct{ *lead }

// Count implements measure.Job.
func (l measured) Count() *wire.Report { return l.report() }

// Whole implements measure.Job.
func (l measured) Whole() *measure.Whole {
	w := &measure.Whole{Job: l.job, Route: l.route, Leads: l.cluster.Self}
	w.Complete, _, _ = l.shell.Progress()
	for _, m := range l.present() {
		w.Nodes = append(w.Nodes, gauge.Node{ID: m.Node, Slots: m.Slots, Lanes: m.Lanes})
	}
	return w
}

// Figures returns the figures of the job. An error of kind Unavailable says how many clocks it takes
// more; one of kind Config, why the job will have no figures.
func (c *Commands) Figures(ctx context.Context) (*gauge.Figures, error) {
	m, err := c.Moment(ctx)
	return m.Figures, err
}

// Moment returns what Figures does, with the measured time of an epoch in the present shape.
func (c *Commands) Moment(ctx context.Context) (m advise.Moment, err error) {
	const what = "look at the job's figures"
	err = c.ask(ctx, what, func(l *lead) (err error) {
		switch {
		case l.mesh == nil:
			return bellows.Errorf(bellows.Config, what, "", "it runs in one process, which has no other shape")
		case l.finished:
			return errOver(what)
		}
		m, err = l.feed.Moment(measured{l}.Whole())
		return err
	})
	return m, err
}

// AwaitClocks returns when the job has completed so many more clocks in one shape, without those with a move or a cut.
// An error of kind Interrupted says that the job is over.
func (c *Commands) AwaitClocks(ctx context.Context, clocks int) error {
	told := make(chan error, 1)
	err := c.ask(ctx, "await clocks", func(l *lead) error {
		l.feed.Await(clocks, told)
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
		return bellows.Errorf(bellows.Unavailable, "await clocks", "", "%w", context.Cause(ctx))
	}
}

// Figures works like that of Commands. Before the job's nodes have begun to join it is an error.
func (w *Watch) Figures(ctx context.Context) (*gauge.Figures, error) {
	var c Commands
	c.lead.Store(w.lead.Load())
	return c.Figures(ctx)
}

// lastFigures ends the measuring, and returns the figures of a job that ends; nil if too little was measured.
func (l *lead) lastFigures() *gauge.Figures {
	l.feed.End(errOver("await clocks"))
	f, _ := l.feed.Figures(measured{l}.Whole())
	return f
}
