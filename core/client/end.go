package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// breach ends the client's work: what it was sent cannot be. No other task begins.
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

// giveUp ends the job, and the client's work, for a wait that cannot end otherwise.
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

// complain tells the controller why the client does not go on, and each that follows it (complainAgain): the one before has perhaps told nobody.
func (c *Client) complain(m wire.Message, fx *Effects) {
	if c.complaint == nil {
		c.complaint = m
	}
	fx.Send(c.cfg.Self, c.cfg.Controller, m)
}

// complainAgain tells a controller that follows another why the client does not go on.
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

// lastWord tells the controller that nothing more comes.
func (c *Client) lastWord(fx *Effects) {
	counts := c.counts
	counts.Ledgers = slices.Clone(counts.Ledgers) // a message is its receiver's
	fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Closed{Counts: counts})
}

// Ended is the controller's last word, or nil.
func (c *Client) Ended() *wire.End { return c.ended }
