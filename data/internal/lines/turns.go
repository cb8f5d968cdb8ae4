package lines

import (
	"errors"
	"sync"
)

// ErrBefore is returned to a part whose turn never comes, because a part before it has failed.
var ErrBefore = errors.New("a part before this one has failed")

// Turns makes goroutines that do numbered parts of some work end them in the order of their numbers.
//
// The caller's duties, in order: number the parts from 0 and start them in that order; call Wait before steps whose
// order matters; call End for every part, whatever became of it, or later parts wait for ever. Of several errors, Turns
// keeps that of the part with the lowest number.
//
// Invariant: part n has its turn when parts 0 to n-1 have ended, and no other part has one then. Lock: mu.
type Turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	next  int
	err   error // of the first part that failed
}

// NewTurns returns an order of parts none of which has ended.
func NewTurns() *Turns {
	t := &Turns{}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// Wait waits for part n's turn. It returns ErrBefore if a part before it has failed.
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

// End waits for part n's turn and ends it, with its error or nil.
func (t *Turns) End(n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wait(n) == nil {
		t.err = err
	}
	t.next++
	t.moved.Broadcast()
}

// Err returns the error of the first part that failed.
func (t *Turns) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
