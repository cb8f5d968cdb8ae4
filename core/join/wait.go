package join

import (
	"fmt"

	"bellows"
	"bellows/core/liveness"
)

// Wait is a node's wait for others before a job begins. It is named while it lasts, and has an end. Times are
// milliseconds of any clock that only moves forward.
type Wait struct {
	self         bellows.NodeID
	withinMillis int64 // of the whole
	everyMillis  int64 // it is named so often,
	beganMillis  int64
	nextMillis   int64 // and then
}

// NewWait begins a wait of withinMillis.
func NewWait(self bellows.NodeID, times liveness.Times, withinMillis, nowMillis int64) Wait {
	every := times.Or().Notice
	return Wait{self, withinMillis, every, nowMillis, nowMillis + every}
}

// Next returns when the wait is to be looked at again.
func (w *Wait) Next() int64 { return min(w.nextMillis, w.beganMillis+w.withinMillis) }

// Name returns a sentence that says what is awaited, what was tried last, and until when. It is empty if the sentence
// is not due, or the wait is over.
func (w *Wait) Name(nowMillis int64, what string, last error) string {
	if nowMillis < w.nextMillis {
		return ""
	}
	w.nextMillis = nowMillis + w.everyMillis
	if nowMillis-w.beganMillis >= w.withinMillis {
		return "" // its end names it
	}
	tried := ""
	if last != nil {
		tried = fmt.Sprintf(" (%v)", last)
	}
	return fmt.Sprintf("node %d has waited %.1f s for %s%s; after %.1f s it gives up", w.self, float64(nowMillis-w.beganMillis)/1000, what, tried, float64(w.withinMillis)/1000)
}

// Expired returns the error of a wait that has lasted too long, else nil.
func (w *Wait) Expired(nowMillis int64) error {
	if nowMillis-w.beganMillis < w.withinMillis {
		return nil
	}
	return fmt.Errorf("waited for %.1f s", float64(w.withinMillis)/1000)
}
