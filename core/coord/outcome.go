package coord

import (
	"errors"
	"fmt"
	"strings"

	"bellows"
	"bellows/link/wire"
)

// Outcome is how a job ended.
type Outcome struct {
	Reason      string       // empty: the driver finished
	Kind        bellows.Kind // of a failure
	Err         error        // its cause, where that is in this process
	Interrupted bool         // by the user, at a point from which State continues
	Commits     bellows.CommitNumber
	// Out is how many units were out when the job ended before its time: what they have done counts
	// nowhere, though perhaps lanes hold it.
	Out int
	// Counts are what all have counted. They do not add up where a controller that follows another ends
	// the job before it knows what the one before has recorded: lanes have come to different records
	// then, and each counts by its own.
	Counts wire.Counts
	State  State
	// Uncollected is why Options.Collector has no state though the job has finished, or was
	// interrupted; nil: it has.
	Uncollected error
}

// explained is an error whose text another one already has.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// Failure is why a job has left no tables, as the error of an operation; nil: it has finished, or
// was interrupted, and its state has been collected.
func (o *Outcome) Failure(op string) error {
	if o.Reason == "" || o.Interrupted {
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
