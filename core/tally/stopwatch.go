package tally

import "time"

// Stopwatch adds up the time in which something goes on. Times are those since any fixed moment.
type Stopwatch struct {
	on    bool
	since time.Duration // while on
	sum   time.Duration // before since
}

// On reports whether it goes on now.
func (s *Stopwatch) On() bool { return s.on }

// Set says whether it goes on from now on.
func (s *Stopwatch) Set(now time.Duration, on bool) {
	s.sum, s.since, s.on = s.Total(now), now, on
}

// Total is for how long it has gone on.
func (s *Stopwatch) Total(now time.Duration) time.Duration {
	if !s.on {
		return s.sum
	}
	return s.sum + now - s.since
}
