package sim

import (
	"runtime"
	"sync"
	"testing"

	"bellows/sim/internal/grid"
)

// TestSchedulesThatBorrow plays schedules in which tasks read tables with a barrier in the memory of their node's lanes,
// as they do outside the simulation. A row that changed under a task would break what the oracle expects of reads.
func TestSchedulesThatBorrow(t *testing.T) {
	t.Parallel()
	seeds := special
	var group sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		group.Go(func() {
			for seed := core; seed < seeds; seed += cores {
				w := newWorld(uint64(seed+1), nil, grid.Hooks{Borrow: 1})
				if r := w.runEras(uint64(seed + 1)); r.Violation != "" {
					t.Errorf("seed %d: %s", seed+1, r.Violation)
				}
			}
		})
	}
	group.Wait()
}
