package coord

import (
	"slices"

	"bellows"
	"bellows/core/journal"
)

// A checkpoint of the controller: with the records behind it, it is everything. A state may be gone
// by only when every lane has its record, since a controller that follows can ask for what is
// behind it, and for nothing before; and lanes may forget records only when a state that covers
// them is safe. So the caller saves (Save), asks (Covers), waits (Covered), puts the state where it
// should be, and lets go (LetGo). Turned down: an acknowledgement of each record, for which only a
// save has a use (docs/decisions/0032).

// What is saved is the journal's: package journal has the words.
type (
	// State is what a controller must know to continue a job elsewhere, besides the tables.
	State = journal.State
	// Saved is a controller's state after one of its records.
	Saved = journal.Saved
	// Out is a task that was dispatched and whose flush has no number.
	Out = journal.Out
)

// Save is the controller as it is, between any two steps; false where there is nothing behind its
// beginning yet, or the job is ending.
func (c *machines) Save() (Saved, bool) {
	if c.log.Number() == 0 || !c.begun || c.ending.Begun() {
		return Saved{}, false
	}
	s := Saved{State: c.state()}
	c.log.Save(&s)
	c.roster.Save(&s)
	c.claims.Save(&s)
	c.agenda.Save(&s)
	return s, true
}

// state is what the job's next life begins with.
func (c *machines) state() State {
	s := State{Driver: slices.Clone(c.cfg.Driver.Save()), Complete: c.claims.Completed()}
	c.agenda.State(&s)
	return s
}

// restore is Save's way back, for a controller that is new. It says nothing to anybody: that is the
// recovery's.
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
	if err := c.roster.Restore(&s, c.nowMillis); err != nil {
		return err
	}
	c.log.Restore(&s)
	c.claims.ClaimAll(s.Out, c.roster.Route(), false)
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

// Covers asks the lanes whether they all have the records up to one after which the controller was
// saved. Covered says when they do: from then on the caller may go by that state, and forgets the
// one before. Then it says so by LetGo.
func (c *machines) Covers(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.ending.Begun() && c.recovery == nil {
		c.log.AskAll(commit, c.roster.Lanes(), &fx.Outbox)
	}
}

// Covered is the last record that was asked about and that every lane has.
func (c *machines) Covered() bellows.CommitNumber { return c.log.Covered() }

// LetGo lets the lanes forget the records up to one, which another controller will not need: the
// caller goes by a state that covers them, and every lane remembers by itself which flushes have a
// number, whoever may send them again. Lanes hear of it with the records that follow
// (wire.Records.Keep).
func (c *machines) LetGo(commit bellows.CommitNumber) { c.log.Forget(commit) }

// CutDue reports whether a cut should begin now, before the time of the next: the records since the job was last
// saved use half of each lane's tail. If they use all of it before the job is saved, another controller cannot take
// over, and the loss of this one rolls the job back.
func (c *machines) CutDue() bool {
	return c.log.SaveDue() && !c.cut.Active() && c.begun && !c.ending.Begun()
}
