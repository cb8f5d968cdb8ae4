package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A client ends in one of three ways, and each next one includes the previous one:
//
//   - failed: a task has returned an error. No other task begins, because it would miss that task's updates; tasks that
//     run finish, and their flushes leave.
//   - broken: it received an invalid message (breach), or waits for something that does not come (giveUp). It still
//     takes End, and nothing else.
//   - ended: the controller has sent End. The client passes it on to every lane after all its pushes. A lane that has
//     it from every client thus has all that clients have sent, and the audit adds up (docs/decisions/0006; planted:
//     end-not-passed-on). Then the client sends its counts, and nothing more.
//
// The client keeps its first complaint and repeats it to each controller that follows, since the previous one has
// perhaps passed it to no node (TestEachControllerHearsWhyClientStopped). It repeats its counts in the same way. An end
// that is not a finish is such a complaint: if the previous controller's process died while it announced the end, this
// client may be the only one that knows (TestOnlyHearerOfEndAnnouncesIt; planted: end-kept-to-oneself).
//
// Rejected: to count as sent only what was acknowledged as held, since the acknowledgement may also be under way
// (0006).

// closing is how far the client is on its way to the end.
type closing struct {
	self, controller wire.Address

	failed    bool         // a task ended in an error: no other begins, since it would miss that one's updates
	broken    bool         // a role sent an invalid message: only the end counts any more
	complaint wire.Message // why the client stopped, as reported to the controller; nil: it continues
	ended     *wire.End
	passed    []wire.Address // lanes to which the end was passed on
	parting   []wire.Address // lanes that leave and from which something is to come yet
}

// judge ends the client's work if what a role sent is not possible.
func (c *closing) judge(err error, from wire.Address, fx *Effects) {
	if err != nil {
		c.breach(from, fx, "%v", err)
	}
}

// breach ends the client's work because of an invalid message.
func (c *closing) breach(from wire.Address, fx *Effects, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	reason := fmt.Sprintf("node %d cannot go on with what %v sent: %s", c.self.Node, from, what)
	c.stop(&wire.Complaint{Node: from.Node, Breach: true, Reason: reason}, fx)
}

// lost ends the job for a question or an answer that is lost.
func (c *closing) lost(what string, fx *Effects) {
	if !planted.On("loss-overlooked") {
		c.giveUp(fx, "%s, and that lane has nothing of it any more: a message is lost", what)
	}
}

// giveUp ends the client's work, and so the job, for a wait that cannot end otherwise.
func (c *closing) giveUp(fx *Effects, format string, args ...any) {
	c.stop(&wire.Failed{Kind: bellows.Lost, Reason: fmt.Sprintf(format, args...)}, fx)
}

// stop ends the client's work and says why, once.
func (c *closing) stop(why wire.Message, fx *Effects) {
	if !c.broken {
		c.broken, c.failed = true, true
		c.complain(why, fx)
	}
}

// complain reports to the controller why the client stopped.
func (c *closing) complain(m wire.Message, fx *Effects) {
	if c.complaint == nil {
		c.complaint = m
	}
	fx.Send(c.self, c.controller, m)
}

// complainAgain reports to a controller that follows another why the client stopped (planted: complaint-not-repeated).
func (c *closing) complainAgain(fx *Effects) {
	if planted.On("complaint-not-repeated") {
		return
	}
	switch said := c.complaint.(type) {
	case *wire.Failed:
		again := *said
		fx.Send(c.self, c.controller, &again)
	case *wire.Complaint:
		again := *said
		fx.Send(c.self, c.controller, &again)
	}
}

// end passes the end on. Tasks that wait are woken to find out; those that run are unwound when they ask next, and
// what they finish is dropped.
func (c *Client) end(m *wire.End, fx *Effects) {
	c.ended, fx.Ended = m, m
	if c.complaint == nil && m.Reason != "" && !planted.On("end-kept-to-oneself") {
		reason := "the controller before has told it that the job is over: " + m.Reason
		c.complaint = &wire.Failed{Kind: m.Kind, Reason: reason}
	}
	for s, t := range c.tasks {
		if c.work.Runs(bellows.SplitID(s)) && t.reader.Waits() {
			fx.Wake = append(fx.Wake, t)
		}
	}
	c.pass(slices.Concat(c.now.Route.Lanes(), c.parting, m.Added()), fx)
	c.lastWord(fx)
}

// endAgain sends the counts to another controller as well, and passes the end on to lanes that this controller has
// heard of since.
func (c *Client) endAgain(m *wire.End, fx *Effects) {
	if m.Term > c.ended.Term && !planted.On("last-word-not-repeated") {
		c.ended = m
		c.lastWord(fx)
	}
	c.pass(m.Added(), fx)
}

// pass passes the end on to lanes, each once.
func (c *closing) pass(lanes []wire.Address, fx *Effects) {
	for _, l := range lanes {
		if !slices.Contains(c.passed, l) && !planted.On("end-not-passed-on") {
			c.passed = append(c.passed, l)
			fx.Send(c.self, l, &wire.End{Commit: c.ended.Commit, Reason: c.ended.Reason})
		}
	}
}

// takeLeave takes note of lanes that are removed, and to which End is to be said. A whole route has the removals of
// those that have not gone, since the client may not have heard of them.
func (c *Client) takeLeave(m *wire.Route, fx *Effects) {
	for i := range m.Changes {
		who, removed := c.now.Route.Removed(m.Changes[i])
		if removed && who.Role == wire.Lane && !planted.On("leaver-not-parted") {
			c.flush.LaneLeaves(who, c.now.Route, c.flushing(fx))
			c.carry(fx)
			if !slices.Contains(c.parting, who) {
				c.parting = append(c.parting, who)
			}
		}
	}
}

// part sends End to lanes that leave and owe no more answers, so that nothing is sent to them either (server.Lane gives
// the reason; TestLeavingLaneIsPartedAfterItsAnswer).
func (c *Client) part(fx *Effects) {
	c.parting = slices.DeleteFunc(c.parting, func(who wire.Address) bool {
		if lane := slices.Index(c.lanes, who); lane >= 0 && c.expects(lane) {
			return false
		}
		fx.Send(c.cfg.Self, who, &wire.End{Parts: true})
		return true
	})
}

// expects reports whether something is to come from a lane.
func (c *Client) expects(lane int) bool {
	return c.enquiries.lanes[lane].open > 0 || c.cache.Expects(lane) || c.flush.Expects(lane)
}

// leave ends the client if the route has no place for it any more: it runs no split, and all that it sent has a number.
// Its counts go to its successor.
func (c *Client) leave(changes []bellows.Control, fx *Effects) {
	for i := range changes {
		if who, removed := c.now.Route.Removed(changes[i]); removed && who == c.cfg.Self && !c.broken {
			for _, l := range c.parting { // which take no record of this removal, behind their own
				fx.Send(c.cfg.Self, l, &wire.End{Parts: true})
			}
			c.parting = nil
			c.ended = &wire.End{Reason: "its node takes part no more"}
			fx.Ended = c.ended
			last := &wire.Closed{Counts: c.audited(), Route: changes[i].Route}
			fx.Send(c.cfg.Self, c.now.Route.Heir(changes[i]), last)
		}
	}
}

// lastWord tells the controller that nothing more comes, with the counts that the audit compares.
func (c *Client) lastWord(fx *Effects) {
	fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Closed{Counts: c.audited()})
}

// audited returns the client's counts for a message, which is its receiver's.
func (c *Client) audited() wire.Counts {
	counts := c.Counts()
	counts.Ledgers = slices.Clone(counts.Ledgers)
	return counts
}

// Removed reports whether the client takes part no more: its successor has its counts.
func (c *closing) Removed() bool { return c.ended != nil && c.ended.Term == 0 }

// Ended returns the controller's last word, or nil.
func (c *closing) Ended() *wire.End { return c.ended }

// Counts returns the client's counts so far.
func (c *Client) Counts() wire.Counts {
	sent, ledgers := c.flush.Sent()
	return wire.Counts{Sent: sent, Ledgers: ledgers, Staleness: c.cache.Staleness()}
}
