package schedule

import (
	"bellows"
	"bellows/sim/internal/model"
)

// A Shift is a partition that is to move to another lane while the job runs.
type Shift struct {
	Millis int64 // after the first tasks have left
	Ref    bellows.PartitionRef
	To     int // index into the lanes of that moment
	Urgent bool
	Cancel int64 // it is cancelled so long after it was asked for; 0: never
}

// Phases name the progress of a move: its owner knows of it, rows are on their way, its owner is ready, or it is
// recorded and not all of the partition has come.
var Phases = [...]string{"offered", "copied", "ready", "recorded"}

// meddlings are the events that may disturb a move: it is cancelled, it is replaced by another target, the controller
// is lost, or the job is interrupted.
var meddlings = [...]string{"cancelled", "superseded", "controller followed", "interrupted"}

// drawMoves moves partitions in half of the attempts: some once, some again and again.
func (s *Schedule) drawMoves() {
	s.Shifts, s.Meddle = nil, 0
	l := &s.Limits.Lane
	l.Window, l.Behind = 0, 0
	// a loss ends the job; wide jobs take long anyway
	if s.Loss.Skip >= 0 || s.moving.IntN(2) == 0 || s.Job.Splits > model.SplitsDivided && s.moving.IntN(2) == 0 {
		return
	}
	n, apart, at := 1+s.moving.IntN(8), int64(60), int64(0)
	if s.moving.IntN(4) == 0 {
		n, apart = 10+s.moving.IntN(30), 1+s.moving.Int64N(100)
	}
	one := s.moving.IntN(3) == 0 // of one partition
	for range n {
		t := bellows.TableID(s.moving.IntN(len(s.Job.Schemas)))
		cut := s.Job.Schemas[t].Cut()
		e := Shift{Millis: at, Ref: bellows.PartitionRef{Table: t, Partition: bellows.PartitionID(s.moving.IntN(cut.Len()))}, To: s.moving.IntN(12), Urgent: s.moving.IntN(3) == 0}
		if one && len(s.Shifts) > 0 {
			e.Ref = s.Shifts[0].Ref
		}
		if s.moving.IntN(6) == 0 {
			e.Cancel = 1 + s.moving.Int64N(30)
		}
		s.Shifts = append(s.Shifts, e)
		at += s.moving.Int64N(apart + 1)
	}
	if s.moving.IntN(2) == 0 {
		s.Meddle = 1 + s.moving.IntN(60)
	}
	if s.moving.IntN(2) == 0 {
		l.Window = 1 + s.moving.IntN(400)
	}
	if s.moving.IntN(3) == 0 {
		l.Behind = 1 + s.moving.IntN(1<<s.moving.IntN(11))
	}
}

// Meddles draws whether an event disturbs a step of a move, and which.
func (s *Schedule) Meddles() (how string, some bool) {
	if s.moving.IntN(1000) >= s.Meddle {
		return "", false
	}
	return meddlings[s.moving.IntN(len(meddlings))], true
}

// MovesKept returns partitions that are to move when the driver has kept the tables, in some of the attempts with
// moves.
func (s *Schedule) MovesKept() (list []Shift) {
	if len(s.Shifts) == 0 {
		return nil
	}
	for _, e := range s.Shifts[:s.moving.IntN(min(4, len(s.Shifts)+1))] {
		list = append(list, Shift{Millis: s.moving.Int64N(8), Ref: e.Ref, To: s.moving.IntN(12)})
	}
	return list
}

// Another draws one of so many lanes.
func (s *Schedule) Another(lanes int) int { return s.moving.IntN(lanes) }
