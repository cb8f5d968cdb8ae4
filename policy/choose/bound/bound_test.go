package bound

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows/policy/cost"
	"bellows/policy/gauge/gaugetest"
)

// TestProveIsEquationFive: for the job of Cruise, on machines that are alike, the bound is close to the best of all
// numbers of workers (eq. 5), and not above it. A dealing of the search takes no longer than that.
func TestProveIsEquationFive(t *testing.T) {
	t.Parallel()
	const nodes, parts = 12, 2520
	for _, items := range []int64{1e6, 1e7, 1e8, 1e9} {
		f := gaugetest.Uniform(gaugetest.Size{Nodes: nodes, Splits: parts, Partitions: parts})
		f.Items = items
		m := cost.New(f)
		want := math.Inf(1)
		for w := 1; w < nodes; w++ {
			clock := math.Ceil(float64(parts)/float64(w)) * m.Speed(0).Split
			each := math.Ceil(float64(parts)/float64(nodes-w)) / parts // of the model, at the server with the most
			want = min(want, clock+1e6/1e8*max(1, float64(w)*each))
		}
		best := math.Inf(1)
		least, left := New(f, m).Prove(Search{
			Classes: []Class{{Count: nodes, High: nodes, Serves: true, Slots: 1, Lanes: 1, Speed: m.Speed(0)}},
			Most:    2 * want, Work: 1e6,
			Found: func(list []Deal) float64 {
				workers, most := 0, 0
				for _, d := range list {
					if d.Splits > 0 {
						workers, most = workers+1, max(most, d.Splits)
					}
				}
				each := math.Ceil(parts/float64(nodes-workers)) / parts
				best = min(best, float64(most)*m.Speed(0).Split+1e6/1e8*max(1, float64(workers)*each))
				return best
			},
		})
		if least > want*(1+1e-9) || least < 0.99*want || best > 1.01*want || left < 0 {
			t.Errorf("%d items: the bound is %g, and a dealing takes %g; the best is %g", items, least, best, want)
		}
	}
}

// TestTotalsAreLeast: no dealing within the caps of machines pulls less.
func TestTotalsAreLeast(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 9))
	exact := 0
	for range 500 {
		f := gaugetest.Random(rng, gaugetest.Size{Nodes: 3, Splits: 2 + rng.IntN(9), Partitions: 4}, 1)
		b := New(f, cost.New(f))
		b.classes, b.capacities, b.order = make([]Class, 2), make([]capacity, 2), []int{0, 1}
		x := &box{low: make([]int, 2), high: make([]int, 2)}
		caps, must := []int{}, 0
		for i := range b.classes {
			x.high[i] = 1 + rng.IntN(3)
			x.low[i] = rng.IntN(1 + x.high[i])
			b.capacities[i].splits = 1 + rng.IntN(b.splits)
			for range x.high[i] {
				caps = append(caps, b.capacities[i].splits)
			}
			must += x.low[i]
		}
		if !b.runs(x) || must > b.splits {
			continue
		}
		least := math.Inf(1)
		var deal func(i, left, used int, pulls float64)
		deal = func(i, left, used int, pulls float64) {
			if i == len(caps) {
				if left == 0 && used >= must {
					least = min(least, pulls)
				}
				return
			}
			for n := range min(left, caps[i]) + 1 {
				deal(i+1, left-n, used+min(n, 1), pulls+b.traffic[0][n])
			}
		}
		deal(0, b.splits, 0, 0)
		got := b.totals(x)[0]
		if got > least*(1+1e-9) {
			t.Fatalf("at least %g is pulled, and a dealing pulls %g: %+v, %v, %d splits", got, least, x, caps, b.splits)
		}
		if got > least*(1-1e-9) {
			exact++
		}
	}
	if exact < 200 {
		t.Errorf("only %d totals are exact", exact)
	}
}
