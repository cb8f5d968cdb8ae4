// Package lifecycle follows a simulated job from its first task to its outcome.
//
// A Watch sees the messages by which the job begins and ends; the simulation sets what node 0 does at its end. The package
// refuses to judge how a job ends.
package lifecycle

import (
	"strings"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
)

// Watch is how far a life of a job is:
//
//	joining     until the first tasks leave (Begun)
//	training    until a controller sends End (Ending)
//	ending      until there is an Outcome; the state is collected meanwhile
//	letting go  until node 0 has closed its connections (Released)
type Watch struct {
	Begun       bool
	Ending      bool
	EndedBy     bellows.Term // the newest controller that has sent End
	Outcome     *coord.Outcome
	Released    bool
	Interrupted bool     // the user has interrupted the job
	Asked       bool     // lanes were asked for their state
	LastWords   int      // Closed messages that have reached the controller
	Surrendered int      // messages with state that have arrived
	Notices     []string // of the controller, and those that reached it
	Begins      func()   // called when the first tasks leave
}

// IsOver reports whether the job is ending or has its outcome.
func (w *Watch) IsOver() bool { return w.Ending || w.Outcome != nil }

// Posted notes the first tasks and the end of the job.
func (w *Watch) Posted(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Dispatch:
		if !w.Begun {
			w.Begun = true
			w.Begins()
		}
	case *wire.End:
		if !m.Parts { // else it is for a lane that leaves, and the job continues
			w.Ending, w.EndedBy = true, max(w.EndedBy, m.Term)
		}
	case *wire.Collect:
		w.Asked = true
	}
}

// Delivered counts the messages that node 0 waits for at the end.
func (w *Watch) Delivered(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Closed:
		if e.To == wire.ControllerAt() {
			w.LastWords++
		}
	case *wire.Notice:
		w.Notices = append(w.Notices, m.Sentence)
	case *wire.Slab, *wire.Collected:
		w.Surrendered++
	}
}

// EndedFor reports whether the job ended for a reason that contains a sentence.
func (w *Watch) EndedFor(sentence string) bool {
	return w.Outcome != nil && strings.Contains(w.Outcome.Reason, sentence)
}

// Uncollected returns why the state has not reached node 0, or "" if it has, or was not asked for.
func (w *Watch) Uncollected() string {
	if w.Outcome == nil || w.Outcome.Uncollected == nil {
		return ""
	}
	return w.Outcome.Uncollected.Error()
}
