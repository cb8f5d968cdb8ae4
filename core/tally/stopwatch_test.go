package tally_test

import (
	"testing"

	"bellows/core/tally"
)

func TestAStopwatchAddsUpWhatGoesOn(t *testing.T) {
	t.Parallel()
	var s tally.Stopwatch
	for i, c := range []struct {
		now  int
		on   bool
		want int // at now
	}{{1, false, 0}, {3, true, 0}, {5, true, 2}, {9, false, 6}, {20, false, 6}, {30, true, 6}} {
		if s.Set(second(c.now), c.on); s.Total(second(c.now)) != second(c.want) || s.Running() != c.on {
			t.Errorf("step %d: %v, on: %v", i, s.Total(second(c.now)), s.Running())
		}
	}
	if s.Total(second(34)) != second(10) || s.Total(second(31)) != second(7) {
		t.Errorf("%v while it goes on", s.Total(second(34)))
	}
}
