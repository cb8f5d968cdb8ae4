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
		lane := wire.LaneAt(0, 0)
		w := watchClients(lane)
		id := bellows.FlushID{Client: 1, Seq: 1}
		push := wire.Envelope{From: wire.ClientAt(1), To: lane, Message: &wire.Push{Flush: id, Pairs: []wire.Pair{{Generation: 1}}}}
		w.Ledger.Posted(push)
		w.Posted(push)
		if *w.Clock = 50; named && !w.Name(1, fmt.Sprintf("%v has waited 1 s for %v to hold it, gives up after 9 s", id, lane)) {
			t.Error("the notice is about no flush")
		}
		*w.Clock = 300
		if w.Tick(1); (w.Violation == "") != named {
			t.Errorf("named %v, violation %q", named, w.Violation)
		}
	}
}

// TestRoomBeginsWaitForRoute gives room for a push after another lane refused a part of its flush. The client waits for
// a route then, which is another wait. If that route is here, the wait for the lane continues.
func TestRoomBeginsWaitForRoute(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		before []wire.Message // from another lane or the controller, before there is room
		named  bool
	}{
		"route awaited":      {[]wire.Message{&wire.Stale{Route: 4}}, false},
		"older route came":   {[]wire.Message{&wire.Stale{Route: 4}, &wire.Route{Version: 3}}, false},
		"route came":         {[]wire.Message{&wire.Stale{Route: 4}, &wire.Route{Version: 4}}, true},
		"other controller":   {[]wire.Message{&wire.Stale{Route: 4}, &wire.Route{Version: 2, Begin: &wire.Begin{}}}, true},
		"nothing refused":    {nil, true},
		"a request refused":  {[]wire.Message{&wire.Stale{Route: 4, Request: 1}}, true},
		"other flush's part": {[]wire.Message{&wire.Stale{Route: 4, Flush: bellows.FlushID{Client: 1, Seq: 2}}}, true},
	} {
		lane, other := wire.LaneAt(0, 0), wire.LaneAt(0, 1)
		w := watchClients(lane, other)
		id := bellows.FlushID{Client: 1, Seq: 1}
		push := wire.Envelope{From: wire.ClientAt(1), To: lane, Message: &wire.Push{Flush: id, Pairs: []wire.Pair{{Generation: 1}}}}
		w.Ledger.Posted(push)
		w.Posted(push)
		*w.Clock = 90
		for _, m := range is.before {
			if s, ok := m.(*wire.Stale); ok && s.Flush.Seq == 0 {
				s.Flush = id
			}
			w.Before(wire.Envelope{From: other, To: wire.ClientAt(1), Message: m})
		}
		w.Before(wire.Envelope{From: lane, To: wire.ClientAt(1), Message: &wire.Room{Flush: id}})
		*w.Clock = 180
		if w.Tick(1); (w.Violation != "") != is.named {
			t.Errorf("%s: must be named %v, violation %q", name, is.named, w.Violation)
		}
		*w.Clock = 200
		if w.Tick(1); w.Violation == "" {
			t.Errorf("%s: no violation after a long wait for a route", name)
		}
	}
}

// watchClients returns a watch over the client of node 1 in a job with some lanes, where a wait must be named after
// 100 ms.
func watchClients(lanes ...wire.Address) *Clients {
	job := model.Jobs[0]()
	r := route.Spread(job.Schemas, job.Splits, lanes, []bellows.NodeID{1})
	h := account.NewHistory(r)
	tr := &trace.Trace{Clock: new(int64)}
	ledger := &account.Watch{Ledger: account.NewLedger(r), Trace: tr, History: &h, Width: func(bellows.TableID) int { return 1 }}
	w := &Clients{Trace: tr, Coverage: new(coverage.Coverage), Ledger: ledger, Route: func() *route.Route { return r }, Lossy: new(bool), Patience: 100}
	common := core.Job{Controller: wire.ControllerAt(), Nodes: 2, Lanes: r.Lanes(), Clients: r.Clients(), Incarnations: []uint32{1},
		Tables: job.Schemas, Route: r, Items: job.Items, Units: job.Units}
	w.AddClient(&nodestate.Node{Number: 1, PausedUntil: -1}, client.New(common, wire.ClientAt(1), client.Options{}))
	for _, lane := range lanes {
		w.AddLane(lane)
	}
	return w
}
