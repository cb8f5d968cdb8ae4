package cluster

import (
	"testing"

	"bellows/bench/internal/pair"
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
	if (Launch{Slots: 2}).Run(Clocks(clocks, schema, splits), opt); reports != 1 {
		t.Errorf("%d reports; want one, of the first clock", reports)
	}
	rounds := 0
	job := Exchange(schema, splits, func(round int, _ *train.Dispatcher) bool {
		rounds++
		return round < clocks
	})
	if (Launch{Slots: 2}).Run(job, node.Options{}); rounds != clocks+1 {
		t.Errorf("%d rounds; want %d", rounds, clocks+1)
	}
}

func TestRoleWantsOneOrder(t *testing.T) {
	t.Parallel()
	if err := pair.Attempt(func() { Role(nil)(nil) }); err == nil {
		t.Error("a part of a job is played without its order")
	}
}
