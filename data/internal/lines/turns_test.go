package lines

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// TestPartsEndInOrder hands parts to goroutines that come to them in any order.
func TestPartsEndInOrder(t *testing.T) {
	t.Parallel()
	const parts = 200
	turns, jobs := NewTurns(), make(chan int)
	var all sync.WaitGroup
	var order []int
	for range 4 {
		all.Go(func() {
			for n := range jobs {
				if err := turns.Wait(n); err != nil {
					t.Error(err)
				}
				order = append(order, n) // the turn is a lock
				turns.End(n, nil)
			}
		})
	}
	want := make([]int, parts)
	for n := range parts {
		jobs <- n
		want[n] = n
	}
	close(jobs)
	all.Wait()
	if !slices.Equal(order, want) || turns.Err() != nil {
		t.Errorf("%v, %v", order, turns.Err())
	}
}

// TestTheFirstErrorStays: it is that of the lowest number, whoever failed first by the clock, and later parts have no
// turn.
func TestTheFirstErrorStays(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	turns := NewTurns()
	var late sync.WaitGroup
	late.Go(func() { turns.End(2, two) })
	turns.End(0, nil)
	turns.End(1, one)
	late.Wait()
	if err := turns.Wait(3); err != ErrBefore || turns.Err() != one {
		t.Errorf("%v, %v", err, turns.Err())
	}
}
