//go:build !race

package fabric

import "testing"

// TestTakingAFrameAllocatesNothing holds the way of a frame from its payload to its actor, checker included. (The race
// detector makes pools forget at random.)
func TestTakingAFrameAllocatesNothing(t *testing.T) {
	k := newIntake(t)
	h, frame := pushOf(t, 100)
	if n := testing.AllocsPerRun(100, func() {
		if err := k.take(h, frame, true); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
