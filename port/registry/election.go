package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bellows"
)

// Leadership is the state of a leader from winning an election until it resigns or its lease ends.
//
// Algorithm: a candidate puts the leader's key if it is free, with the candidate's lease, and never puts it again. The
// key's revision is the term. Resign or the end of the lease deletes the key, and the next put has a higher revision.
// Waiting candidates watch the key. All of them try at once then, which is right for the few that wait for one office.
type Leadership struct {
	Key  string
	Term Revision // a fencing token: a later leader has a higher one
}

// Holds returns the condition that the leadership still stands. It must accompany every write that only the leader may
// do.
func (l Leadership) Holds() Is { return Is{l.Key, l.Term} }

// Campaign waits until the caller leads the election of that key, or the context ends; the error then names the current
// leader. who is what others learn about the leader. A lease belongs to one process, so a leadership with the same
// lease is the caller's own, from a campaign whose answer was lost. ErrExpired: the lease has ended.
func Campaign(ctx context.Context, r Registry, key string, who []byte, lease Lease) (l Leadership, err error) {
	for {
		term, err := r.Put(ctx, key, who, lease.ID(), Is{key, 0})
		if err == nil {
			return Leadership{key, term}, nil
		}
		if !errors.Is(err, ErrChanged) {
			return l, err
		}
		leader, err := r.Get(ctx, key)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it has gone meanwhile
		case err != nil:
			return l, err
		case leader.Lease == lease.ID():
			return Leadership{key, leader.Revision}, nil
		}
		if err := awaitEnd(ctx, r, leader); err != nil {
			return l, err
		}
	}
}

// awaitEnd waits until a leader has gone.
func awaitEnd(ctx context.Context, r Registry, leader Entry) error {
	w, err := r.Watch(leader.Key, leader.Revision)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if errors.Is(err, ErrBehind) {
			return nil // it is looked at anew
		}
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%s leads: %w", bellows.Printable(string(leader.Value), 80), context.Cause(ctx))
			}
			return Fault("wait to lead", leader.Key, err)
		}
		for _, c := range changes {
			if c.Key == leader.Key && c.Gone {
				return nil
			}
		}
	}
}

// Resign ends a leadership. That it has ended is no error.
func (l Leadership) Resign(ctx context.Context, r Registry) error {
	err := r.Delete(ctx, l.Key, l.Holds())
	if errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}
