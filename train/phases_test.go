package train

import (
	"testing"
	"time"

	"bellows/core/tally"
)

// BenchmarkPhases is what measuring costs a task that waits for nothing.
func BenchmarkPhases(b *testing.B) {
	p := &phases{meter: tally.NewMeter(2), base: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		p.compute(1)
		p.compute(-1)
	}
}

// TestPhasesTakeNoMemory: they are told of every task and of every wait.
func TestPhasesTakeNoMemory(t *testing.T) {
	p := &phases{meter: tally.NewMeter(2), base: time.Now()}
	if n := testing.AllocsPerRun(100, func() {
		p.compute(1)
		p.spent()
		p.compute(-1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
