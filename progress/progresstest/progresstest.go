// Package progresstest cancels long work at a chosen check of its context, so that a test stops it at every point and
// does not depend on time.
//
// Its caller gives EndsAnywhere the work. Work that never checks fails the test, and so does work that continues after
// the end.
package progresstest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// Countdown is a context that ends at a given check. It has no Done: a wait for that waits for its parent's.
type Countdown struct {
	context.Context
	left atomic.Int64
}

// After returns a context that ends when it has been looked at so often.
func After(parent context.Context, looks int64) *Countdown {
	c := &Countdown{Context: parent}
	c.left.Store(looks)
	return c
}

// Err implements context.Context, and counts the look.
func (c *Countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Excess returns how often it was checked after its end.
func (c *Countdown) Excess() int64 { return max(0, -c.left.Load()) }

// EndsAnywhere repeats the work and ends it at ever later checks, until it completes. Wherever it is ended, its error
// is the context's, and it checks at most so often again: each of its workers finishes its block, and no other.
func EndsAnywhere(t *testing.T, more int64, work func(ctx context.Context) error) {
	t.Helper()
	for looks := int64(0); ; looks = looks*5/4 + 1 {
		ctx := After(t.Context(), looks)
		err := work(ctx)
		switch {
		case err == nil && looks == 0:
			t.Fatal("the work never checks its context")
		case err == nil:
			return
		case !errors.Is(err, context.Canceled):
			t.Fatalf("ended at look %d: %v", looks, err)
		case ctx.Excess() > more:
			t.Fatalf("ended at look %d, it looked %d times more", looks, ctx.Excess())
		}
	}
}
