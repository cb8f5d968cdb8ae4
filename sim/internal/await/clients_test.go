package await

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/model"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/trace"
)

// TestLongWaitForLaneIsNamed posts a push that no lane holds.
func TestLongWaitForLaneIsNamed(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		job, lane := model.Jobs[0](), wire.LaneAt(0, 0)
		r := route.Spread(job.Schemas, job.Splits, []wire.Address{lane}, []bellows.NodeID{1})
		h := account.NewHistory(r)
		tr := &trace.Trace{Clock: new(int64)}
		ledger := &account.Watch{Ledger: account.NewLedger(r), Trace: tr, History: &h, Width: func(bellows.TableID) int { return 1 }}
		w := Clients{Trace: tr, Coverage: new(coverage.Coverage), Ledger: ledger, Route: func() *route.Route { return r }, Lossy: new(bool), Patience: 100}
		common := core.Job{Controller: wire.ControllerAt(), Nodes: 2, Lanes: r.Lanes(), Clients: r.Clients(), Incarnations: []uint32{1},
			Tables: job.Schemas, Route: r, Items: job.Items, Units: job.Units}
		w.AddClient(&nodestate.Node{Number: 1, PausedUntil: -1}, client.New(common, wire.ClientAt(1), client.Options{}))
		w.AddLane(lane)
		id := bellows.FlushID{Client: 1, Seq: 1}
		push := wire.Envelope{From: wire.ClientAt(1), To: lane, Message: &wire.Push{Flush: id, Pairs: []wire.Pair{{Generation: 1}}}}
		ledger.Posted(push)
		w.Posted(push)
		if *tr.Clock = 50; named && !w.Name(1, fmt.Sprintf("%v has waited 1 s for %v to hold it, gives up after 9 s", id, lane)) {
			t.Error("the notice is about no flush")
		}
		*tr.Clock = 300
		if w.Tick(1); (tr.Violation == "") != named {
			t.Errorf("named %v, violation %q", named, tr.Violation)
		}
	}
}
