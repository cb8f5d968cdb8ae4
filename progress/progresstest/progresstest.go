// Package progresstest ends long work at a chosen look at its context, so that a test sees it stop at every point and depends on no time.
//
// Its caller gives EndsAnywhere the work. The package refuses work that never looks, and work that goes on.
package progresstest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// Countdown is a context that ends at a look at it. It has no Done: who waits for that waits for its parent's.
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

// Over returns how often it was looked at behind its end.
func (c *Countdown) Over() int64 { return max(0, -c.left.Load()) }

// EndsAnywhere does the work again and again, and ends it at ever later looks, until it comes to its own end. Wherever it is ended its error is the
// context's, and it looks at most so often again: each of its workers does its block, and no other.
func EndsAnywhere(t *testing.T, more int64, work func(ctx context.Context) error) {
	t.Helper()
	for looks := int64(0); ; looks = looks*5/4 + 1 {
		ctx := After(t.Context(), looks)
		err := work(ctx)
		switch {
		case err == nil && looks == 0:
			t.Fatal("the work never looks whether to go on")
		case err == nil:
			return
		case !errors.Is(err, context.Canceled):
			t.Fatalf("ended at look %d: %v", looks, err)
		case ctx.Over() > more:
			t.Fatalf("ended at look %d, it looked %d times more", looks, ctx.Over())
		}
	}
}
