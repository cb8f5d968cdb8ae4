package checkpoint

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Cutter is the controller's end of a cut of the job at one record, which is taken while the job continues: the
// controller's state there, and all tables as they are after exactly the records before (docs/decisions/0063). It is
//
//	arming    each lane learns that a cut will come, and answers when no exclusive lease is left of an uncopied table
//	storing   the record is made; lanes give their partitions away, and report which are stored
//	stored    all are; the caller writes down what it gets (CutDone), and then calls Finish or GiveUp
//
// and can be given up in each, with a reason, which harms nothing: the next cut is a new attempt. That a lane is
// armed is no record, since nothing follows from it until the record is made. Lanes give a cut up when they hear of
// another controller.
//
// The record may be any: no flush waits for it. Clocks may be half gathered there: the units that count are part of the
// controller's state, and lanes give away what they have gathered of these clocks with their partitions
// (docs/decisions/0114).
//
// Invariants, and what holds them:
//
//   - The record is made when every lane is armed, whatever clocks are open: TestACutIsStored,
//     coord.TestCutTakesOpenClocks.
//   - A cut that does not get on is given up: TestACutThatStallsIsGivenUp.
//   - What a lane reports counts for the attempt that it names: TestReportsOfAnotherAttemptAreIgnored.
//
// Rejected: to stop the job for a cut, which costs every worker the time of the slowest lane (docs/decisions/0063).
type Cutter struct {
	job         core.Job
	term        bellows.Term
	attempt     uint64
	state       cutState
	unarmed     []wire.Address // lanes that are not armed yet
	saved       journal.Saved
	shards      []wire.Shard
	sinceMillis int64 // when the state began, or something of it came last
}

type cutState uint8

const (
	noCut cutState = iota
	arming
	storing
	stored
)

// CutDone is a cut that is stored, to be written down: all partitions of the job in the order of their names, and the
// controller's state. With a reason it was given up.
type CutDone struct {
	Saved  journal.Saved
	Shards []wire.Shard
	Reason string
}

// NewCutter returns the cutter of a job's controller in a term.
func NewCutter(job core.Job, term bellows.Term) *Cutter {
	return &Cutter{job: job, term: term}
}

// errCutting is temporary.
var errCutting = errors.New("a cut is under way: ask again when it has come to its end")

// Begin begins a cut: it arms the lanes. It fails if one is under way.
func (k *Cutter) Begin(lanes []wire.Address, nowMillis int64, out *wire.Outbox) error {
	if k.state != noCut {
		return errCutting
	}
	k.reset()
	k.state, k.unarmed, k.sinceMillis = arming, slices.Clone(lanes), nowMillis
	k.attempt++
	for _, a := range lanes {
		k.Arm(a, out)
	}
	return nil
}

// reset forgets the cut.
func (k *Cutter) reset() {
	k.state, k.unarmed, k.saved, k.shards, k.sinceMillis = noCut, nil, journal.Saved{}, nil, 0
}

// Arm arms a lane, if a cut will come.
func (k *Cutter) Arm(lane wire.Address, out *wire.Outbox) {
	if k.state == arming {
		out.Send(k.job.Controller, lane, &wire.Cut{Term: k.term, Attempt: k.attempt})
	}
}

// Active reports whether a cut is under way.
func (k *Cutter) Active() bool { return k.state != noCut }

// RecordNumber returns the record of the cut; 0: it has none yet, or no cut is under way.
func (k *Cutter) RecordNumber() bellows.CommitNumber { return k.saved.Commit }

// Stored reports whether the cut at a record is stored.
func (k *Cutter) Stored(commit bellows.CommitNumber) bool {
	return k.state == stored && k.saved.Commit == commit
}

// Advance is what follows from a lane's report about the cut.
type Advance struct {
	GiveUp    string               // why the cut is to be given up; empty: it is not
	Confirmed bellows.CommitNumber // the record that the lane has; 0: it says nothing of that
	Done      *CutDone             // the cut is stored; nil: not yet
}

// TakeShard takes a lane's a. Those of another attempt are ignored.
func (k *Cutter) TakeShard(from wire.Address, m *wire.Shard, r *route.Route, nowMillis int64) (a Advance) {
	if m.Term != k.term || m.Attempt != k.attempt || k.state == noCut || k.state == stored {
		return a
	}
	switch {
	case m.Reason != "":
		a.GiveUp = fmt.Sprintf("%v: %s", from, m.Reason)
	case m.Commit == 0:
		k.disarm(from)
	case k.state == storing && m.Commit == k.saved.Commit && r.Contains(m.Ref):
		k.sinceMillis = nowMillis
		a.Confirmed = m.Commit
		if at := r.Number(m.Ref); k.shards[at].Commit == 0 {
			k.shards[at] = *m
		}
		if k.missing() < 0 || planted.On("cut-part-stored") {
			k.state = stored
			a.Done = &CutDone{Saved: k.saved, Shards: k.shards}
		}
	}
	return a
}

// disarm waits no more for a lane to be armed.
func (k *Cutter) disarm(lane wire.Address) {
	k.unarmed = slices.DeleteFunc(k.unarmed, func(a wire.Address) bool { return a == lane })
}

// missing returns the number of the first partition that is not stored; -1: all are.
func (k *Cutter) missing() int {
	return slices.IndexFunc(k.shards, func(s wire.Shard) bool { return s.Commit == 0 })
}

// Remove waits no more for an actor that was removed. If it is a lane that has a part of the cut, that goes with
// it, and the cut is to be given up for the reason that is returned.
func (k *Cutter) Remove(a wire.Address) (giveUp string) {
	switch k.state {
	case arming:
		k.disarm(a)
	case storing:
		if a.Role == wire.Lane {
			return fmt.Sprintf("%v has left", a)
		}
	}
	return ""
}

// Ready reports whether the record of the cut is to be made now: all lanes are armed.
func (k *Cutter) Ready() bool { return k.state == arming && len(k.unarmed) == 0 }

// Store begins to store the cut after its record was made.
func (k *Cutter) Store(saved journal.Saved, partitions int, nowMillis int64) {
	if planted.On("cut-out-forgotten") && len(saved.Out) > 1 {
		saved.Out = saved.Out[1:]
	}
	k.state, k.saved, k.shards, k.sinceMillis = storing, saved, make([]wire.Shard, partitions), nowMillis
}

// GiveUp ends a cut that does not come about; false: none is under way. The job continues.
func (k *Cutter) GiveUp(reason string) (CutDone, bool) {
	if k.state == noCut {
		return CutDone{}, false
	}
	what := "a cut"
	if k.saved.Commit > 0 {
		what = fmt.Sprintf("the cut at record %d", k.saved.Commit)
	}
	reason = fmt.Sprintf("%s was given up, and the next is tried at its time: %s", what, reason)
	done := CutDone{Saved: k.saved, Reason: reason}
	k.reset()
	return done, true
}

// Cancel tells lanes to forget the cut that was given up.
func (k *Cutter) Cancel(lanes []wire.Address, out *wire.Outbox) {
	for _, a := range lanes {
		out.Send(k.job.Controller, a, &wire.Cut{Term: k.term})
	}
}

// Finish ends a cut that the caller has written down. Lanes forget what they hold of it.
func (k *Cutter) Finish(lanes []wire.Address, out *wire.Outbox) {
	for _, a := range lanes {
		out.Send(k.job.Controller, a, &wire.Cut{Term: k.term, Attempt: k.attempt, Commit: k.saved.Commit, Whole: true})
	}
	k.reset()
}

// Skip leaves time in which the caller slept out of the wait.
func (k *Cutter) Skip(millis int64) { k.sinceMillis += millis }

// Overdue returns why the cut is to be given up; empty: it is not. It is if nothing of it has come about for as long as
// state is waited for.
func (k *Cutter) Overdue(nowMillis int64) string {
	if nowMillis-k.sinceMillis <= k.job.Times.Collect {
		return ""
	}
	seconds := float64(nowMillis-k.sinceMillis) / 1000
	switch k.state {
	case arming:
		if len(k.unarmed) == 0 {
			return fmt.Sprintf("no task has been out for %.1f s", seconds)
		}
		return fmt.Sprintf("%v has had a lease from before for %.1f s", k.unarmed[0], seconds)
	case storing:
		return fmt.Sprintf("nothing has been stored for %.1f s, and partitions are missing, number %d the first",
			seconds, k.missing())
	case stored:
		return fmt.Sprintf("it has not been written down for %.1f s", seconds)
	}
	return ""
}
