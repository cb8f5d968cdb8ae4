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
func (c *Controller) Save() (Saved, bool) {
	if c.log.Number() == 0 || !c.begun || c.ending.Begun() {
		return Saved{}, false
	}
	s := Saved{State: c.state(), Gathered: c.cut.Gathered(), Draining: c.agenda.draining}
	c.log.Save(&s)
	c.roster.Save(&s)
	c.claims.Save(&s)
	s.Finishing = c.agenda.finishing
	return s, true
}

// state is what the job's next life begins with.
func (c *Controller) state() State {
	s := State{Driver: slices.Clone(c.cfg.Driver.Save()), Queue: slices.Clone(c.agenda.queue),
		Staleness: slices.Clone(c.agenda.staleness)}
	s.Complete = c.claims.Completed()
	return s
}

// restore is Save's way back, for a controller that is new. It says nothing to anybody: that is the
// recovery's.
func (c *Controller) restore(s Saved) error {
	if s.Commit == 0 && s.Complete == nil { // from its very beginning
		return nil
	}
	if err := c.Resume(s.State); err != nil {
		return err
	}
	if s.Commit == 0 {
		return nil
	}
	c.agenda.resumed = nil
	if err := c.claims.Restore(&s); err != nil {
		return err
	}
	if err := c.roster.Restore(&s, c.nowMillis); err != nil {
		return err
	}
	c.log.Restore(&s)
	c.cut.Restore(s.Gathered)
	c.agenda.draining = s.Draining
	for i := range s.Out {
		t := &s.Out[i]
		c.claims.Claim(t.Unit, t.Args, t.Commit, c.roster.Route().Node(t.Unit.Split), false)
	}
	return nil
}

// Covers asks the lanes whether they all have the records up to one after which the controller was
// saved. Covered says when they do: from then on the caller may go by that state, and forgets the
// one before. Then it says so by LetGo.
func (c *Controller) Covers(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if !c.ending.Begun() && c.recovery == nil {
		c.log.AskAll(commit, c.roster.Lanes(), &fx.Outbox)
	}
}

// Covered is the last record that was asked about and that every lane has.
func (c *Controller) Covered() bellows.CommitNumber { return c.log.Covered() }

// LetGo lets the lanes forget the records up to one, which another controller will not need: the
// caller goes by a state that covers them, and every lane remembers by itself which flushes have a
// number, whoever may send them again. Lanes hear of it with the records that follow
// (wire.Records.Keep).
func (c *Controller) LetGo(commit bellows.CommitNumber) { c.log.Forget(commit) }

// CutDue reports whether a cut should begin now, before the time of the next: the records since the job was last
// saved use half of each lane's tail. If they use all of it before the job is saved, another controller cannot take
// over, and the loss of this one rolls the job back.
func (c *Controller) CutDue() bool {
	return c.log.SaveDue() && !c.cut.Active() && c.begun && !c.ending.Begun()
}
