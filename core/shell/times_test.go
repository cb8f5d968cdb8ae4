package shell_test

import (
	"testing"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/members"
	"bellows/core/shell"
	"bellows/link/wire"
)

// TestTheDefaultTimesFindTheSilentWithinThreeSeconds has a node beat and another one tick, as far apart from each other as they can be, until the first stops at any moment between two beats: it is
// declared gone within 3 s when it stops for good, and never when it stops for 2.5 s and its next beat is 100 ms late.
func TestTheDefaultTimesFindTheSilentWithinThreeSeconds(t *testing.T) {
	nobody := func(bellows.NodeID) bool { return false }
	const tick, begin = shell.TickMillis, 10 * shell.TickMillis
	for phase := int64(0); phase < tick; phase += 3 {
		for stops := int64(begin); stops < begin+tick; stops += 7 {
			for _, sleeps := range []int64{2500, 1 << 20} {
				r := members.NewRoll(0, []wire.Address{wire.ClientAt(1)}, liveness.Times{}.Or())
				r.Ready(1)
				wakes, heard, lost := stops+sleeps+100, uint64(0), int64(0)
				for now := int64(0); now <= stops+5000 && lost == 0; now++ {
					if now%tick == 0 && (now < stops || now >= wakes) || now == wakes {
						heard++
					}
					if now%tick == phase {
						r.Tick(now, []uint64{0, heard})
						if _, gone := r.Verdict(nobody, nobody); gone {
							lost = now
						}
					}
				}
				switch {
				case sleeps == 2500 && lost > 0:
					t.Fatalf("a stop of 2.5 s at %d ms: it is given up after %d ms", stops, lost-stops)
				case sleeps > 2500 && (lost == 0 || lost-stops > 3000):
					t.Fatalf("a stop for good at %d ms is noticed after %d ms", stops, lost-stops)
				}
			}
		}
	}
}
