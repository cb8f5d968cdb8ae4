package agenda

import (
	"math"
	"math/rand/v2"
	"testing"
)

// asked is an event of the tests: when it is due, and the order in which it was asked for.
type asked struct {
	at    int64
	order int
}

// TestNext takes events out by time, and those of one time as they were put in, also where the order begins
// anew.
func TestNext(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	a := Agenda[asked]{order: math.MaxUint32 - 700}
	order := 0
	ask := func() {
		order++
		delay := rng.Int64N(20)
		a.After(delay, asked{a.Now() + delay, order})
	}
	for range 500 {
		ask()
	}
	var taken []asked
	for {
		e, ok := a.Next()
		if !ok {
			break
		}
		if e.at != a.Now() {
			t.Fatalf("an event of %d happened at %d", e.at, a.Now())
		}
		if taken = append(taken, e); len(taken)%3 == 0 && order < 2000 {
			ask()
		}
	}
	if len(taken) != order || a.Len() != 0 {
		t.Fatalf("%d events of %d happened, %d are left", len(taken), order, a.Len())
	}
	for i := 1; i < len(taken); i++ {
		a, b := taken[i-1], taken[i]
		if a.at > b.at || a.at == b.at && a.order > b.order {
			t.Fatalf("event %+v happened before %+v", a, b)
		}
	}
}
