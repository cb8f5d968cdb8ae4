package virtual

import (
	"math/rand/v2"
	"testing"
)

// TestQueue takes events out by time, and those of one time as they were put in.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[*int]
	type asked struct {
		at    int64
		order int
	}
	var taken []asked
	order := 0
	ask := func() {
		order++
		a := asked{q.Now + rng.Int64N([]int64{20, 20, 3 * nearMillis}[rng.IntN(3)]), order}
		q.After(a.at-q.Now, nil, func() { taken = append(taken, a) })
	}
	for range 500 {
		ask()
	}
	for {
		e, ok := q.Next()
		if !ok {
			break
		}
		if e.Do(); len(taken)%3 == 0 && order < 2000 {
			ask()
		}
		if last := taken[len(taken)-1]; last.at != q.Now {
			t.Fatalf("an event of %d ms happened at %d ms", last.at, q.Now)
		}
	}
	if len(taken) != order {
		t.Fatalf("%d events of %d happened", len(taken), order)
	}
	for i := 1; i < len(taken); i++ {
		a, b := taken[i-1], taken[i]
		if a.at > b.at || a.at == b.at && a.order > b.order {
			t.Fatalf("event %+v happened before %+v", a, b)
		}
	}
}
