package coord

import (
	"errors"
	"fmt"

	"bellows"
)

// Failure is why a job has left no tables, as the error of an operation; nil: it has finished, or was interrupted, and its state has been
// collected.
func (o *Outcome) Failure(op string) error {
	if o.Reason == "" || o.Interrupted {
		return o.Uncollected
	}
	cause := errors.New(o.Reason)
	if o.Err != nil {
		cause = fmt.Errorf("%s: %w", o.Reason, o.Err)
	}
	return &bellows.Error{Kind: o.Kind, Op: op, Err: cause}
}
