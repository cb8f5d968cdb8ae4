//go:build !race

package coord_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestSteadyStateAllocatesNothing plays clocks of two splits, each numbered in a step of its own. What is sent is
// freed by who gets it.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	d := newDesk(&endless{splits: 2}, 0)
	d.Start(&d.fx)
	d.fx.Reset()
	clock, result := 0, []float64{1}
	batch := make([]wire.Envelope, 1)
	turn := func() {
		for split := range bellows.SplitID(2) {
			m := wire.New[wire.Done]()
			m.Flush = bellows.FlushID{Client: bellows.NodeID(split + 1), Incarnation: 1, Seq: uint64(clock + 1)}
			m.Append(bellows.Unit{Split: split, Clock: bellows.Clock(clock), Items: bellows.Range{End: 1}}, result)
			batch[0] = wire.Envelope{From: clients[split], To: self, Message: m}
			d.Step(batch, &d.fx)
			if len(d.fx.Envelopes) != 2 { // a record and a dispatch
				t.Fatalf("said %q", d.said())
			}
			for _, e := range d.fx.Envelopes {
				wire.Free(e.Message)
			}
			d.fx.Reset()
		}
		clock++
	}
	for range 100 {
		turn()
	}
	if n := testing.AllocsPerRun(200, turn); n > 0 {
		t.Errorf("%v allocations a clock", n)
	}
}
