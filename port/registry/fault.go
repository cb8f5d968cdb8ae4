package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"bellows"
)

// The possible errors of a registry, by errors.Is, in addition to fs.ErrNotExist and those of contexts.
var (
	// ErrChanged says that a condition does not hold.
	ErrChanged = errors.New("it has changed meanwhile")
	// ErrExpired says that a lease is over.
	ErrExpired = errors.New("the lease is over")
	// ErrBehind says that a watch cannot tell all changes: they are to be listed again.
	ErrBehind = errors.New("older changes are not known any more")
	// ErrTooMany says that a list is too long.
	ErrTooMany = fmt.Errorf("there are more than %d", EntriesMost)
	// ErrFull says that the registry has no space left.
	ErrFull = errors.New("the registry has no space left")
	// ErrClosed says that a Registry or Watch was used after its end.
	ErrClosed = errors.New("it is closed")
)

// Fault returns the error of a failed operation of a registry. Its kind and hint follow from its cause. op is the
// operation, such as "put". It returns nil for nil.
func Fault(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	e := &bellows.Error{Kind: bellows.Unavailable, Op: op, Subject: subject, Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind = bellows.Interrupted
	case errors.Is(err, context.DeadlineExceeded):
		e.Hint = "see whether the registry runs"
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = bellows.NoInput
	case errors.Is(err, ErrChanged):
		e.Kind = bellows.Refused
	case errors.Is(err, ErrExpired), errors.Is(err, ErrBehind):
		e.Kind = bellows.Lost
	case errors.Is(err, ErrFull):
		e.Kind = bellows.CannotWrite
	case errors.Is(err, ErrTooMany), errors.Is(err, ErrClosed):
		e.Kind = bellows.Bug
	}
	return e
}

var (
	keyForm    = regexp.MustCompile(`^[a-z0-9_=][a-z0-9_=.-]*(/[a-z0-9_=][a-z0-9_=.-]*)*$`)
	prefixForm = regexp.MustCompile(`^[a-z0-9_=.-]*(/[a-z0-9_=.-]*)*$`)
)

// CheckKey refuses a key that some registry could not have: parts between slashes, each of small letters, digits, "_",
// "=", "." and "-"; it begins with neither of the last two.
func CheckKey(key string) error {
	if len(key) > keyBytesMost || !keyForm.MatchString(key) {
		return bellows.Errorf(bellows.Bug, "name", bellows.Printable(key, keyBytesMost), "it is no key of at most %d bytes: small letters, digits, _ = . - in parts between /", keyBytesMost)
	}
	return nil
}

// CheckPrefix refuses what no key begins with.
func CheckPrefix(prefix string) error {
	if len(prefix) > prefixBytesMost || !prefixForm.MatchString(prefix) {
		return bellows.Errorf(bellows.Bug, "name", bellows.Printable(prefix, prefixBytesMost), "no key begins so")
	}
	return nil
}

// CheckPut refuses what no registry takes.
func CheckPut(key string, value []byte, where []Is) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if len(value) > ValueBytesMost {
		return bellows.Errorf(bellows.Bug, "put", key, "it has %d bytes, more than %d", len(value), ValueBytesMost)
	}
	if len(where) > ConditionsMost {
		return bellows.Errorf(bellows.Bug, "put", key, "it has %d conditions, more than %d", len(where), ConditionsMost)
	}
	for _, is := range where {
		if err := CheckKey(is.Key); err != nil {
			return err
		}
		if is.Revision < 0 {
			return bellows.Errorf(bellows.Bug, "put", key, "revision %d of %s is none", is.Revision, is.Key)
		}
	}
	return nil
}

// CheckTTL refuses times that no lease has.
func CheckTTL(ttl time.Duration) error {
	if ttl < LeaseLeast || ttl > LeaseMost {
		return bellows.Errorf(bellows.Bug, "grant", "a lease", "of %v: it must be from %v to %v", ttl, LeaseLeast, LeaseMost)
	}
	return nil
}
