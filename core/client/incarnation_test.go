package client_test

import (
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// TestAnswersToTheProcessBeforeAreNothing gives a client of the second incarnation what lanes said to the first.
func TestAnswersToTheProcessBeforeAreNothing(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async}}
	r := route.Spread(tables, 2, lanes, []bellows.NodeID{1})
	d := &desk{Client: client.New(core.Job{Controller: controller, Clients: []wire.Address{self}, Incarnations: []uint32{2}, Tables: tables, Route: r}, self, client.Options{}), t: t,
		tasks: map[bellows.SplitID]*client.Task{}}
	d.dispatch(0, 0, 0)
	d.said()
	d.tasks[0].AddRow(0, 0, []float32{1})
	d.tasks[0].AddRow(0, 4, []float32{1})
	d.read(0, 0, 0, 4)
	d.finish(0)
	d.said()
	if id := d.sent[0].Flush; id != (bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}) || d.pulls[0].Incarnation != 2 {
		t.Errorf("it says that it is %v, and asks as incarnation %d", id, d.pulls[0].Incarnation)
	}
	before := bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}
	d.deliver(lanes[0], &wire.Held{Flush: before})
	d.deliver(lanes[1], &wire.Held{Flush: before})
	d.deliver(lanes[0], &wire.Rows{Incarnation: 1, Request: d.pulls[0].Request, Parts: []wire.RowsPart{{Pair: wire.Pair{Generation: 1}, Rows: []uint32{0}, Values: []float32{7}}}})
	d.expect("")
}
