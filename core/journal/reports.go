package journal

import (
	"bellows"
	"bellows/core/planted"
	"bellows/core/visits"
)

// Metric is one named figure of an epoch, by the names of the published schema: "test_rmse".
type Metric struct {
	Name  string
	Value float64
}

// Epoch is a driver's report when one pass over the data has been committed.
type Epoch struct {
	Number   int   // counted from 1
	Expected int   // epochs that the job is expected to take in all; 0: unknown
	Items    int64 // items visited in training since the job's start
	Metrics  []Metric
	Commit   bellows.CommitNumber // the last record before it: the controller's to say
}

// Told is what the step reports to the caller.
type Told struct {
	// Epochs that have ended: each after the visits up to its record, and before those that follow.
	Epochs []Epoch
	// Visits is the units of the flushes that got their numbers, in the order of these: what counts from now on.
	// What is replayed counted before.
	Visits []visits.Visit
}

// reports holds back epochs and visits until a lane has their records (Options.Confirms): where another process may
// replace this one, it must find everything that was reported.
//
// A lane is asked when an epoch waits, or many visits, and at each tick if anything waits. One question is under
// way at a time; one without an answer at the next tick is sent to another lane too. Nothing else waits: tasks are
// dispatched after their records are sent, not after a lane has confirmed them.
//
// Invariant: as long as the lane that has confirmed it lives, the next process finds all that was reported (the
// simulation of a process that is lost; TestReportsWaitForALane).
//
// Rejected: an acknowledgement of each record, which is a frame for each clock and lane; and to report what was written
// to a connection, which proves nothing if the machine dies.
type reports struct {
	visits    []visits.Visit
	epochs    []Epoch
	confirmed bellows.CommitNumber // the newest record that a lane has said it has
	asked     bellows.CommitNumber // the newest that a lane was asked about
	turn      int                  // counts the lanes that were asked
}

// visitsDue is how many visits wait until a lane is asked although no epoch has ended.
const visitsDue = 512

// empty reports whether nothing waits.
func (r *reports) empty() bool { return len(r.visits)+len(r.epochs) == 0 }

// confirm notes that a lane has the records up to one.
func (r *reports) confirm(last bellows.CommitNumber) { r.confirmed = max(r.confirmed, last) }

// release moves what may be reported to told.
func (r *reports) release(all bool, told *Told) {
	may := func(n bellows.CommitNumber) bool { return n <= r.confirmed || all || planted.On("told-unconfirmed") }
	n := 0
	for n < len(r.visits) && may(r.visits[n].Commit) {
		n++
	}
	if n > 0 {
		told.Visits = append(told.Visits, r.visits[:n]...)
		r.visits = append(r.visits[:0], r.visits[n:]...)
	}
	for n = 0; n < len(r.epochs) && may(r.epochs[n].Commit); n++ {
	}
	if n > 0 {
		told.Epochs = append(told.Epochs, r.epochs[:n]...)
		r.epochs = append(r.epochs[:0], r.epochs[n:]...)
	}
}

// due reports whether no question is under way, and an epoch or many visits wait.
func (r *reports) due() bool {
	return r.asked <= r.confirmed && (len(r.epochs) > 0 || len(r.visits) >= visitsDue)
}

// ask returns the turn of the lane that is asked about the records up to one: the lane of the last question, unless it
// has not answered.
func (r *reports) ask(upTo bellows.CommitNumber) (turn int) {
	if r.asked > r.confirmed {
		r.turn++
	}
	r.asked = upTo
	return r.turn
}
