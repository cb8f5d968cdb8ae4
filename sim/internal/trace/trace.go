// Package trace records what happens in a schedule: the hash of its events, a log for people, and the first promise that was
// broken.
//
// Make one Trace for a job, and set its clock whenever the job is resumed. Every checker reports to it. The package refuses to know
// what a promise is.
package trace

import (
	"fmt"
	"io"
	"strings"

	"bellows/sim/internal/msgcopy"
)

// Trace is the record of one schedule.
type Trace struct {
	Clock     *int64       // virtual time in milliseconds
	Hash      msgcopy.Hash // of all events, in order
	Messages  int          // that actors have posted
	Violation string       // the first promise that was broken; empty: none
	Only      string       // prefix of the formats of violations that are recorded
	Log       io.Writer    // nil: nothing is logged
}

// Event adds an event to the hash.
func (t *Trace) Event(what, a, b uint64) {
	t.Hash.Word(what<<56 ^ uint64(*t.Clock))
	t.Hash.Word(a)
	t.Hash.Word(b)
}

// Violated records a broken promise, if it is the first. It ends the schedule.
func (t *Trace) Violated(format string, args ...any) {
	if t.Violation == "" && strings.HasPrefix(format, t.Only) {
		t.Violation = fmt.Sprintf(format, args...)
		t.Note("VIOLATION %s", t.Violation)
	}
}

// Must records an error as a broken promise.
func (t *Trace) Must(err error) {
	if err != nil {
		t.Violated("%v", err)
	}
}

// Note adds a sentence to the hash and the log.
func (t *Trace) Note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	t.Hash.Text(s)
	if t.Log != nil {
		t.Print("%s", s)
	}
}

// Print writes a line to the log, which must be there.
func (t *Trace) Print(format string, args ...any) {
	fmt.Fprintf(t.Log, "%6d  %s\n", *t.Clock, fmt.Sprintf(format, args...))
}
