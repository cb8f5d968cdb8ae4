package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestGrowthPercent holds the growth of heaps of several sizes against sums by hand, in MiB.
func TestGrowthPercent(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		alive, pointed uint64
		percent        int
	}{
		{0, 0, 100},                 // before the first collection
		{4, 1, 100},                 // small heaps double
		{100, 0, 24},                // values alone
		{100, 13, 50},               // 24 + 2 x 13
		{100, 90, 100},              // pointers
		{10_000, 20, 12},            // large tables
		{10_000, 2_000, 40},         // with many pointers
		{100, unlimited / mib, 100}, // what the user has set
		{1 << 30, 1 << 10, 12},      // 1 PiB
	} {
		if got := GrowthPercent(c.alive*mib, c.pointed*mib); got != c.percent {
			t.Errorf("%d MiB, %d of them pointed: %d %%, want %d %%", c.alive, c.pointed, got, c.percent)
		}
	}
}

// TestLimitGrowthFollowsTheHeap holds a large slab without pointers: after some collections the heap may grow by less
// than it may by default. When the slab is gone, the heap may double again.
func TestLimitGrowthFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(percentMost))
	LimitGrowth()
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	reach := func(what string, ok func(percent uint64) bool) {
		t.Helper()
		for range 10_000 {
			runtime.GC()
			metrics.Read(sample)
			if ok(sample[0].Value.Uint64()) {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("%s the growth of the heap is never changed", what)
	}
	slab := make([]float32, 100<<20)
	reach("with a large slab", func(percent uint64) bool { return percent <= 30 })
	runtime.KeepAlive(slab)
	reach("without the slab", func(percent uint64) bool { return percent == percentMost })
}

// TestGrowthIsTheUsers checks that LimitGrowth changes nothing if GOGC is set.
func TestGrowthIsTheUsers(t *testing.T) {
	t.Setenv("GOGC", "100")
	if !growthSet() || Measure(readFile).Pointed != unlimited && Measure(readFile).Resident > 0 {
		t.Error("GOGC is not seen")
	}
}
