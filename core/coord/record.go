package coord

import (
	"errors"

	"bellows"
	"bellows/link/wire"
)

// control numbers a control record, unless the controller before has numbered it.
func (c *machines) control(r bellows.Control) {
	if c.recovery != nil {
		known, err := c.recovery.Repeats(c.log.Number()+1, r)
		if err != nil {
			c.recovery.driver = errors.Join(c.recovery.driver, err)
		}
		if known {
			c.log.Advance()
			return
		}
	}
	c.log.AppendControl(r)
}

// tells reports whether a report that ends with the newest record is made. During a replay, those are not that the
// previous controller has made for certain. An epoch is one record ahead of the visits: it is reported after the visits
// up to its record, and the previous controller may have reported only these. To report an epoch twice is harmless.
func (c *machines) tells(ahead bellows.CommitNumber) bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.log.Number()+ahead >= c.cfg.TellFrom
}

// sendRecords sends every lane the records that have not left.
func (c *machines) sendRecords(fx *Effects) { c.log.Send(c.membership.Lanes(), &fx.Outbox) }

// publish reports what a lane has the records of, and asks a lane about the rest if that is worth it.
func (c *machines) publish(fx *Effects) {
	c.log.Release(c.ending.Finished(), &fx.Told)
	if c.log.ReportDue() {
		c.confirm(fx)
	}
}

// confirm asks a lane how far it has come, if anything waits to be reported.
func (c *machines) confirm(fx *Effects) {
	if c.recovery == nil && !c.ending.Finished() {
		c.log.AskLane(c.membership.Lanes(), &fx.Outbox)
	}
}

// announce tells clients of changes of the route and of staleness, before the tasks that are to see
// them. To lanes they are records.
func (c *machines) announce(fx *Effects) {
	c.membership.Announce(&fx.Outbox)
	c.agenda.Announce(c.cfg.Controller, c.cfg.Term, c.membership.Clients(), &fx.Outbox)
}

// drain begins the end of an interrupted job: with a record, since it decides what is dispatched from then on.
func (c *machines) drain() {
	if record, begins := c.agenda.Drain(c.claims.Horizon()); begins {
		c.control(record)
	}
}

// record gives a flush its number. From here on it counts, whichever nodes are lost.
func (c *machines) record(m *wire.Done, fx *Effects) {
	c.log.AppendFlush(m, c.membership.Lanes(), &fx.Outbox)
	c.membership.AddSent(m.Flush.Client, m.Sent)
	c.log.AddVisits(m.Results, &fx.Told)
}
