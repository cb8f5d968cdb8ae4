package tally

import "time"

// Stopwatch adds up the time in which it runs. Times are those since any fixed moment.
type Stopwatch struct {
	on    bool
	since time.Duration // while on
	sum   time.Duration // before since
}

// Running reports whether it runs now.
func (s *Stopwatch) Running() bool { return s.on }

// Set starts or stops it.
func (s *Stopwatch) Set(now time.Duration, on bool) {
	s.sum, s.since, s.on = s.Total(now), now, on
}

// Total returns how long it has run.
func (s *Stopwatch) Total(now time.Duration) time.Duration {
	if !s.on {
		return s.sum
	}
	return s.sum + now - s.since
}
