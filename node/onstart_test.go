package node_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/api"
	"bellows/node"
	"bellows/train"
)

// TestTheStartIsToldOnceWithAllNodes starts a job of a leader, two workers and a server: its nodes are told before anything else, what each
// does, and which process it is.
func TestTheStartIsToldOnceWithAllNodes(t *testing.T) {
	t.Parallel()
	var told []string
	gang{members: shapes["server apart"], lead: node.Options{
		OnStart: func(nodes []api.Node) {
			for _, n := range nodes {
				told = append(told, fmt.Sprintf("%s %v %s: %d slots, %d splits, %d partitions, known process %v", n.ID, n.Roles, n.State, n.Slots, n.Splits, n.Partitions, n.PID > 0))
			}
		},
		OnEpoch: func(e train.Epoch, _ node.Spent) { told = append(told, fmt.Sprintf("epoch %d", e.Number)) },
	}, job: func(bellows.NodeID) train.Job {
		j := job(2, drift)
		j.Driver.(*train.Rounds).Each = func(round int, _ [][]float64, to *train.Dispatcher) bool {
			to.ShowEpoch(train.Epoch{Number: round + 1})
			return round == 0
		}
		return j
	}}.done(t)
	want := []string{
		"node-0 [controller] running: 0 slots, 0 splits, 0 partitions, known process true",
		"node-1 [worker] running: 1 slots, 2 splits, 0 partitions, known process true",
		"node-2 [worker] running: 2 slots, 2 splits, 0 partitions, known process true",
		"node-3 [server] running: 0 slots, 0 splits, 4 partitions, known process true",
		"epoch 1", "epoch 2",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q, want\n%q", told, want)
	}
}
