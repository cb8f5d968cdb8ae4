package lines

import (
	"errors"
	"sync"
)

// ErrBefore is why a part has no turn: one before it has failed.
var ErrBefore = errors.New("a part before this one has failed")

// Turns has goroutines that do numbered parts of some work end them in the order of their numbers.
//
// The caller's duties, in order: number the parts from 0 and hand them out in that order; Wait for a part's turn where the order matters;
// End every part, whatever became of it, or whoever has a later one waits for ever. Of what goes wrong it keeps that of the part with the lowest number.
//
// Invariant: part n has its turn when the parts 0 to n-1 have ended, and nobody else has one then. Lock: mu.
type Turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	next  int
	err   error // of the first part that failed
}

// NewTurns is the order of parts none of which has ended.
func NewTurns() *Turns {
	t := &Turns{}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// Wait returns when it is part n's turn: ErrBefore where one before it has failed.
func (t *Turns) Wait(n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wait(n)
}

func (t *Turns) wait(n int) error {
	for t.next < n {
		t.moved.Wait()
	}
	if t.err != nil {
		return ErrBefore
	}
	return nil
}

// End waits for part n's turn and ends it, with what went wrong or nil.
func (t *Turns) End(n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wait(n) == nil {
		t.err = err
	}
	t.next++
	t.moved.Broadcast()
}

// Err is what went wrong first.
func (t *Turns) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
