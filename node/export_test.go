package node

import (
	"context"

	"bellows/node/measure"
	"bellows/policy/gauge"
)

// Shorten makes parts of messages, and messages in parts, at most so many bytes long; 0: as long as the format lets them be.
func (o Options) Shorten(part, message int) Options {
	o.partMost, o.messageMost = part, message
	return o
}

// BaseFigures returns the figures of a job that are not measured.
func BaseFigures(ctx context.Context, c *Commands) (f gauge.Figures, err error) {
	if f, err = measure.NewFigures(c.lead.Load().job); err == nil {
		err = c.ask(ctx, "", func(l *lead) error { l.feed.Fill(&f, l.whole()); return nil })
	}
	return f, err
}
