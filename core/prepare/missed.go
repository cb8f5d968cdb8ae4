package prepare

import (
	"slices"

	"bellows/link/wire"
)

// Parts that never count, as the audit must know of them: every row delta that a client sends is applied or
// dropped at one lane, and so are the bits of its values (package audit, docs/decisions/0027). A part
// that is not held is missed by the lane where it came first. If its flush never gets a number it is
// dropped there. A part that is sent again is not missed again, so that each counts once wherever it went.

// missedMax bounds the parts that a client can have refused.
const missedMax = 1 << 20

// Missed returns the parts that are dropped unless their flushes get numbers. The list is the package's.
func (f *Flushes) Missed() []wire.Missed { return f.missed }

// Miss notes that a push is not held, so that it is dropped unless its flush gets a number.
func (f *Flushes) Miss(m *wire.Push) { f.miss(f.partsOf(m)) }

// Adopt takes over what a lane has missed that leaves the job.
func (f *Flushes) Adopt(list []wire.Missed) { f.miss(list) }

// miss notes parts that are not held here, and passes over those that it knows.
func (f *Flushes) miss(list []wire.Missed) {
	for _, one := range list {
		known := func(o wire.Missed) bool { return o.Flush == one.Flush && o.Ref == one.Ref }
		if !f.counted.Contains(one.Flush) && !slices.ContainsFunc(f.missed, known) {
			f.missed = append(f.missed, one)
		}
	}
}

// Rows returns how many row deltas a push has that was not sent again.
func (f *Flushes) Rows(m *wire.Push) (rows int64) {
	for _, one := range f.partsOf(m) {
		rows += one.Rows
	}
	return rows
}
