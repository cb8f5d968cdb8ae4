package blob

import (
	"context"
	"errors"
	"io/fs"

	"bellows"
)

// The possible errors of a store, by errors.Is, in addition to fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and those
// of contexts.
var (
	// ErrFull says that the store has no space left for it.
	ErrFull = errors.New("no space is left")
	// ErrReplaced says that the blob was replaced or deleted while it was read, and the store has the old one no more.
	ErrReplaced = errors.New("it was replaced while it was read")
	// ErrDamaged says that what was read is not what was published.
	ErrDamaged = errors.New("it is damaged")
	// ErrClosed says that a Reader or Writer was used after its end.
	ErrClosed = errors.New("it is closed")
)

// Fault returns the error of a failed operation on the blob or store of a URI. Its kind and hint follow from its cause.
// op is the operation, such as "read". It returns nil for nil.
func Fault(op, uri string, err error) error {
	if err == nil {
		return nil
	}
	e := &bellows.Error{Kind: bellows.IO, Op: op, Subject: uri, Err: bellows.Pathless(err)}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind = bellows.Interrupted
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = bellows.NoInput
	case errors.Is(err, fs.ErrExist):
		e.Kind = bellows.Refused
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = bellows.Refused, "check the permissions to read and write there"
	case errors.Is(err, ErrFull):
		e.Kind, e.Hint = bellows.CannotWrite, "free some space"
	case errors.Is(err, ErrDamaged):
		e.Kind = bellows.BadData
	case errors.Is(err, ErrClosed):
		e.Kind = bellows.Bug
	}
	return e
}
