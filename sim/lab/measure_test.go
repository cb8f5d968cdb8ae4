package lab_test

import (
	"math"
	"testing"
	"time"

	"bellows"
	"bellows/app/mlr"
	"bellows/policy/reshape"
	"bellows/sim/lab"
	"bellows/sim/lab/script"
)

// TestJobMeasuresItself compares the figures of a job with what its laboratory was given.
func TestJobMeasuresItself(t *testing.T) {
	t.Parallel()
	const item, rate = 50_000, 4e5
	bsp := 0
	cfg := lab.Config{Job: made(t, mlr.New(), 16, &bsp, map[string]string{"splits": "12", "clocks": "2"}).Job, Seed: 1,
		Costs: lab.Costs{Item: item, ApplyByte: 100}, Measure: true}
	cfg.Job.Tables[0].Bounds, cfg.Job.Tables[0].Partitions = nil, 8
	cfg.Site = lab.Cluster(6, 6, lab.Machine{Cores: 1, Up: rate, Down: rate})
	cfg.Site.Packet = 256
	first := cfg.Deal([]lab.Role{0, reshape.Worker, reshape.Worker, reshape.Worker, reshape.Worker, reshape.Server, reshape.Server})
	cfg.Shape = &first
	r := run(t, cfg)
	if r.Missing != nil {
		t.Fatal(r.Missing)
	}
	f := r.Figures
	now := f.Shape()
	if w, s := now.Counts(); w != 4 || s != 2 || len(f.Nodes) != 7 || f.Clocks.Epoch != 3 {
		t.Fatalf("%d workers, %d servers: %+v", w, s, f)
	}
	near := func(what string, got, want, by float64) {
		t.Helper()
		if math.Abs(got/want-1) > by {
			t.Errorf("%s: %g, not %g", what, got, want)
		}
	}
	for _, n := range f.Nodes[1:] {
		near("seconds of an item", n.Item.Value, item*1e-9, 0.01)
		if n.Row.Value <= 0 || n.Others.Value > 0.01 {
			t.Errorf("node %d: %g s for a row, %g for others", n.ID, n.Row.Value, n.Others.Value)
		}
	}
	for _, n := range f.Nodes[5:] { // its flows do not take quite the same time
		near("what a server receives a second", n.In.Value, rate, 0.2)
	}
	for _, point := range f.Traffic {
		if point.Splits != 3 || point.Pulled.Value <= 0 || point.Pushed.Value < point.Pulled.Value {
			t.Errorf("traffic %+v", point)
		}
	}
	if testing.Short() {
		return
	}
	few := cfg
	few.Job = made(t, mlr.New(), 2, &bsp, map[string]string{"splits": "12", "clocks": "2"}).Job
	few.Job.Tables[0].Bounds, few.Job.Tables[0].Partitions = nil, 8
	if r := run(t, few); bellows.KindOf(r.Missing) != bellows.Unavailable || r.Figures != nil {
		t.Errorf("figures of 6 clocks: %+v, %v", r.Figures, r.Missing)
	}
}

// TestMeasuringChangesNothing wants the events of a job that is measured to be those of one that is not; and a move not
// to count.
func TestMeasuringChangesNothing(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 60, rows: 1000, width: 10}
	cfg := lab.Config{Site: lab.Cluster(4, 2, lab.Machine{Cores: 1, Up: 1e8, Down: 1e8}), Costs: millisecond,
		Script: []script.Event{{At: 40 * time.Millisecond, Kind: script.Move, Partition: 0, Node: 2}}}
	cfg.Job = s.job()
	quiet := run(t, cfg)
	cfg.Job, cfg.Measure = s.job(), true
	r := run(t, cfg)
	if r.Hash != quiet.Hash || r.Missing != nil {
		t.Fatalf("hash %x, not %x; %v", r.Hash, quiet.Hash, r.Missing)
	}
	if f := r.Figures; f.Moved == nil || f.Clocks.Measured > f.Clocks.Passed-4 || f.Partitions[0].Node != 2 {
		t.Errorf("a partition has moved: %+v, %+v", f.Moved, f.Clocks)
	}
}
