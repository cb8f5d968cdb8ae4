package migration

import (
	"testing"
	"time"

	"bellows/link/wire"
)

// TestPaceRestsBetweenWindows gives reports about one copy: a whole window rests once, a part of one is dropped, and
// others are delivered at once. Nothing is kept of a copy that hurries.
func TestPaceRestsBetweenWindows(t *testing.T) {
	t.Parallel()
	var p Pace
	take := func(m *wire.Taken, state CopyState, now time.Duration, want Delivery, wantRest time.Duration) {
		t.Helper()
		if what, rest := p.Take(m, state, now); what != want || rest != wantRest {
			t.Errorf("at %v a report in state %d gets %d, %v; want %d, %v", now, state, what, rest, want, wantRest)
		}
	}
	take(&wire.Taken{Copy: 3}, CopyBegins, time.Second, Deliver, 0)
	take(&wire.Taken{Copy: 3, Number: 1}, CopyUnderWay, time.Second+time.Millisecond, Drop, 0)
	whole := &wire.Taken{Copy: 3, Number: 4}
	take(whole, CopyRests, time.Second+2*time.Millisecond, Rest, 60*time.Millisecond)
	take(whole, CopyRests, time.Second+62*time.Millisecond, Deliver, 0)
	if len(p.held) > 0 {
		t.Errorf("%v is kept after its rest", p.held)
	}
	next := &wire.Taken{Copy: 3, Number: 8} // its window is measured from the end of the rest
	take(next, CopyRests, time.Second+63*time.Millisecond, Rest, 30*time.Millisecond)
	take(next, CopyRests, time.Second+93*time.Millisecond, Deliver, 0)
	take(&wire.Taken{Copy: 3, Number: 12}, CopyRests, time.Minute, Rest, RestMost)
	take(&wire.Taken{Copy: 3, Number: 13}, CopyHurries, time.Minute, Deliver, 0)
	if len(p.since) > 0 {
		t.Errorf("%v is kept of a copy that hurries", p.since)
	}
}
