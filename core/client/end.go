package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A client ends in one of three ways, and each next one includes the one before:
//
//   - failed: a task has returned an error. No other task begins, which would miss its updates;
//     those that run finish, and their flushes leave.
//   - broken: it was sent what cannot be (breach), or waits for what does not come (giveUp). Only
//     End is taken still.
//   - ended: the controller has said End. It is passed on to every lane behind all that was pushed,
//     so that a lane which has heard it from everybody has all that clients have sent, and the
//     audit adds up (docs/decisions/0006; planted: end-not-passed-on). Then the client says its
//     last word, its counts, and nothing more.
//
// The first complaint is kept and said to each controller that follows, since the one before has
// perhaps told nobody (TestEachControllerIsToldWhyAClientDoesNotGoOn), and so is the last word.
//
// Turned down: to count as sent only what was acknowledged as held, since the acknowledgement may
// be under way too (0006).

// breach ends the client's work: what it was sent cannot be.
func (c *Client) breach(from wire.Address, fx *Effects, format string, args ...any) {
	c.stop(&wire.Complaint{Node: from.Node, Breach: true,
		Reason: fmt.Sprintf("node %d cannot go on with what %v sent: %s", c.cfg.Self.Node, from, fmt.Sprintf(format, args...))}, fx)
}

// lost ends the job for a question or an answer that is lost.
func (c *Client) lost(what string, fx *Effects) {
	if !planted.On("loss-overlooked") {
		c.giveUp(fx, "%s, and that lane has nothing of it any more: a message is lost", what)
	}
}

// giveUp ends the client's work, and so the job, for a wait that cannot end otherwise.
func (c *Client) giveUp(fx *Effects, format string, args ...any) {
	c.stop(&wire.Failed{Kind: bellows.Lost, Reason: fmt.Sprintf(format, args...)}, fx)
}

// stop ends the client's work and says why, once.
func (c *Client) stop(why wire.Message, fx *Effects) {
	if !c.broken {
		c.broken, c.failed = true, true
		c.complain(why, fx)
	}
}

// complain tells the controller why the client does not go on.
func (c *Client) complain(m wire.Message, fx *Effects) {
	if c.complaint == nil {
		c.complaint = m
	}
	fx.Send(c.cfg.Self, c.cfg.Controller, m)
}

// complainAgain tells a controller that follows another why the client does not go on (planted:
// complaint-not-repeated).
func (c *Client) complainAgain(fx *Effects) {
	if planted.On("complaint-not-repeated") {
		return
	}
	switch said := c.complaint.(type) {
	case *wire.Failed:
		again := *said
		fx.Send(c.cfg.Self, c.cfg.Controller, &again)
	case *wire.Complaint:
		again := *said
		fx.Send(c.cfg.Self, c.cfg.Controller, &again)
	}
}

// end passes the end on. Tasks that wait are woken to find out; those that run are unwound when
// they ask next, and what they finish is dropped.
func (c *Client) end(m *wire.End, fx *Effects) {
	c.ended = m
	fx.Ended = m
	for _, s := range c.splits {
		if s != nil && s.running && s.task.waits > 0 {
			fx.Wake = append(fx.Wake, s.task)
		}
	}
	for _, l := range c.now.Route.Lanes() {
		if planted.On("end-not-passed-on") {
			break
		}
		fx.Send(c.cfg.Self, l, &wire.End{Commit: m.Commit, Reason: m.Reason})
	}
	c.lastWord(fx)
}

// lastWord tells the controller that nothing more comes, with the counts that the audit compares.
func (c *Client) lastWord(fx *Effects) {
	counts := c.counts
	counts.Ledgers = slices.Clone(counts.Ledgers) // a message is its receiver's
	fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Closed{Counts: counts})
}

// Ended is the controller's last word, or nil.
func (c *Client) Ended() *wire.End { return c.ended }
