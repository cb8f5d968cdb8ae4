package sim

import (
	"flag"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"bellows"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
)

var (
	seedFlag      = flag.Uint64("sim.seed", 0, "play this one seed and print its trace")
	schedulesFlag = flag.Int("sim.schedules", 0, "how many seeds to play; 0: 3000, or 300 with -short")
	firstFlag     = flag.Uint64("sim.first", 1, "the first of them")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1000) // a schedule leaves little behind
	os.Exit(m.Run())
}

func schedules() int {
	switch {
	case *schedulesFlag > 0:
		return *schedulesFlag
	case testing.Short():
		return 300
	}
	return 3000
}

// complain fails the test for a broken promise and says how to see it again.
func complain(t *testing.T, r Result) {
	t.Helper()
	t.Errorf("seed %d: %s\n  to see it again: go test ./sim -run TestSchedules -v -sim.seed %d", r.Seed, r.Violation, r.Seed)
}

// play runs n seeds from first on, on all cores, and returns their results in order.
func play(first uint64, n int) []Result {
	results := make([]Result, n)
	var group sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		group.Go(func() {
			for i := core; i < n; i += cores {
				results[i] = Run(first+uint64(i), nil)
			}
		})
	}
	group.Wait()
	return results
}

// TestSchedules plays many seeds and holds them together: no promise is broken in any, the same job ends
// with the same bits wherever and however it ran, and the faults were injected where they should.
func TestSchedules(t *testing.T) {
	if *seedFlag != 0 {
		r := Run(*seedFlag, os.Stdout)
		t.Logf("seed %d: ended after %d ms and %d commits, reason %q, hash %016x", r.Seed, r.Millis, r.Commits, r.Reason, r.Hash)
		if r.Violation != "" {
			complain(t, r)
		}
		return
	}
	all := tally{began: processorTime(), covered: map[coverage.Event]int{}, known: map[coverage.Event]bool{}}
	const batch = 1000
	for played := 0; played < schedules() && all.failures == 0; played += batch {
		for _, r := range play(*firstFlag+uint64(played), min(batch, schedules()-played)) {
			all.add(t, &r)
		}
	}
	all.judge(t)
}

// TestFreshSchedules plays schedules that no earlier commit has played: the commit's hash chooses the seeds, so that a failure repeats.
func TestFreshSchedules(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	first := uint64(1 << 32)
	if commit, err := exec.Command("git", "rev-parse", "HEAD").Output(); err != nil {
		t.Logf("no commit chooses the seeds: git rev-parse HEAD: %v", err)
	} else if hash, err := strconv.ParseUint(string(commit[:8]), 16, 64); err != nil {
		t.Fatalf("the hash of the commit: %v", err)
	} else {
		first += hash
	}
	t.Logf("%d schedules from seed %d on", n, first)
	for _, r := range play(first, n) {
		if r.Violation != "" {
			complain(t, r)
		}
	}
}

// TestSeedsThatFailedAreKept plays schedules beyond those of every day that have shown a fault, of the product or of the simulation (docs/reliability.md).
func TestSeedsThatFailedAreKept(t *testing.T) {
	for _, seed := range []uint64{26441, 56807, 61825, 71261, 75550, 83287, 93043, 97645, 100189, 118933, 127244, 130119, 147842, 152806, 197249, 215771, 228561, 233564, 248082, 4316195841, 20269434, 20272085, 502758, 7228461066, 7967465781, 20270564, 20291375, 41299565, 61291218, 71297255, 5099812258, 6378508221, 6378503996, 4492597200, 948407905, 6378506563, 5137672584, 5656207884} {
		if r := Run(seed, nil); r.Violation != "" {
			complain(t, r)
		}
	}
}

// TestSplitsRunAhead plays schedules in which no table makes a split wait for others: the reports that its flushes are
// done, by way of several lanes, of one or of none, overtake each other.
func TestSplitsRunAhead(t *testing.T) {
	for _, r := range play(schedule.LooseSeeds, special) {
		if r.Violation != "" {
			complain(t, r)
		}
	}
}

// TestSurplusClients plays schedules in which some clients begin without splits, like the surplus processes of a job
// with too few parts of data.
func TestSurplusClients(t *testing.T) {
	for _, r := range play(schedule.SurplusSeeds, special) {
		if r.Violation != "" {
			complain(t, r)
		}
	}
}

// TestSchedulesWithAdvice plays schedules in which a job chooses its shape by false figures, at any moment.
func TestSchedulesWithAdvice(t *testing.T) {
	n, counts := special, map[string]int{}
	if testing.Short() {
		n = 10
	}
	for _, r := range play(schedule.AdvisedSeeds, n) {
		if r.Violation != "" {
			complain(t, r)
		}
		for e := range r.coverage.Seen() {
			if e.Name == "advice" {
				counts[e.Place]++
			}
		}
	}
	t.Logf("in %d schedules advice was %v", n, counts)
	for _, what := range []string{"begun", "reached", "back", "withdrawn", "superseded", "scaled", "followed", "impossible"} {
		if !testing.Short() && counts[what] < max(1, n/100) {
			t.Errorf("advice was %s in %d of %d schedules", what, counts[what], n)
		}
	}
}

// TestSizes sees that no schedule is smaller than the promises say: 2 servers, 3 clients, 4 partitions, 20 clocks.
func TestSizes(t *testing.T) {
	for seed := uint64(1); seed <= 2000; seed++ {
		s := schedule.New(seed)
		servers := map[bellows.NodeID]bool{}
		for _, a := range s.LaneAt {
			servers[a.Node] = true
		}
		partitions := 0
		for i := range s.Job.Schemas {
			cut := s.Job.Schemas[i].Cut()
			partitions += cut.Len()
		}
		if len(servers) < 2 || len(s.ClientAt) < 3 || partitions < 4 || s.Job.Clocks < 20 {
			t.Errorf("seed %d has %d servers, %d clients, %d partitions, %d clocks", seed, len(servers), len(s.ClientAt), partitions, s.Job.Clocks)
		}
	}
}

// repeated is the number of seeds that TestSameSeedSameTrace plays twice, special that of each test of special schedules.
// The soak plays more.
var repeated, special = 20, 100

// TestSameSeedSameTrace plays seeds twice: the seed decides everything that happens, and no schedule affects another
// that takes messages from the same pools.
func TestSameSeedSameTrace(t *testing.T) {
	n := repeated
	if testing.Short() { // under the race detector: every schedule takes the same pools
		n = 6
	}
	again := play(1, n)
	for i, a := range play(1, n) {
		if b := again[i]; !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: %+v, then %+v", a.Seed, a, b)
		}
	}
}
