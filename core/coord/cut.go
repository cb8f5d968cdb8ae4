package coord

import (
	"bellows"
	"bellows/core/checkpoint"
)

// CutDone is a cut that is stored, to be written down; or, with a reason, one that was given up.
type CutDone = checkpoint.CutDone

// Cut begins a cut: package checkpoint has its steps. It fails where none can be taken now: ask again later.
func (c *Controller) Cut(fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	if err := c.cut.Begin(c.membership.Lanes(), c.nowMillis, &fx.Outbox); err != nil {
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

// CutKept says that a cut is safe. Lanes forget what they hold of it, and are asked whether they all have its
// record: when Covered says so, another controller may continue from it, and records before it may be forgotten
// (LetGo).
func (c *Controller) CutKept(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.cut.Stored(commit) || c.ending.Begun() {
		return
	}
	c.sendRecords(fx)
	c.cut.Finish(c.membership.Lanes(), &fx.Outbox)
	c.Covers(commit, fx)
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
		c.cut.Cancel(c.membership.Lanes(), &fx.Outbox)
	}
}
