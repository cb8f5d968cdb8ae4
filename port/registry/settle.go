package registry

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"bellows"
)

// settleTries is how often Settle tries: each try waits as long as the registry waits for an answer.
const settleTries = 8

// Settle puts a value over the one that the caller has read at revision was (0: none), and finds out what became of a
// Put whose answer was lost. ErrChanged: another client has put another value, or another condition does not hold. A
// client that puts the same value with the same lease counts as the caller.
func Settle(ctx context.Context, r Registry, key string, value []byte, lease LeaseID, was Revision, where ...Is) (Revision, error) {
	where = append([]Is{{key, was}}, where...)
	unsure := false
	for try := 1; ; try++ {
		at, err := r.Put(ctx, key, value, lease, where...)
		lost := bellows.KindOf(err) == bellows.Unavailable
		if err == nil || !lost && !(unsure && errors.Is(err, ErrChanged)) {
			return at, err
		}
		unsure = true
		e, got := r.Get(ctx, key)
		switch {
		case got == nil && e.Revision > was && e.Lease == lease && bytes.Equal(e.Value, value):
			return e.Revision, nil
		case !lost: // another one's value, or another condition
			return 0, err
		case got != nil && !errors.Is(got, fs.ErrNotExist) && bellows.KindOf(got) != bellows.Unavailable:
			return 0, got
		case ctx.Err() != nil || try == settleTries:
			return 0, err
		}
	}
}
