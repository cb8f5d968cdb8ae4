package sim

import (
	"runtime"
	"sync"
	"testing"

	"bellows/core/partition"
	"bellows/core/partition/partitiontest"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/mirrors"
	"bellows/sim/internal/schedule"
)

// TestMirrors attaches a mirror to the log of every partition of every lane, copies that are on their
// way included, and plays schedules with moves, cuts, deaths and rollbacks. Each mirror has the bits of
// its partition at each cut, move and end, and whenever it reads; some read late.
func TestMirrors(t *testing.T) {
	t.Parallel()
	seeds := special
	var counts [partition.Loaded + 1]int
	lost := 0
	var lock sync.Mutex
	var group sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		group.Go(func() {
			for seed := core; seed < seeds; seed += cores {
				list := mirrored(t, uint64(seed+1))
				lock.Lock()
				for _, m := range list {
					lost += m.Lost
					for kind, n := range m.Counts {
						counts[kind] += n
					}
				}
				lock.Unlock()
			}
		})
	}
	group.Wait()
	for kind, n := range counts {
		if n == 0 {
			t.Errorf("no change of kind %d in %d schedules", kind, seeds)
		}
	}
	if lost == 0 {
		t.Error("no mirror was cut off")
	}
	t.Logf("changes by kind: %v; %d mirrors were cut off", counts, lost)
}

// mirrored plays a schedule and returns the mirrors of its partitions.
func mirrored(t *testing.T, seed uint64) []*partitiontest.Mirror {
	m := mirrors.Mirrors{Job: schedule.New(seed).Job, Every: 1, Must: func(err error) {
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}}
	if r := newWorld(seed, nil, grid.Hooks{OnPartition: m.Follow}).runEras(seed); r.Violation != "" {
		t.Errorf("seed %d: %s", seed, r.Violation)
	}
	m.Final()
	return m.List
}
