package tail

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Meter measures at a controller how much of the lanes' tails its records take, so that the job is saved before a tail
// lets go of a record that another controller would need. The controller has numbered every record that a lane keeps, so
// that no lane has to report its tail.
//
// The caller's duties: Add for each record in the order of the numbers, also for those that a controller which follows
// another has read from a tail; Mark where the state of the controller is saved; Asked where a save begins; Saved when
// that state is where another controller would find it.
//
// Invariant: if a lane with a tail of Most bytes has let go of a record that follows the last saved state, then Due
// reported true before that, after the save before it (the simulation; planted: tail-half-unwatched,
// tail-unmeasured-after-failover).
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
	// dueShare is the share of the tail from which on a save is due: the half that is left is for the records that come until it is done.
	dueShare = 2
	// againShare is the share of the tail that has to be filled before a save that has failed is due again.
	againShare = 8
	// marksMost bounds the saves that are remembered. One is under way at a time.
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

// Mark notes that the state after a record may be saved.
func (m *Meter) Mark(number bellows.CommitNumber) {
	if len(m.marks) == marksMost {
		m.marks = append(m.marks[:0], m.marks[1:]...)
	}
	m.marks = append(m.marks, mark{number, m.total})
}

// Asked notes that a save begins.
func (m *Meter) Asked() { m.asked = m.total }

// Saved notes that another controller would begin with the state after a record, and needs none of those up to it.
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

// Due reports whether the controller should be saved now, whatever the time of the next save: half of a tail is used.
func (m *Meter) Due() bool {
	if m.Most < 0 || planted.On("tail-half-unwatched") {
		return false
	}
	return dueShare*(m.total-m.base) >= int64(m.Most) && (m.asked <= m.base || againShare*(m.total-m.asked) >= int64(m.Most))
}
