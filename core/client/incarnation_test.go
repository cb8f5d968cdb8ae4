package client_test

import (
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

// TestAnswersToTheProcessBeforeAreNothing gives a client of the second incarnation what lanes said to the first.
func TestAnswersToTheProcessBeforeAreNothing(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async}}
	job := core.Job{Clients: []wire.Address{self}, Incarnations: []uint32{2}, Tables: tables}
	d := newDeskOf(t, job, client.Options{})
	d.start(0, 0, 0)
	d.tasks[0].AddRow(0, 0, []float32{1})
	d.tasks[0].AddRow(0, 4, []float32{1})
	d.read(0, 0, 0, 4)
	d.end(0)
	if id := d.sent[0].Flush; id != (bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}) || d.pulls[0].Incarnation != 2 {
		t.Errorf("it says that it is %v, and asks as incarnation %d", id, d.pulls[0].Incarnation)
	}
	before := flushID(1)
	d.deliver(lanes[0], &wire.Held{Flush: before})
	d.deliver(lanes[1], &wire.Held{Flush: before})
	d.deliver(lanes[0], &wire.Rows{Incarnation: 1, Request: d.pulls[0].Request, Parts: []wire.RowsPart{{Pair: wire.Pair{Generation: 1}, Rows: []uint32{0}, Values: []float32{7}}}})
	d.expect("")
}
