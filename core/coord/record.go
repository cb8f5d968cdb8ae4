package coord

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// record gives a flush its number: from here it counts, whoever is lost.
func (c *Controller) record(m *wire.Done, fx *Effects) {
	c.log.AppendFlush(m, c.roster.Lanes(), &fx.Outbox)
	c.cut.Gather(m.Pairs, m.Results, c.agenda.staleness)
	c.roster.AddSent(m.Flush.Client, m.Sent)
	c.log.AddVisits(m.Results, &fx.Told)
}

// control numbers a control record, unless the controller before has numbered it.
func (c *Controller) control(r bellows.Control) {
	if c.repeats(r) {
		c.log.Advance()
		return
	}
	c.log.AppendControl(r)
}

// staleness is the control record of a change.
func staleness(m wire.Staleness) bellows.Control {
	return bellows.Control{Kind: bellows.SetStaleness, Table: m.Table, Clocks: m.Clocks}
}

// conclude sends what the step has gathered: records before the routes and the dispatches that rely
// on them, so that whoever follows this controller, and is told by lanes what was recorded, knows
// of every route that a client can have heard of. Then it sees whether the job is over.
func (c *Controller) conclude(fx *Effects) {
	c.tryCut(fx)
	if planted.On("route-told-first") {
		c.roster.Announce(&fx.Outbox)
	}
	if c.log.Pressing(c.claims.Sends()) {
		c.sendRecords(fx)
	}
	c.announce(fx)
	c.claims.Send(&fx.Outbox)
	c.publish(fx)
	if !c.ending.Begun() && c.claims.Outstanding() == 0 && c.begun {
		c.idle(fx)
	}
}

// sendRecords sends every lane the records that have not left.
func (c *Controller) sendRecords(fx *Effects) { c.log.Send(c.roster.Lanes(), &fx.Outbox) }

// publish reports what a lane has the records of, and asks a lane about the rest if that is worth it.
func (c *Controller) publish(fx *Effects) {
	c.log.Release(c.ending.Finished(), &fx.Told)
	if c.log.ReportDue() {
		c.confirm(fx)
	}
}

// confirm asks a lane how far it has come, if anything waits to be reported.
func (c *Controller) confirm(fx *Effects) {
	if c.recovery == nil && !c.ending.Finished() {
		c.log.AskLane(c.roster.Lanes(), &fx.Outbox)
	}
}

// announce tells clients of changes of the route and of staleness, before the tasks that are to see
// them. To lanes they are records.
func (c *Controller) announce(fx *Effects) {
	c.roster.Announce(&fx.Outbox)
	for ; c.agenda.announced < len(c.agenda.staleness); c.agenda.announced++ {
		for _, a := range c.roster.Clients() {
			m := c.agenda.staleness[c.agenda.announced]
			m.Term = c.cfg.Term
			fx.Send(c.cfg.Controller, a, &m)
		}
	}
}

// idle decides what it means that no task is out: the user wanted out, the driver has finished, or
// it has forgotten to dispatch, upon which nothing would ever come.
func (c *Controller) idle(fx *Effects) {
	switch {
	case len(c.agenda.queue) > 0:
		c.end(&Outcome{Interrupted: true, Kind: bellows.Interrupted, Reason: "interrupted"}, fx)
	case c.agenda.finishing:
		c.end(&Outcome{}, fx)
	default:
		c.end(&Outcome{Kind: bellows.Lost, Reason: "the driver dispatched no task and did not finish"}, fx)
	}
}
