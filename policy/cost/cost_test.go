package cost

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

// predicted returns the prediction of the present shape.
func predicted(t *testing.T, f *gauge.Figures) Prediction {
	t.Helper()
	require.NoError(t, f.Validate())
	m, s := New(f), f.Shape()
	return m.Predict(m.Loads(&s))
}

// near reports whether two figures are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// TestPredictIsPaperModel: with a whole model that is pulled, hidden pushes and no cost of rows the prediction is
// D/w·C_w.proc + ceil(d/B)·M/b·max(1, w/s), eq. 5 of Cruise, wherever parts can be dealt evenly.
func TestPredictIsPaperModel(t *testing.T) {
	t.Parallel()
	const nodes, parts = 8, 3 * 4 * 5 * 7
	f := gaugetest.Uniform(gaugetest.Size{Nodes: nodes, Splits: parts, Partitions: parts})
	m := New(f)
	for w := 1; w < nodes; w++ {
		s, err := gaugetest.Deal(f, w)
		require.NoError(t, err)
		const item, model, rate = 1e-5, 1e6, 1e8
		per := float64(f.Items) / float64(w) * item
		want := per + float64(f.Clocks.Epoch)*model/rate*max(1, float64(w)/float64(nodes-w))
		if parts%w > 0 || parts%(nodes-w) > 0 {
			continue
		}
		if got := m.Predict(m.Loads(&s)); !near(got.Epoch.Value, want) || got.Epoch.Low != got.Epoch.High {
			t.Errorf("%d workers take %+v, want %g", w, got, want)
		}
	}
}

// TestPredictTermsBeyondPaper: each figure changes the cost as it should, and is named if it limits.
func TestPredictTermsBeyondPaper(t *testing.T) {
	t.Parallel()
	size := gaugetest.Size{Nodes: 4, Splits: 8, Partitions: 8} // 2 workers with 4 splits, 2 servers with 4 partitions
	const compute, pull = 0.04 * 10, 0.01 * 10                 // seconds of an epoch
	zero, rows := 0, gauge.Exactly(1e5)
	for name, c := range map[string]struct {
		change func(f *gauge.Figures)
		want   float64
		limit  string
	}{
		"nothing": {func(*gauge.Figures) {}, compute + pull, "processor of node-0"},
		"slow processor": {func(f *gauge.Figures) { f.Nodes[1].Item = gauge.Exactly(2e-5) },
			2*compute + pull, "processor of node-1"},
		"others take half": {func(f *gauge.Figures) { f.Nodes[1].Others = gauge.Exactly(0.5) },
			2*compute + pull, "processor of node-1"},
		"three slots, two rounds": {func(f *gauge.Figures) { f.Nodes[0].Slots, f.Nodes[1].Slots = 3, 3 },
			compute/2 + pull, "processor of node-0"},
		"slow server": {func(f *gauge.Figures) { f.Nodes[3].Out = gauge.Exactly(1e7) },
			compute + 10*pull, "link of node-3 out"},
		"slow worker": {func(f *gauge.Figures) { f.Nodes[1].In = gauge.Exactly(1e7) },
			compute + 10*pull, "link of node-1 in"},
		"pushes that are not hidden": {func(f *gauge.Figures) {
			f.Hidden.Pushed, f.Nodes[2].In = gauge.Exactly(0.5), gauge.Exactly(1e7)
		}, compute + pull + 10*pull/2, "link of node-2 in"},
		"a hidden push that is longer than all": {func(f *gauge.Figures) { f.Nodes[2].In = gauge.Exactly(1e6) },
			100 * pull, "link of node-2 in"},
		"hidden pulls": {func(f *gauge.Figures) { f.Hidden.Pulled = gauge.Exactly(1) }, compute, "processor of node-0"},
		"latency": {func(f *gauge.Figures) { f.Clocks.Latency = gauge.Exactly(0.003) }, compute + pull + 0.03,
			"processor of node-0"},
		"budget": {func(f *gauge.Figures) { f.Budget = 1e7 }, compute + 10*pull, "budget of node-2 out"},
		"pair of racks": {func(f *gauge.Figures) { f.Pairs = []gauge.Pair{{From: 3, To: 0, Rate: gauge.Exactly(5e6)}} },
			compute + 10*pull, "link from node-3 to node-0"},
		"rows": {func(f *gauge.Figures) {
			f.Hidden.Applied, f.Traffic[0].Rows, f.Traffic[1].Rows = gauge.Exactly(0), rows, rows
		}, compute + pull + 1, "row updates at node-2"}, // 2e5 rows, half of them at each server
		"rows on two lanes": {func(f *gauge.Figures) {
			f.Hidden.Applied, f.Traffic[0].Rows, f.Traffic[1].Rows = gauge.Exactly(0), rows, rows
			f.Nodes[2].Lanes, f.Nodes[3].Lanes = 2, 2
		}, compute + pull + 0.5, "row updates at node-2"},
		"splits that have no rows in common": {func(f *gauge.Figures) { f.Traffic[1].Pulled = gauge.Exactly(2e6) },
			compute + 4*pull, "processor of node-0"},
		"one point of traffic": {func(f *gauge.Figures) { f.Traffic = f.Traffic[:1] },
			compute + 2*pull, "processor of node-0"},
		"partitions near splits of another node": {func(f *gauge.Figures) {
			f.Partitions[0].Near, f.Partitions[0].Bytes = &zero, 5e6
		}, compute + 10*(0.01+0.05), "link of node-0 in"}, // the worker takes its rows, and the partition
	} {
		f := gaugetest.Uniform(size)
		c.change(f)
		if got := predicted(t, f); !near(got.Epoch.Value, c.want) || got.Limit.String() != c.limit {
			t.Errorf("%s: %g by the %s, want %g by the %s", name, got.Epoch.Value, got.Limit, c.want, c.limit)
		}
	}
}

// TestPredictNodesWithBothRoles: what a node holds itself does not travel, and its processor does both.
func TestPredictNodesWithBothRoles(t *testing.T) {
	t.Parallel()
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 2, Splits: 4, Partitions: 4})
	for i := range f.Nodes {
		f.Nodes[i].Works, f.Nodes[i].Serves = true, true
	}
	for i := range f.Splits {
		f.Splits[i].Node, f.Partitions[i].Node = bellows.NodeID(i/2), bellows.NodeID(i/2)
	}
	if got := predicted(t, f); !near(got.Epoch.Value, 0.2+0.05) {
		t.Errorf("half of the pulls travel: %+v", got)
	}
	for i := range f.Partitions {
		near := i
		f.Partitions[i].Near = &near
	}
	if got := predicted(t, f); !near(got.Epoch.Value, 0.2) || got.Limit.Term != Processor {
		t.Errorf("partitions near their splits cost nothing: %+v", got)
	}
	for i := range f.Partitions {
		f.Partitions[i].Near = nil
	}
	for i := range f.Traffic {
		f.Traffic[i].Rows = gauge.Exactly(2e5)
	}
	if got := predicted(t, f); !near(got.Epoch.Value, 10*(0.02+0.2)) {
		t.Errorf("hidden applying takes the processor all the same: %+v", got)
	}
}

// TestPredictIsMonotone: an interval contains its value, and all times twice as long make the epoch twice as long.
func TestPredictIsMonotone(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		f := gaugetest.Random(rng, gaugetest.Size{Nodes: 2 + rng.IntN(5), Splits: 12, Partitions: 9}, 3)
		one := predicted(t, f)
		if v := one.Epoch; v.Low > v.Value || v.Value > v.High || v.Low <= 0 {
			t.Fatalf("%+v", v)
		}
		for i := range f.Nodes {
			n := &f.Nodes[i]
			for _, v := range []*gauge.Interval{&n.Item, &n.Row} {
				*v = gauge.Interval{Value: 2 * v.Value, Low: 2 * v.Low, High: 2 * v.High}
			}
			for _, v := range []*gauge.Interval{&n.In, &n.Out} {
				*v = gauge.Interval{Value: v.Value / 2, Low: v.Low / 2, High: v.High / 2}
			}
		}
		v := &f.Clocks.Latency
		*v = gauge.Interval{Value: 2 * v.Value, Low: 2 * v.Low, High: 2 * v.High}
		two := predicted(t, f)
		if !near(two.Epoch.Value, 2*one.Epoch.Value) || !near(two.Epoch.High, 2*one.Epoch.High) {
			t.Fatal(one, two)
		}
	}
}

// TestPredictUnknownLink: a link that was never full has no upper bound, so that at best it costs nothing.
func TestPredictUnknownLink(t *testing.T) {
	t.Parallel()
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 2, Splits: 1, Partitions: 1})
	for i := range f.Nodes {
		f.Nodes[i].In.High, f.Nodes[i].Out.High = math.Inf(1), math.Inf(1)
	}
	if got := predicted(t, f); !near(got.Epoch.Low, 0.1) || !near(got.Epoch.Value, 0.2) || !near(got.Epoch.High, 0.2) {
		t.Errorf("%+v", got)
	}
}

// TestMovingBeforeAnythingMoved: bytes take the slowest link, and each round of steps at most a clock. Later, moves
// cost what they have cost.
func TestMovingBeforeAnythingMoved(t *testing.T) {
	t.Parallel()
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 4, Splits: 8, Partitions: 8})
	f.Nodes[2].In = gauge.Exactly(1e6)
	epoch := gauge.Interval{Value: 2, Low: 1, High: 3}
	clock := epoch.High / float64(f.Clocks.Epoch)
	if v := New(f).Moving(1e6, 30, 4, epoch); !near(v.Value, 1) || v.Low != 0 || !near(v.High, 1+4*clock) {
		t.Errorf("%+v", v)
	}
	f.Moved = &gauge.Moved{Byte: gauge.Exactly(1e-6), Step: gauge.Exactly(0.1)}
	if v := New(f).Moving(1e6, 30, 4, epoch); !near(v.Value, 4) || !near(v.High, 4) {
		t.Errorf("%+v", v)
	}
	if v := New(f).Moving(0, 0, 0, epoch); v != (gauge.Interval{}) {
		t.Errorf("no steps cost %+v", v)
	}
}

// TestCheckMemoryNamesNode: partitions, splits and pulled rows need memory.
func TestCheckMemoryNamesNode(t *testing.T) {
	t.Parallel()
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 2, Splits: 3, Partitions: 5})
	s := f.Shape()
	for node, need := range []int64{1e6 + 3*1000, 5 << 16} {
		f.Nodes[node].Memory = need
		require.NoError(t, New(f).CheckMemory(New(f).Loads(&s)))
		f.Nodes[node].Memory--
		err, _ := New(f).CheckMemory(New(f).Loads(&s)).(*MemoryError)
		if err == nil || err.Node != bellows.NodeID(node) || err.Needed != float64(need) {
			t.Errorf("node %d: %v", node, err)
		}
		f.Nodes[node].Memory = 0
	}
}

// TestTrafficIgnoresSlopeOfCloseSplits: the slope between 14 and 15 splits is noise, and not that of 5.
func TestTrafficIgnoresSlopeOfCloseSplits(t *testing.T) {
	t.Parallel()
	pulled := func(splits ...int) float64 {
		f := gaugetest.Uniform(gaugetest.Size{Nodes: 2, Splits: 64, Partitions: 1})
		f.Traffic = f.Traffic[:0]
		for _, k := range splits {
			amount := gauge.Exactly(1e6)
			if k == 15 {
				amount = gauge.Exactly(1.07e6)
			}
			f.Traffic = append(f.Traffic, gauge.Traffic{Splits: k, Pulled: amount})
		}
		p, _, _ := New(f).Traffic(4)
		return p
	}
	if got := pulled(14, 15); got < 0.5e6 || got > 0.6e6 {
		t.Errorf("%g bytes of 4 splits by those of 14 and 15", got)
	}
	if got := pulled(7, 14); !near(got, 1e6) {
		t.Errorf("%g bytes of 4 splits by those of 7 and 14, which have all rows in common", got)
	}
}
