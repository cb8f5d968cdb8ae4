package sim

import (
	"flag"
	"testing"
)

var schedules = flag.Int("sim.schedules", 0, "how many")

func TestSchedules(t *testing.T) {
	for n := 1; n <= *schedules; n++ {
		if got := Run(); got != n {
			t.Fatalf("seed %d counts %d", n, got)
		}
	}
}
