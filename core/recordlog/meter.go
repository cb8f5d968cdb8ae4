package recordlog

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Meter measures how much of the lanes' tails the records of a controller use, so that the job is saved before a tail
// drops a record that another controller would need. It runs at the controller, which numbers every record that a lane
// keeps; lanes need not report their tails.
//
// The caller's duties: Add each record in the order of the numbers, including those that a new controller has read from
// a tail; call Mark when it copies the state of the controller, Asked when a save begins, and Saved when another
// controller would find the saved state.
//
// Invariant: before a lane with a tail of Most bytes drops a record after the last saved state, Due has reported true
// (the simulation; planted: tail-half-unwatched, tail-unmeasured-after-failover).
type Meter struct {
	// Most is how many bytes of records a lane keeps; negative: none, and no save is ever due.
	Most int

	total, base, asked int64 // bytes of all records so far; up to the saved state; when the last save began
	marks              []mark
	scratch            []byte
}

// mark is the bytes of all records up to one.
type mark struct {
	number bellows.CommitNumber
	total  int64
}

const (
	// dueShare is the share of the tail that makes a save due: the other half is for the records that come while the job is saved.
	dueShare = 2
	// againShare is the share of the tail that is filled before a failed save is due again.
	againShare = 8
	// marksMost bounds the marks. One save is under way at a time.
	marksMost = 16
)

// Add measures a record.
func (m *Meter) Add(r *wire.Record) {
	if m.Most < 0 {
		return
	}
	m.scratch = encode(m.scratch[:0], r)
	m.total += int64(len(m.scratch))
}

// Mark notes that the state after a record is copied, to be saved.
func (m *Meter) Mark(number bellows.CommitNumber) {
	if len(m.marks) == marksMost {
		m.marks = append(m.marks[:0], m.marks[1:]...)
	}
	m.marks = append(m.marks, mark{number, m.total})
}

// Asked notes that a save begins.
func (m *Meter) Asked() { m.asked = m.total }

// Saved notes that another controller would begin with the state after a record.
func (m *Meter) Saved(number bellows.CommitNumber) {
	n := 0
	for n < len(m.marks) && m.marks[n].number <= number {
		m.base = m.marks[n].total
		n++
	}
	if n > 0 {
		m.marks = append(m.marks[:0], m.marks[n:]...)
		m.asked = 0
	}
}

// Due reports whether the job should be saved now: half of a tail is used.
func (m *Meter) Due() bool {
	if m.Most < 0 || planted.On("tail-half-unwatched") {
		return false
	}
	return dueShare*(m.total-m.base) >= int64(m.Most) && (m.asked <= m.base || againShare*(m.total-m.asked) >= int64(m.Most))
}
