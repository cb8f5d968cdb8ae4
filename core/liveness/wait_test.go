package liveness_test

import (
	"testing"

	"bellows/core/liveness"
)

// TestAWaitIsNamedOnce looks at a wait before and after its notice, which is 100 ms.
func TestAWaitIsNamedOnce(t *testing.T) {
	var w liveness.Wait
	look := func(now, waited int64, named bool) {
		t.Helper()
		if millis, name := w.Look(now, 100); millis != waited || name != named {
			t.Errorf("at %d: waited %d, named %v; want %d, %v", now, millis, name, waited, named)
		}
	}
	w.Begin(1000)
	look(1100, 100, false)
	look(1101, 101, true)
	look(1200, 200, false)
	w.Next(1300) // after 300: the next is unusual from 1200 on
	look(2500, 1200, false)
	look(2501, 1201, true)
	w.Next(2600) // after 1300
	w.Next(2700) // the longest counts
	look(7900, 5200, false)
	look(7901, 5201, true)
	w.Restart(8000)
	look(8101, 101, true)
	w.Begin(9000)
	w.Skip(500)
	look(9600, 100, false)
	look(9601, 101, true)
}
