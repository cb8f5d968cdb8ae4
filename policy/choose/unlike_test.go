package choose

import (
	"flag"
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

// cases is how many small random problems are solved by trying everything.
var cases = flag.Int("choose.cases", 600, "how many random problems are compared with all their shapes")

// unlikeJob returns a random job on few machines of two or three kinds, without a leader.
func unlikeJob(rng *rand.Rand) *gauge.Figures {
	size := gaugetest.Size{Nodes: 2 + rng.IntN(3), Splits: 2 + rng.IntN(5), Partitions: 2 + rng.IntN(4)}
	f := gaugetest.Random(rng, size, 2+rng.IntN(2))
	f.Clocks.Latency = gauge.Exactly(0.1 * float64(size.Splits%3))
	f.Leads = 9
	f.Nodes = append(f.Nodes, gauge.Node{ID: 9, In: gauge.Exactly(1), Out: gauge.Exactly(1)})
	return f
}

// every calls a function with each dealing of n things to nodes.
func every(nodes, n int, visit func([]int)) {
	deal := make([]int, nodes)
	var rec func(i, left int)
	rec = func(i, left int) {
		if i == nodes-1 {
			deal[i] = left
			visit(deal)
			return
		}
		for v := range left + 1 {
			deal[i] = v
			rec(i+1, left-v)
		}
	}
	rec(0, n)
}

// tryAll returns the least seconds of all dealings of splits and partitions, by package cost.
func tryAll(f *gauge.Figures, apart bool) float64 {
	m := cost.New(f)
	s := newSearcher(f, &Ask{}, make([]place, len(f.Nodes)))
	n := len(f.Nodes) - 1 // the last one leads
	least := -1.0
	d := dealing{roles: make([]Role, len(f.Nodes)), splits: make([]int, len(f.Nodes)), parts: make([]int, len(f.Nodes))}
	for i := range n {
		d.roles[i] = Both
	}
	every(n, len(f.Splits), func(splits []int) {
		copy(d.splits, splits)
		every(n, len(f.Partitions), func(parts []int) {
			for i := range n {
				if d.parts[i] = parts[i]; apart && parts[i] > 0 && splits[i] > 0 {
					return
				}
			}
			if t := m.Seconds(s.groups(&d)); least < 0 || t < least {
				least = t
			}
		})
	})
	return least
}

// TestFindUnlikeBesideAllShapes: the bound is valid in every case, and the choice is within 3 % of the optimum in 99 of
// a hundred. -choose.cases=20000 plays as many as docs/results has.
func TestFindUnlikeBesideAllShapes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	close, gaps := 0, 0.0
	for i := range *cases {
		f := unlikeJob(rng)
		apart := i%2 == 0
		want := tryAll(f, apart)
		c, err := Find(f, Ask{Apart: apart})
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		if c.Bound > want*(1+1e-6) {
			t.Fatalf("case %d: the bound is %g, and the optimum %g", i, c.Bound, want)
		}
		if c.Epoch.Value < want*(1-1e-6) {
			t.Fatalf("case %d: the choice takes %g, and the optimum %g", i, c.Epoch.Value, want)
		}
		if c.Epoch.Value <= 1.03*want {
			close++
		}
		gaps += c.Epoch.Value/c.Bound - 1
	}
	if close < *cases*99/100 {
		t.Errorf("%d of %d choices are within 3 %% of the optimum", close, *cases)
	}
	t.Logf("%d of %d choices within 3 %%; mean gap to the bound %.1f %%", close, *cases, 100*gaps/float64(*cases))
}

// TestFindUnlikeIsSymmetric: the order of nodes and the unit of time change nothing but that.
func TestFindUnlikeIsSymmetric(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 7))
	for i := range 100 {
		f := unlikeJob(rng)
		one, err := Find(f, Ask{})
		require.NoError(t, err)
		slow := *f
		slow.Nodes = append([]gauge.Node(nil), f.Nodes...)
		slow.Clocks.Latency = scaled(f.Clocks.Latency, 4)
		for i := range slow.Nodes {
			n := &slow.Nodes[i]
			n.Item, n.Row, n.In, n.Out = scaled(n.Item, 4), scaled(n.Row, 4), scaled(n.In, 0.25), scaled(n.Out, 0.25)
		}
		two, err := Find(&slow, Ask{})
		require.NoError(t, err)
		if d := two.Epoch.Value/one.Epoch.Value - 4; d > 1e-6 || d < -1e-6 {
			t.Fatalf("case %d: %g and %g", i, one.Epoch.Value, two.Epoch.Value)
		}
		for i, j := 0, len(slow.Nodes)-2; i < j; i, j = i+1, j-1 { // the figures of nodes change places
			a, b := &slow.Nodes[i], &slow.Nodes[j]
			*a, *b = *b, *a
			a.ID, b.ID = bellows.NodeID(i), bellows.NodeID(j)
			a.Works, b.Works, a.Serves, b.Serves = b.Works, a.Works, b.Serves, a.Serves
		}
		three, err := Find(&slow, Ask{})
		require.NoError(t, err)
		if three.Epoch.Value > 1.1*two.Epoch.Value || two.Epoch.Value > 1.1*three.Epoch.Value ||
			three.Bound > two.Epoch.Value*(1+1e-6) || two.Bound > three.Epoch.Value*(1+1e-6) {
			t.Fatalf("case %d: %g, %g above %g, %g", i, two.Epoch.Value, three.Epoch.Value, two.Bound, three.Bound)
		}
	}
}

// TestFindUnlikeLeavesSplits: splits that stay are where they were, in the shape and in what is predicted of it.
func TestFindUnlikeLeavesSplits(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 7))
	for i := range 100 {
		f := unlikeJob(rng)
		f.Stays = "they cannot move"
		c, err := Find(f, Ask{})
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		for p, at := range c.Splits {
			if at != f.Splits[p].Node {
				t.Fatalf("case %d: split %d goes from node %d to node %d", i, p, f.Splits[p].Node, at)
			}
		}
		if c.Bound > c.Epoch.Value*(1+1e-6) {
			t.Fatalf("case %d: the bound %g is above %g", i, c.Bound, c.Epoch.Value)
		}
	}
}

// scaled returns an interval times a factor.
func scaled(v gauge.Interval, by float64) gauge.Interval {
	return gauge.Interval{Value: v.Value * by, Low: v.Low * by, High: v.High * by}
}

// BenchmarkFind prints the time of a choice, and the mean and the largest gap to the bound, for the same five jobs each
// time: on machines alike, and of so many kinds.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		name         string
		nodes, kinds int
		apart        bool
	}{
		{"1024 alike", 1024, 1, false},
		{"32 of 2", 32, 2, true}, {"32 of 3", 32, 3, true}, {"32 of 4", 32, 4, true},
		{"64 of 2", 64, 2, true}, {"64 of 3", 64, 3, true}, {"64 of 4", 64, 4, true},
		{"32 of 2, together", 32, 2, false}, {"32 of 3, together", 32, 3, false}, {"32 of 4, together", 32, 4, false},
		{"64 of 2, together", 64, 2, false}, {"64 of 3, together", 64, 3, false}, {"64 of 4, together", 64, 4, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			const jobs = 5
			size := gaugetest.Size{Nodes: c.nodes, Splits: 8 * c.nodes, Partitions: 256}
			worst, sum := 0.0, 0.0
			for range b.N {
				worst, sum = 0, 0
				for seed := range uint64(jobs) {
					b.StopTimer()
					f := gaugetest.Random(rand.New(rand.NewPCG(seed, 7)), size, c.kinds)
					b.StartTimer()
					best, err := Find(f, Ask{Apart: c.apart})
					require.NoError(b, err)
					gap := best.Epoch.Value/best.Bound - 1
					worst, sum = max(worst, gap), sum+gap
				}
			}
			b.ReportMetric(100*sum/jobs, "%gap")
			b.ReportMetric(100*worst, "%worst")
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)/jobs, "ms/job")
		})
	}
}
