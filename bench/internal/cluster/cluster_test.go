package cluster

import (
	"testing"

	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// TestExchangeEndsAfterItsClocks counts the rounds that have ended, and the reports of a job of Clocks.
func TestExchangeEndsAfterItsClocks(t *testing.T) {
	t.Parallel()
	schema := table.Schema{Name: "weights", Rows: 20, Width: 3}
	const clocks, splits = 5, 4
	reports := 0
	opt := node.Options{OnEpoch: func(train.Epoch, node.Spent) { reports++ }}
	if err := (Launch{Slots: 2}).Run(Clocks(clocks, schema, splits), opt); err != nil || reports != 1 {
		t.Errorf("%d reports, %v; want one, of the first clock", reports, err)
	}
	rounds := 0
	job := Exchange(schema, splits, func(round int, _ *train.Dispatcher) bool {
		rounds++
		return round < clocks
	})
	if err := (Launch{Slots: 2}).Run(job, node.Options{}); err != nil || rounds != clocks+1 {
		t.Errorf("%d rounds, %v; want %d", rounds, err, clocks+1)
	}
}

func TestOnlyAnOrderMakesAChild(t *testing.T) {
	t.Parallel()
	if ran, err := RunChild("", nil); ran || err != nil {
		t.Errorf("ran %v without an order, %v", ran, err)
	}
}
