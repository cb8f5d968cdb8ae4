package schedule

import (
	"bellows"
	"bellows/sim/internal/model"
)

// Shift is a partition that is to go to another lane while the job runs.
type Shift struct {
	Millis int64 // after the first tasks have left
	Ref    bellows.PartitionRef
	To     int // of the lanes that there are then
	Urgent bool
	Cancel int64 // it is given up so long after it was asked for; 0: it is not
}

// Phases name the progress of a move: its owner knows of it, rows are on their way, its owner is ready, or it is recorded and
// not all of the partition has come.
var Phases = [...]string{"offered", "copied", "ready", "recorded"}

// meddlings are what may befall a move: who asked for it changes their mind, the partition is to go elsewhere, the
// controller is lost, or the job is interrupted.
var meddlings = [...]string{"cancelled", "superseded", "controller followed", "interrupted"}

// drawMoves moves partitions in half of the lives: some once, some again and again.
func (s *Schedule) drawMoves() {
	s.Shifts, s.Meddle = nil, 0
	l := &s.Limits.Lane
	l.Window, l.Behind = 0, 0
	if s.Loss.Skip >= 0 || s.moving.IntN(2) == 0 || s.Job.Splits > model.SplitsDivided && s.moving.IntN(2) == 0 { // for a loss the job ends; wide jobs take long as they are
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

// Meddles draws what befalls a move at one of its steps, if anything does.
func (s *Schedule) Meddles() (how string, some bool) {
	if s.moving.IntN(1000) >= s.Meddle {
		return "", false
	}
	return meddlings[s.moving.IntN(len(meddlings))], true
}

// MovesKept returns partitions that are to move when the driver has kept the tables, in some lives in which others do.
func (s *Schedule) MovesKept() (list []Shift) {
	if len(s.Shifts) == 0 {
		return nil
	}
	for _, e := range s.Shifts[:s.moving.IntN(min(4, len(s.Shifts)+1))] {
		list = append(list, Shift{Millis: s.moving.Int64N(8), Ref: e.Ref, To: s.moving.IntN(12)})
	}
	return list
}

// Another draws a lane, of so many.
func (s *Schedule) Another(lanes int) int { return s.moving.IntN(lanes) }
