package jobend

import (
	"errors"
	"fmt"
	"strings"

	"bellows"
	"bellows/core/journal"
	"bellows/link/wire"
)

// Outcome is the result of a job.
type Outcome struct {
	Reason      string       // empty: the driver finished
	Kind        bellows.Kind // of a failure
	Err         error        // its cause, if that is in this process
	Interrupted bool         // by the user, at a point from which State continues
	Commits     bellows.CommitNumber
	// Out is how many units were out when the job ended before its time: their work counts nowhere, though lanes
	// may hold it.
	Out int
	// Counts are the sums of what all actors have counted. They do not add up if a controller that takes over ends the
	// job before it knows what the previous one has recorded: then lanes have come to different records, and each
	// counts by its own.
	Counts wire.Counts
	State  journal.State
	// Uncollected is why the collector has no state though the job has finished, or was interrupted; nil: it has.
	Uncollected error
}

// Failure returns the outcome of a job in which a task or an actor has failed. The cause is kept if it is in this
// process.
func Failure(from wire.Address, m *wire.Failed) *Outcome {
	kind, failed := m.Kind, from.String()
	if m.Err != nil {
		kind = bellows.KindOf(m.Err)
	}
	if m.Unit != (bellows.Unit{}) {
		failed = fmt.Sprintf("%v on %v", m.Unit, from)
	}
	return &Outcome{Kind: kind, Reason: fmt.Sprintf("%s failed: %s", failed, m.Reason), Err: m.Err}
}

// Failed reports whether the job has neither finished nor been interrupted.
func (o *Outcome) Failed() bool { return o.Reason != "" && !o.Interrupted }

// Failure returns why a job has left no tables, as the error of an operation; nil: it has finished or was interrupted,
// and its state has been collected.
func (o *Outcome) Failure(op string) error {
	if !o.Failed() {
		return o.Uncollected
	}
	cause := errors.New(o.Reason)
	switch {
	case o.Err == nil:
	case strings.HasSuffix(o.Reason, o.Err.Error()):
		cause = &explained{o.Reason, o.Err}
	default:
		cause = fmt.Errorf("%s: %w", o.Reason, o.Err)
	}
	return &bellows.Error{Kind: o.Kind, Op: op, Err: cause}
}

// explained is an error with another text, which contains its own.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }
