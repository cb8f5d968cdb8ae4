package coord

import (
	"bellows"
	"bellows/core/planted"
)

// conclude sends what the step has gathered: records before the routes and the dispatches that rely on them. So a
// controller that takes over learns from lanes of every route that a client can know. Then it checks whether the job is
// over.
func (c *Controller) conclude(fx *Effects) {
	c.tryCut(fx)
	if planted.On("route-told-first") {
		c.membership.Announce(&fx.Outbox)
	}
	if c.log.Pressing(c.claims.Sends()) {
		c.sendRecords(fx)
	}
	c.announce(fx)
	c.claims.Send(&fx.Outbox)
	c.publish(fx)
	if !c.ending.Begun() && c.claims.Outstanding() == 0 && c.begun {
		c.end(c.agenda.Idle(), fx)
	}
}

// tryCut makes the record of a cut as soon as that is possible at the end of a step.
func (c *Controller) tryCut(fx *Effects) {
	if c.ending.Begun() || c.recovery != nil || !c.begun || c.claims.Outstanding() == 0 || !c.cut.Ready() {
		return
	}
	c.control(bellows.Control{Kind: bellows.CutTables})
	saved, _ := c.Save()
	c.cut.Store(saved, c.membership.Route().Partitions(), c.nowMillis)
}
