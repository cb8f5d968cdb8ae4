// Package failover follows the controllers of a simulated job, and checks what lanes report to a new one.
//
// The simulation throws controllers away and makes others; a Watch sees what they send and receive, and says from what the next
// one begins. The package refuses to know how a controller is lost.
package failover

import (
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/fresh"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/model"
	"bellows/sim/internal/trace"
)

// FirstTerm is the term of the first controller of a life. The one before it is never played: messages are forged in its name.
const FirstTerm = 2

// Savepoint is a controller as it was saved, and what its driver knew that drivers do not save.
type Savepoint struct {
	coord.Saved
	Driver driver.Driver
}

// Saves is what the next controller may begin from.
type Saves struct {
	First   Savepoint // the beginning of the life
	Covered Savepoint // the newest that every lane covers; commit 0: none
	Asked   Savepoint // lanes were asked whether they cover it; commit 0: none
	Wanted  bool      // a save is due, or too late: lanes may drop records before one is made
}

// Newest returns the savepoint that the next controller begins from.
func (s *Saves) Newest() *Savepoint {
	if s.Covered.Commit > 0 {
		return &s.Covered
	}
	return &s.First
}

// Break is a loss of the controller between two of the messages of one step.
type Break struct {
	Due   bool // some messages of its next step do not leave
	NoOwn bool // of its messages none leaves
}

// Watch is what is known of the controllers of one life.
type Watch struct {
	*trace.Trace
	*coverage.Coverage
	Saves
	Break
	Term    bellows.Term         // of the newest
	Known   bellows.Term         // of the newest that knows what was recorded
	Told    bellows.CommitNumber // the newest record that was shown as counted
	Untrue  bool                 // no lane has the record that was shown
	Forked  bool                 // a route was lost with its process, and clients may have heard of it
	Another bool                 // the next controller runs in another process
	Confirm bool                 // a record is shown only when a lane has it

	CutShort bool // the job ended before its controller knew what was recorded
	Heard    int  // reports of what lanes hold
	Fresh    fresh.Checker
	Epochs   driver.Shown
	Barrier  bool // that of the model, when the life began

	View View
}

// View is what a Watch sees of the rest of the job.
type View struct {
	Ledger *account.Watch
	Oracle *model.Oracle
	Life   *lifecycle.Watch
	Knows  func() bool           // the controller knows what was recorded
	Lanes  func() []wire.Address // that take part now
	First  []wire.Address        // lanes that the job began with
}

// Later reports whether the controller has followed another.
func (w *Watch) Later() bool { return w.Term > FirstTerm }

// Show notes what node 0 shows of the job.
func (w *Watch) Show(fx *coord.Effects) {
	for _, v := range fx.Visits {
		w.Told = max(w.Told, v.Commit)
	}
	for _, e := range fx.Epochs {
		w.Must(w.Epochs.See(e.Number))
	}
}

// Posted checks that a flush is recorded only after it was reported done (P5), and notes a job that ends too early to know.
func (w *Watch) Posted(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Records:
		if e.From != wire.ControllerAt() {
			return
		}
		for i := range m.List {
			r := &m.List[i]
			if r.Control.Kind == bellows.NoControl && !w.View.Ledger.Done[r.Flush] &&
				!(w.Later() && w.View.Ledger.NumberedWithoutDone(w.View.Lanes(), r.Flush)) {
				w.Violated("P5: %v is recorded, and its client has not said done", r.Flush)
			}
		}
	case *wire.End:
		if m.Parts {
			return
		}
		w.CutShort = w.CutShort || w.Later() && !w.View.Knows()
		w.HitIf("added-lane-told-the-end", w.CutShort && e.From == wire.ControllerAt() && e.To.Role == wire.Lane &&
			!slices.Contains(w.View.First, e.To))
	}
}

// Delivered checks what lanes report that they hold.
func (w *Watch) Delivered(e wire.Envelope) {
	m, ok := e.Message.(*wire.Holding)
	if !ok {
		return
	}
	w.Heard++
	log := len(w.View.Oracle.Log)
	if w.View.Life.Ending || int(m.Last) > log {
		return
	}
	w.HitIf("lane-caught-up", w.Later() && int(m.Last) < log)
	w.Must(w.View.Ledger.Holds(e.From, m))
	touched := func(ref bellows.PartitionRef) bellows.CommitNumber { return w.View.Oracle.Touched(ref, m.Last) }
	w.Must(account.Holding(e.From, m, touched))
}

// CheckTail checks that a lane still keeps each record that the next controller needs (P9). Only while a save is wanted
// or under way may the tail have become too small for them. A lane that was added later begins after earlier records.
func (w *Watch) CheckTail(lane wire.Address, oldest bellows.CommitNumber) {
	need := w.Newest().Commit + 1
	if oldest > need && !w.Wanted && w.Asked.Commit == 0 && slices.Contains(w.View.First, lane) {
		w.Violated("P9: %v keeps records from %d on, and no save is wanted that makes those from %d on needless", lane, oldest, need)
	}
}
