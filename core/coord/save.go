package coord

import (
	"slices"

	"bellows"
	"bellows/core/journal"
)

// A checkpoint of the controller: together with the later records it is everything. A state may be used only when every
// lane has its record, since a controller that follows can ask for the records after it, and not for earlier ones.
// Lanes may forget records only when a state that covers them is safe. So the caller saves (Save), asks (Covers), waits
// (Covered), stores the state, and lets go (LetGo). Rejected: an acknowledgement of each record, which only a save
// needs (docs/decisions/0032).

// The types of a saved state are those of package journal.
type (
	// State is what a controller must know to continue a job elsewhere, besides the tables.
	State = journal.State
	// Saved is a controller's state after one of its records.
	Saved = journal.Saved
	// a task that was dispatched and has a flush without a number
	Out = journal.Out
)

// Save returns the state of the controller between two steps; false if it has recorded nothing since its beginning, or
// the job is ending.
func (c *machines) Save() (Saved, bool) {
	if c.log.Number() == 0 || !c.begun || c.ending.Begun() {
		return Saved{}, false
	}
	s := Saved{State: c.state()}
	c.log.Save(&s)
	c.membership.Save(&s)
	c.claims.Save(&s)
	c.agenda.Save(&s)
	return s, true
}

// state returns the state with which the job's next attempt begins.
func (c *machines) state() State {
	s := State{Driver: slices.Clone(c.cfg.Driver.Save()), Complete: c.claims.Completed()}
	c.agenda.State(&s)
	return s
}

// restore loads a saved state into a new controller. It sends no messages: the recovery does.
func (c *machines) restore(s Saved) error {
	if s.Commit == 0 && s.Complete == nil { // from its very beginning
		return nil
	}
	if err := c.Resume(s.State); err != nil {
		return err
	}
	if s.Commit == 0 {
		return nil
	}
	c.agenda.Restore(&s)
	c.claims.Restore(&s)
	if err := c.membership.Restore(&s, c.nowMillis); err != nil {
		return err
	}
	c.log.Restore(&s)
	c.claims.ClaimAll(s.Out, c.membership.Route(), false)
	return nil
}

// Resume continues a job from a saved state instead of its beginning; call it before Start.
func (c *machines) Resume(s State) error {
	if err := c.claims.Resume(s.Complete, s.Open); err != nil {
		return err
	}
	if err := c.cfg.Driver.Restore(s.Driver); err != nil {
		return err
	}
	c.agenda.Resume(&s)
	return nil
}

// Covers asks the lanes whether they all have the records up to the one of a saved state. When Covered reports that,
// the caller may use the state, and forgets the previous one. Then it calls LetGo.
func (c *machines) Covers(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.ending.Begun() && c.recovery == nil {
		c.log.AskAll(commit, c.membership.Lanes(), &fx.Outbox)
	}
}

// Covered returns the last record that was asked about and that every lane has.
func (c *machines) Covered() bellows.CommitNumber { return c.log.Covered() }

// LetGo lets the lanes forget the records up to one, because another controller will not need them: the caller uses a
// state that covers them, and every lane remembers which flushes have a number, whichever process sends them again.
// Lanes receive this with the records that follow (wire.Records.Keep).
func (c *machines) LetGo(commit bellows.CommitNumber) { c.log.Forget(commit) }

// CutDue reports whether a cut should begin now, before the time of the next: the records since the job was last
// saved use half of each lane's tail. If they use all of it before the job is saved, another controller cannot take
// over, and the loss of this one rolls the job back.
func (c *machines) CutDue() bool {
	return c.log.SaveDue() && !c.cut.Active() && c.begun && !c.ending.Begun()
}
