package sim

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	seedFlag      = flag.Uint64("sim.seed", 0, "play this one seed, with its trace on stderr")
	schedulesFlag = flag.Int("sim.schedules", 0, "how many seeds to play, from 1 on")
)

func TestSchedules(t *testing.T) {
	if *seedFlag != 0 {
		r := Run(*seedFlag, os.Stderr)
		t.Logf("%+v", r)
		if r.Violation != "" {
			t.Error(r.Violation)
		}
		return
	}
	n := *schedulesFlag
	if n == 0 {
		n = 300
	}
	bad := 0
	ends := map[bool]int{}
	var millis int64
	for seed := uint64(1); seed <= uint64(n); seed++ {
		r := Run(seed, nil)
		ends[r.Reason == ""]++
		millis += r.Millis
		if r.Violation != "" {
			bad++
			fmt.Printf("seed %d: %s\n", seed, r.Violation)
			if bad > 20 {
				t.FailNow()
			}
		}
	}
	t.Log(ends, millis/int64(n))
	if bad > 0 {
		t.Fail()
	}
}
