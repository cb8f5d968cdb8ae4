package gauge_test

import (
	"math"
	"math/rand/v2"
	"testing"

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

// randomTruth returns true figures of a job that the generator can play: exact, with links of which some limit.
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
		exact(&n.Out)
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

// TestMeterFindsTruth plays jobs with true figures, and compares them with what a meter makes of their reports.
func TestMeterFindsTruth(t *testing.T) {
	t.Parallel()
	scores := map[string]*score{}
	at := func(name string) *score {
		if scores[name] == nil {
			scores[name] = &score{name: name}
		}
		return scores[name]
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		truth := randomTruth(rng)
		w := newWorld(rng, truth, noisy)
		for range 3 {
			w.play(4)
		}
		w.run(60)
		f, err := w.meter.Figures(*w.base())
		require.NoError(t, err)
		for i := range f.Nodes {
			got, want := &f.Nodes[i], &truth.Nodes[i]
			if want.Works {
				at("item").add(got.Item, want.Item.Value, want.Item.Value)
				at("others").add(got.Others, want.Others.Value, 1)
			}
			if want.Serves {
				at("row").add(got.Row, want.Row.Value, want.Row.Value)
			}
			at("in").add(got.In, want.In.Value, want.In.Value)
			at("out").add(got.Out, want.Out.Value, want.Out.Value)
		}
		m := cost.New(truth)
		for _, p := range f.Traffic {
			pulled, pushed, rows := m.Traffic(p.Splits)
			at("pulled").add(p.Pulled, pulled, pulled)
			at("pushed").add(p.Pushed, pushed, pushed)
			at("rows").add(p.Rows, rows, rows)
		}
		at("hidden pulled").add(f.Hidden.Pulled, truth.Hidden.Pulled.Value, 1)
		at("hidden pushed").add(f.Hidden.Pushed, truth.Hidden.Pushed.Value, 1)
		at("hidden applied").add(f.Hidden.Applied, truth.Hidden.Applied.Value, 1)
		s := f.Shape()
		epoch, _ := w.meter.Epoch(f.Clocks.Epoch)
		is := cost.New(f)
		at("calibration").add(is.Predict(is.Loads(&s)).Epoch, epoch.Value, epoch.Value)
		true := cost.New(truth)
		at("epoch").add(epoch, true.Predict(true.Loads(&s)).Epoch.Value, epoch.Value)
	}
	for name, most := range map[string]float64{"item": 0.01, "row": 0.01, "others": 0.02, "calibration": 0.02} {
		s := scores[name]
		if s.inside*100 < s.bounded*95 || quantile(s.errors, 0.9) > most {
			t.Errorf("%s is inside its bounds in %d of %d; the error is %g", name, s.inside, s.bounded,
				quantile(s.errors, 0.9))
		}
	}
	for name, s := range scores {
		q := func(share float64) float64 { return quantile(s.errors, share) }
		t.Logf("%-16s %d of %d of %d inside; error %.3f %.3f %.3f",
			name, s.inside, s.bounded, len(s.errors), q(0.5), q(0.9), q(1))
	}
}
