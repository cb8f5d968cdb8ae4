package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bellows"
)

// Leadership is that somebody leads, from winning an election until it resigns, or its lease is over.
//
// Algorithm: the leader's key is put where nobody has it, with the lease of who campaigns, and is never put again. Its revision is the term. It is deleted by Resign or with the lease,
// and the next one to put it has a higher revision. Who waits watches the key. All who wait try at once then, which is right for the few that wait for one office.
type Leadership struct {
	Key  string
	Term Revision // a fencing token: a later leader has a higher one
}

// Holds is the condition that the leadership still stands. Put with it in all that only the leader may write.
func (l Leadership) Holds() Is { return Is{l.Key, l.Term} }

// Campaign waits until the caller leads the election of that key, or the context ends: the error says who leads instead. who is what others learn of the leader. A lease is of one process, so that
// a leadership of the same lease is the caller's own, from a campaign whose answer was lost. ErrExpired: the lease is over.
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
