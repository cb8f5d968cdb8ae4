package coord

import (
	"bellows"
	"bellows/core/jobend"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Outcome is the result of a job.
type Outcome = jobend.Outcome

// The end of a job is decided here. Package jobend has its steps.

// end ends the job. A failure during a recovery comes before any other reason.
func (c *Controller) end(o *Outcome, fx *Effects) {
	if c.recovery != nil && c.recovery.failed != nil {
		o = c.recovery.failed
	}
	o.Commits, o.State, o.Out = c.log.Number(), c.state(), len(c.claims.Claims())
	if c.recovery != nil { // records that are not replayed count, and no others do
		o.Commits = c.recovery.Last()
		c.log.Discard()
	}
	c.ending.Begin(o, c.recovery != nil, c.nowMillis)
	c.giveUpCut("the job is over", fx)
	c.sendRecords(fx)
	if c.recovery != nil {
		c.ask(fx) // the answer comes before the final counts
	}
	c.ending.TellAll(c.membership, &fx.Outbox)
	c.proceed(fx)
}

// endAdded takes what a lane holds of a job that was over before its controller knew what the previous one had
// recorded. Actors that have begun since, by that lane, are sent the end too, and their final counts are waited for.
// Clients are sent the names of lanes to which they may not have passed the end on, and lanes those of nodes that have
// left.
func (c *Controller) endAdded(m *wire.Holding, fx *Effects) {
	if c.ending.Finished() || planted.On("failed-too-soon") {
		return
	}
	lanes, clients, left := len(c.membership.Lanes()), len(c.membership.Clients()), len(c.membership.AllLeft())
	c.askAdded(m, fx)
	c.recovery.Excuse(m.Adopted, c.membership)
	c.ending.Spare(m.Adopted, c.membership)
	if added := c.membership.Lanes()[lanes:]; len(added) > 0 {
		for _, a := range c.membership.Clients()[:clients] {
			c.ending.Send(a, c.membership, &fx.Outbox)
		}
		c.ending.TellSome(added, c.membership, &fx.Outbox)
	}
	c.ending.TellSome(c.membership.Clients()[clients:], c.membership, &fx.Outbox)
	if len(c.membership.AllLeft()) > left {
		c.ending.TellOpen(c.membership, &fx.Outbox)
	}
	c.proceed(fx)
}

// takeClosed takes an actor's final counts. A lane that closes has all records.
func (c *Controller) takeClosed(from wire.Address, m *wire.Closed, fx *Effects) {
	if !c.ending.TakeClosed(from, m, c.membership) {
		return
	}
	if o := c.ending.Outcome(); from.Role == wire.Lane && !o.Failed() {
		c.log.Confirm(o.Commits)
	}
	c.proceed(fx)
}

// Withholds tells the controller that nothing of what a node still owes of the state will come, and why. A node that
// owes nothing takes nothing with it.
func (c *Controller) Withholds(n bellows.NodeID, reason string, fx *Effects) {
	c.ending.Withhold(n, reason)
	c.proceed(fx)
}

// proceed continues the end when nothing more is waited for. The outcome appears once.
func (c *Controller) proceed(fx *Effects) {
	if c.ending.Proceed(c.membership, c.log, c.nowMillis, &fx.Outbox) {
		c.publish(fx) // what is left
		fx.Outcome = c.ending.Outcome()
	}
}
