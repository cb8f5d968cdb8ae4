package server

import "testing"

// TestGapsClose records the flushes of a client out of order: what is remembered one by one shrinks to what has a gap before it.
func TestGapsClose(t *testing.T) {
	var r recorded
	for i, c := range []struct {
		seq  uint64
		upTo uint64
		gaps int
	}{{3, 0, 1}, {2, 0, 2}, {5, 0, 3}, {1, 3, 1}, {6, 3, 2}, {4, 6, 0}, {7, 7, 0}} {
		if r.add(c.seq); r.upTo != c.upTo || len(r.above) != c.gaps {
			t.Errorf("after %d flushes: all up to %d, and %v; want %d and %d more", i+1, r.upTo, r.above, c.upTo, c.gaps)
		}
	}
}
