//go:build !race

package fabric

import (
	"testing"

	"bellows/internal/require"
)

// TestTakingAFrameAllocatesNothing holds the way of a frame from its payload to its actor, checker included. (The race
// detector makes pools forget at random.)
func TestTakingAFrameAllocatesNothing(t *testing.T) {
	k := newIntake(t)
	h, frame := pushOf(t, 100)
	if n := testing.AllocsPerRun(100, func() {
		require.NoError(t, k.take(h, frame, true))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
