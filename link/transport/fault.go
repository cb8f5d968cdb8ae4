package transport

import (
	"errors"
	"fmt"
	"io"

	"bellows"
)

// OpenFault returns the error of an attempt to connect: its kind is Refused if one side rejected the other, else
// Unavailable. Implementations of Transport return it.
func OpenFault(op, place string, err error) error {
	kind := bellows.Unavailable
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		kind = bellows.Refused
	}
	return &bellows.Error{Kind: kind, Op: op, Subject: place, Err: gone(err)}
}

// ConnFault returns the error of an open connection: the peer is Lost, unless the cause has a kind.
func ConnFault(op, remote string, err error) error {
	kind := bellows.Lost
	if inner := (*bellows.Error)(nil); errors.As(err, &inner) {
		kind = inner.Kind
	}
	return &bellows.Error{Kind: kind, Op: op, Subject: remote, Err: gone(err)}
}

// gone says what the end of a stream means.
func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it closed the connection or died: %w", err)
	}
	return err
}
