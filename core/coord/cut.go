package coord

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/link/wire"
)

// CutDone is a cut that is stored, to be written down; or, with a reason, one that was given up.
type CutDone = checkpoint.CutDone

// Cut begins a cut: package checkpoint has its steps. It fails where none can be taken now: ask again later.
func (c *Controller) Cut(fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	if err := c.cut.Begin(c.roster.Lanes(), c.nowMillis, &fx.Outbox); err != nil {
		return err
	}
	c.log.SaveBegins()
	return nil
}

// Cutting reports whether a cut is under way.
func (c *Controller) Cutting() bool { return c.cut.Active() }

// CutAt returns the record of the cut that is under way, when everything that counts up to there was reported; 0:
// it has none yet, or none is under way.
func (c *Controller) CutAt() bellows.CommitNumber {
	if at := c.cut.RecordNumber(); c.log.Confirmed(at) {
		return at
	}
	return 0
}

// takeShard takes a lane's report about the cut.
func (c *Controller) takeShard(from wire.Address, m *wire.Shard, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	report := c.cut.TakeShard(from, m, c.roster.Route(), c.nowMillis)
	c.log.Confirm(report.Confirmed)
	if report.Done != nil {
		fx.Cuts = append(fx.Cuts, *report.Done)
	}
	c.giveUpCut(report.GiveUp, fx)
}

// tryCut makes the record of a cut as soon as that is possible at the end of a step.
func (c *Controller) tryCut(fx *Effects) {
	if c.ending.Begun() || c.recovery != nil || !c.begun || c.claims.Outstanding() == 0 || !c.cut.Ready() {
		return
	}
	c.control(bellows.Control{Kind: bellows.CutTables})
	saved, _ := c.Save()
	c.cut.Store(saved, c.roster.Route().Partitions(), c.nowMillis)
}

// CutKept says that a cut is safe. Lanes forget what they hold of it, and are asked whether they all have its
// record: when Covered says so, another controller may continue from it, and records before it may be forgotten
// (LetGo).
func (c *Controller) CutKept(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.cut.Stored(commit) || c.ending.Begun() {
		return
	}
	c.sendRecords(fx)
	c.cut.Finish(c.roster.Lanes(), &fx.Outbox)
	c.Covers(commit, fx)
}

// CutLost says that a cut could not be written down.
func (c *Controller) CutLost(commit bellows.CommitNumber, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.cut.Active() && c.cut.RecordNumber() == commit && commit > 0 {
		c.giveUpCut(reason, fx)
		c.conclude(fx)
	}
}

// giveUpCut ends a cut that does not come about, for a reason; empty: it goes on. The job continues.
func (c *Controller) giveUpCut(reason string, fx *Effects) {
	if reason == "" {
		return
	}
	done, active := c.cut.GiveUp(reason)
	if !active {
		return
	}
	fx.Cuts = append(fx.Cuts, done)
	if !c.ending.Begun() {
		fx.Notices = append(fx.Notices, done.Reason)
		c.cut.Cancel(c.roster.Lanes(), &fx.Outbox)
	}
}

// awaitCut gives up a cut that does not get on.
func (c *Controller) awaitCut(fx *Effects) { c.giveUpCut(c.cut.Overdue(c.nowMillis), fx) }
