package coord

import (
	"bellows"
	"bellows/link/wire"
)

// CutLost says that a cut could not be written down.
func (c *Controller) CutLost(commit bellows.CommitNumber, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.cut.Active() && c.cut.RecordNumber() == commit && commit > 0 {
		c.giveUpCut(reason, fx)
		c.conclude(fx)
	}
}

// awaitCut gives up a cut that does not get on.
func (c *Controller) awaitCut(fx *Effects) { c.giveUpCut(c.cut.Overdue(c.nowMillis), fx) }

// takeShard takes a lane's report about the cut.
func (c *Controller) takeShard(from wire.Address, m *wire.Shard, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	report := c.cut.TakeShard(from, m, c.membership.Route(), c.nowMillis)
	c.log.Confirm(report.Confirmed)
	if report.Done != nil {
		fx.Cuts = append(fx.Cuts, *report.Done)
	}
	c.giveUpCut(report.GiveUp, fx)
}
