package virtual

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

// play asks for 500 events and for more while they happen, and wants all to happen by time, those of one time in order. next takes
// an event and returns it with the time.
func play(t *testing.T, ask func(order int), next func() (e asked, now int64, ok bool)) {
	t.Helper()
	order := 0
	for ; order < 500; order++ {
		ask(order)
	}
	taken := 0
	for last := (asked{}); ; taken++ {
		e, now, ok := next()
		if !ok {
			break
		}
		if e.at != now || e.at < last.at || e.at == last.at && e.order < last.order {
			t.Fatalf("event %+v happened at %d after %+v", e, now, last)
		}
		if last = e; taken%3 == 0 && order < 2000 {
			ask(order)
			order++
		}
	}
	if taken != order {
		t.Fatalf("%d events of %d happened", taken, order)
	}
}

// TestQueue asks for events that are near and far.
func TestQueue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[*int]
	var last asked
	play(t, func(order int) {
		a := asked{q.Now + rng.Int64N([]int64{20, 20, 3 * nearMillis}[rng.IntN(3)]), order}
		q.After(a.at-q.Now, nil, func() { last = a })
	}, func() (asked, int64, bool) {
		e, ok := q.Next()
		if ok {
			e.Do()
		}
		return last, q.Now, ok
	})
}

// TestAgenda asks for so many events that their numbers begin anew.
func TestAgenda(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	a := Agenda[asked]{order: math.MaxUint32 - 700}
	play(t, func(order int) {
		delay := rng.Int64N(20)
		a.After(delay, asked{a.Time() + delay, order})
	}, func() (asked, int64, bool) {
		e, ok := a.Next()
		return e, a.Time(), ok
	})
	if a.Len() != 0 {
		t.Errorf("%d events are left", a.Len())
	}
}
