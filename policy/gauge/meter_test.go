package gauge_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

// score counts how often figures are what they must be.
type score struct {
	name            string
	inside, bounded int
	errors          []float64 // relative, of values
}

func (s *score) add(v gauge.Interval, truth, unit float64) {
	if !math.IsInf(v.High, 1) {
		if s.bounded++; v.Low <= truth && truth <= v.High {
			s.inside++
		}
	}
	s.errors = append(s.errors, math.Abs(v.Value-truth)/unit)
}

// randomTruth returns true figures of a job that the generator can play: exact, and some links limit.
func randomTruth(rng *rand.Rand) *gauge.Figures {
	size := gaugetest.Size{Nodes: 3 + rng.IntN(6), Splits: 12 + rng.IntN(12), Partitions: 16 + rng.IntN(16)}
	f := gaugetest.Random(rng, size, 1+rng.IntN(2))
	exact := func(v *gauge.Interval) { *v = gauge.Exactly(v.Value) }
	for i := range f.Nodes {
		n := &f.Nodes[i]
		exact(&n.Item)
		exact(&n.Row)
		n.Others = gauge.Exactly(min(0.5, n.Others.Value))
		exact(&n.In)
		n.Out = n.In
	}
	if rng.IntN(2) == 0 { // a slow link
		n := &f.Nodes[rng.IntN(len(f.Nodes))]
		n.In = gauge.Exactly(n.In.Value * (0.2 + 0.2*rng.Float64()))
		n.Out = n.In
	}
	if rng.IntN(2) == 0 { // nodes that do both
		for i := range f.Nodes {
			f.Nodes[i].Works, f.Nodes[i].Serves = true, true
		}
		for i := range f.Splits {
			f.Splits[i].Node = bellows.NodeID(i % len(f.Nodes))
		}
		for i := range f.Partitions {
			f.Partitions[i].Node = bellows.NodeID(i % len(f.Nodes))
		}
	}
	for i := range f.Traffic {
		exact(&f.Traffic[i].Pulled)
		exact(&f.Traffic[i].Pushed)
		exact(&f.Traffic[i].Rows)
	}
	exact(&f.Hidden.Pulled)
	exact(&f.Hidden.Pushed)
	exact(&f.Hidden.Applied)
	f.Clocks.Latency = gauge.Exactly(0.01 * rng.Float64())
	return f
}

// TestMeterFindsTruth plays jobs with true figures, and compares them with what a meter makes of noisy reports: bounds
// hold, the values are near, and the prediction for the present shape is what was measured.
func TestMeterFindsTruth(t *testing.T) {
	t.Parallel()
	scores := map[string]*score{}
	at := func(name string) *score {
		if scores[name] == nil {
			scores[name] = &score{name: name}
		}
		return scores[name]
	}
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 7))
		truth := randomTruth(rng)
		w := newWorld(rng, truth, noisy)
		w.warm()
		w.run(60)
		f, err := w.meter.Figures(*w.base())
		require.NoError(t, err)
		rates := true // all rates are known
		for i := range f.Nodes {
			got, want := &f.Nodes[i], &truth.Nodes[i]
			if want.Works {
				at("item").add(got.Item, want.Item.Value, want.Item.Value)
				at("others").add(got.Others, want.Others.Value, 1)
			}
			if want.Serves {
				at("row").add(got.Row, want.Row.Value, want.Row.Value)
			}
			for v, truth := range map[gauge.Interval]float64{got.In: want.In.Value, got.Out: want.Out.Value} {
				rates = rates && math.Abs(v.Value/truth-1) < 0.01
				if !math.IsInf(v.High, 1) {
					at("rate").add(v, truth, truth)
				}
			}
		}
		m := cost.New(truth)
		for _, p := range f.Traffic {
			pulled, pushed, rows := m.Traffic(p.Splits)
			at("pulled").add(p.Pulled, pulled, pulled)
			at("pushed").add(p.Pushed, pushed, pushed)
			at("rows").add(p.Rows, rows, rows)
		}
		if rates {
			at("hidden").add(f.Hidden.Pulled, truth.Hidden.Pulled.Value, 1)
			at("hidden").add(f.Hidden.Pushed, truth.Hidden.Pushed.Value, 1)
			at("hidden").add(f.Hidden.Applied, truth.Hidden.Applied.Value, 1)
		}
		s := f.Shape()
		epoch, _ := w.meter.Epoch(f.Clocks.Epoch)
		is := cost.New(f)
		at("calibration").add(is.Predict(is.Loads(&s)).Epoch, epoch.Value, epoch.Value)
		w.took = nil
		w.run(150)
		var sums []float64
		for s := range slices.Chunk(w.took[:len(w.took)/3*3], 3) {
			sums = append(sums, (s[0]+s[1]+s[2])/3)
		}
		at("epoch").add(epoch, quantile(sums, 0.5)*float64(f.Clocks.Epoch), epoch.Value)
	}
	for name, most := range map[string]float64{"item": 0.01, "row": 0.01, "others": 0.02, "calibration": 0.02,
		"rate": 0.02, "pulled": 0.01, "pushed": 0.01, "rows": 0.01, "hidden": 0.1, "epoch": 0.03} {
		s := at(name)
		if s.bounded == 0 {
			t.Errorf("%s has no bounds", name)
			continue
		}
		wrong := quantile(s.errors, 0.9)
		t.Logf("%-12s %d of %d inside its bounds; error %.3f", name, s.inside, s.bounded, wrong)
		if s.inside*100 < s.bounded*95 || wrong > most {
			t.Errorf("%s is inside its bounds in %d of %d; the error is %g", name, s.inside, s.bounded, wrong)
		}
	}
}
