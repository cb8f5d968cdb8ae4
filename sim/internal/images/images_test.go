package images

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/model"
	"bellows/sim/internal/trace"
)

func newWatch() *Watch {
	job := model.Jobs[0]()
	r := route.Spread(job.Schemas, job.Splits, []wire.Address{wire.LaneAt(0, 0), wire.LaneAt(1, 0)}, []bellows.NodeID{2})
	h := account.NewHistory(r)
	return &Watch{Trace: &trace.Trace{Clock: new(int64)}, Coverage: new(coverage.Coverage), Oracle: model.NewOracle(job), Job: job, Route: r, History: &h}
}

// initial returns a partition as the model has it before the first commit.
func (w *Watch) initial(ref bellows.PartitionRef) *rowstore.Image {
	cut := w.Route.Cut(ref.Table)
	first, end := cut.Rows(ref.Partition)
	width := bellows.RowID(w.Job.Schemas[ref.Table].Width)
	return &rowstore.Image{Values: w.Oracle.Table(ref.Table, 0)[first*width : end*width]}
}

func TestImageIsComparedBitByBit(t *testing.T) {
	t.Parallel()
	w, ref := newWatch(), bellows.PartitionRef{Table: model.Counts}
	im := w.initial(ref)
	if w.compare(wire.LaneAt(0, 0), ref, im, 0, false); w.Violation != "" {
		t.Fatal(w.Violation)
	}
	im.Values[0]++
	if w.compare(wire.LaneAt(0, 0), ref, im, 0, false); !strings.HasPrefix(w.Violation, "P1: lane 0 of node 0 has ") {
		t.Errorf("%q", w.Violation)
	}
}

func TestLaneOwnsPartitionsOfItsRoute(t *testing.T) {
	t.Parallel()
	w := newWatch()
	owned := 0
	for n := range bellows.NodeID(2) {
		a := wire.LaneAt(n, 0)
		lane, err := server.NewLane(core.Job{Tables: w.Job.Schemas, Route: w.Route, Items: w.Job.Items}, a, server.Options{})
		require.NoError(t, err)
		l := &lanewatch.Lane{Lane: lane, Address: a}
		for ref := range w.Owned(l) {
			if w.Route.Owner(ref).Lane != l.Address {
				t.Errorf("%v does not own %v", l.Address, ref)
			}
			owned++
		}
	}
	if owned != w.Route.Partitions() {
		t.Errorf("%d of %d partitions have an owner", owned, w.Route.Partitions())
	}
}
