package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

var (
	seedFlag      = flag.Uint64("sim.seed", 0, "play this one seed and print its trace")
	schedulesFlag = flag.Int("sim.schedules", 0, "how many seeds to play, from 1 on; 0: 2000, or 300 with -short")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(3200) // a schedule leaves little behind
	os.Exit(m.Run())
}

func schedules() int {
	switch {
	case *schedulesFlag > 0:
		return *schedulesFlag
	case testing.Short():
		return 300
	}
	return 2000
}

// complain fails the test for a broken promise and says how to see it again.
func complain(t *testing.T, r Report) {
	t.Helper()
	t.Errorf("seed %d: %s\n  to see it again: go test ./sim -run TestSchedules -v -sim.seed %d", r.Seed, r.Violation, r.Seed)
}

// play runs n seeds from first on, on all cores, and returns their reports in order.
func play(first uint64, n int) []Report {
	reports := make([]Report, n)
	var group sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		group.Go(func() {
			for i := core; i < n; i += cores {
				reports[i] = Run(first+uint64(i), nil)
			}
		})
	}
	group.Wait()
	return reports
}

// TestSchedules plays many seeds and holds them together: no promise is broken in any, the same job ends
// with the same bits wherever and however it ran, and the faults have struck where they should.
func TestSchedules(t *testing.T) {
	if *seedFlag != 0 {
		r := Run(*seedFlag, os.Stdout)
		t.Logf("seed %d: ended after %d ms and %d commits, reason %q, hash %016x", r.Seed, r.Millis, r.Commits, r.Reason, r.Hash)
		if r.Violation != "" {
			complain(t, r)
		}
		return
	}
	reports := play(1, schedules())
	finished, failures := 0, 0
	for _, r := range reports {
		if r.Reason == "" {
			finished++
		}
		if r.Violation != "" && failures < 10 {
			failures++
			complain(t, r)
		}
	}
	if n := len(reports); finished < n/4 || finished > 9*n/10 {
		t.Errorf("%d of %d schedules finished: the faults that end jobs are drawn too often or too seldom", finished, n)
	}
	t.Run("bits", func(t *testing.T) { sameBits(t, reports) })
	t.Run("coverage", func(t *testing.T) { coverage(t, reports) })
}

// sameBits sees that every shape of job finished in several schedules, always with the same BSP tables (P7).
func sameBits(t *testing.T, reports []Report) {
	var bits [shapes]uint64
	var times [shapes]int
	for _, r := range reports {
		if r.Reason != "" || r.bits == 0 {
			continue
		}
		if times[r.shape]++; times[r.shape] == 1 {
			bits[r.shape] = r.bits
		}
		if r.bits != bits[r.shape] {
			t.Errorf("seed %d: the BSP tables of shape %d end with other bits than before", r.Seed, r.shape)
		}
	}
	for shape, n := range times {
		if n < len(reports)/shapes/4 {
			t.Errorf("shape %d finished in %d of %d schedules", shape, n, len(reports))
		}
	}
}

// coverage sees that each fault strikes in each phase, and that rare events happen, in at least one schedule
// of a hundred; in few schedules, at all.
func coverage(t *testing.T, reports []Report) {
	least := 1
	if len(reports) >= 1000 {
		least = len(reports) / 100
	}
	var table strings.Builder
	fmt.Fprintf(&table, "schedules of %d in which a fault struck in a phase:\n%-10s", len(reports), "")
	for p := range phases {
		fmt.Fprintf(&table, " %16v", p)
	}
	for f := range faultKinds {
		fmt.Fprintf(&table, "\n%-10v", f)
		for p := range phases {
			n := 0
			for i := range reports {
				if reports[i].covered[f][p] {
					n++
				}
			}
			fmt.Fprintf(&table, " %16d", n)
			if n < least && possible(f, p) {
				t.Errorf("%v struck in %v in %d of %d schedules", f, p, n, len(reports))
			}
		}
	}
	for e := range events {
		n := 0
		for i := range reports {
			if reports[i].happened[e] {
				n++
			}
		}
		fmt.Fprintf(&table, "\n%-27v %d", e, n)
		if n < least {
			t.Errorf("%v: in %d of %d schedules", e, n, len(reports))
		}
	}
	t.Log(table.String())
}

// TestSameSeedSameTrace plays seeds twice: everything that happens is the seed's.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		if a, b := Run(seed, nil), Run(seed, nil); a != b {
			t.Errorf("seed %d: %+v, then %+v", seed, a, b)
		}
	}
}

// TestSeedsThatFailed plays every seed that ever broke a promise.
func TestSeedsThatFailed(t *testing.T) {
	text, err := os.ReadFile("testdata/seeds")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var seed uint64
		if _, err := fmt.Sscan(line, &seed); err != nil {
			continue // a comment
		}
		n++
		if r := Run(seed, nil); r.Violation != "" {
			complain(t, r)
		}
	}
	if n == 0 {
		t.Error("testdata/seeds names no seed")
	}
}
