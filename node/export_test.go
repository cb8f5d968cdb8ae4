package node

import (
	"context"

	"bellows/link/wire"
	"bellows/policy/gauge"
)

// Reports returns the last report of each node of the job.
func (w *Watch) Reports() []wire.Report {
	l := w.lead.Load()
	answer := make(chan []wire.Report, 1)
	l.enqueue(&ask{do: func() {
		list := []wire.Report{*l.report()}
		for _, b := range l.books[1:] {
			list = append(list, *b.report)
		}
		answer <- list
	}})
	return <-answer
}

// Shorten makes parts of messages, and messages in parts, at most so many bytes long; 0: as long as the format lets them be.
func (o Options) Shorten(part, message int) Options {
	o.partMost, o.messageMost = part, message
	return o
}

// KnownFigures returns the figures of a job that are not measured.
func KnownFigures(ctx context.Context, c *Commands) (f *gauge.Figures, err error) {
	err = c.ask(ctx, "", func(l *lead) error { f = l.feed.Known(measured{l}.Whole()); return nil })
	return f, err
}
