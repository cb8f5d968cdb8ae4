package choose

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/policy/shape"
)

// dealt returns the seconds of an epoch with roles, as package shape deals the parts.
func dealt(t *testing.T, f *gauge.Figures, roles []Role) (seconds float64, fits bool) {
	t.Helper()
	d, err := shape.Deal(shape.Snapshot{Job: f.Job(), Shape: f.Shape()}, nodesOf(f, roles))
	require.NoError(t, err)
	m := cost.New(f)
	groups := m.Loads(&d.Shape)
	return m.Seconds(groups), m.CheckMemory(groups) == nil
}

// grid returns the least seconds over all numbers of workers and servers among nodes that are alike; no node does both.
func grid(t *testing.T, f *gauge.Figures) float64 {
	t.Helper()
	n := len(f.Nodes) - 1 // the last one leads
	least := math.Inf(1)
	try := func(roles []Role) {
		if s, fits := dealt(t, f, roles); fits {
			least = min(least, s)
		}
	}
	for w := 1; w <= min(n, len(f.Splits)); w++ {
		for s := 1; w+s <= n && s <= len(f.Partitions); s++ {
			roles := make([]Role, n)
			for i := range w + s {
				if roles[i] = Worker; i >= w {
					roles[i] = Server
				}
			}
			try(roles)
		}
	}
	return least
}

// uniformJob returns a random job on machines that are alike, without a leader.
func uniformJob(rng *rand.Rand) *gauge.Figures {
	size := gaugetest.Size{Nodes: 2 + rng.IntN(6), Splits: 1 + rng.IntN(20), Partitions: 1 + rng.IntN(20)}
	f := gaugetest.Random(rng, size, 1)
	f.Clocks.Latency = gauge.Exactly(0.1 * float64(size.Splits%3))
	f.Leads = 9
	f.Nodes = append(f.Nodes, gauge.Node{ID: 9, In: gauge.Exactly(1), Out: gauge.Exactly(1)})
	return f
}

// TestFindAlikeIsExact: no shape of the grid is faster than the chosen one, and rows predict what package cost does for
// their shapes.
func TestFindAlikeIsExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		f := uniformJob(rng)
		if rng.IntN(3) == 0 { // partitions that are near splits, evenly
			for i := range f.Partitions {
				near := i % len(f.Splits)
				f.Partitions[i].Near = &near
			}
		}
		c, err := Find(f, Ask{})
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		if f.Partitions[0].Near != nil {
			continue
		}
		want := grid(t, f)
		if best := fastest(c.Rows, false); (best == nil) != math.IsInf(want, 1) || best != nil &&
			(math.Abs(best.Seconds-want) > 1e-6*want || c.Epoch.Value > want*(1+1e-6)) {
			t.Fatalf("case %d: %+v takes %g, %+v is the best, and %g is", i, c.Counts, c.Epoch.Value, best, want)
		}
		for j := range c.Rows {
			r, roles := &c.Rows[j], make([]Role, len(f.Nodes))
			if r.Both == 0 || len(f.Splits)%r.Both > 0 || len(f.Partitions)%r.Both > 0 {
				continue // which node has a part more than others depends on the present owners
			}
			for k := range r.Both {
				roles[k] = Both
			}
			if s, _ := dealt(t, f, roles); math.Abs(s-r.Seconds) > 1e-6*s {
				t.Errorf("case %d: %+v takes %g", i, r, s)
			}
		}
		if w, s := c.Shape.Counts(); w != c.works() || s != c.serves() {
			t.Fatalf("case %d: %d workers and %d servers, not %+v", i, w, s, c.Counts)
		}
	}
}

// TestFindIsEquationFive: for the job of the paper the choice is eq. 5 of Cruise.
func TestFindIsEquationFive(t *testing.T) {
	t.Parallel()
	const nodes, parts = 12, 27720 // so many divide evenly by each number of nodes
	for _, items := range []int64{1e6, 1e7, 1e8, 1e9, 1e10} {
		f := gaugetest.Uniform(gaugetest.Size{Nodes: nodes, Splits: parts, Partitions: parts})
		f.Items = items
		want, at := math.Inf(1), 0
		for w := 1; w < nodes; w++ {
			per := float64(items) / float64(w) * 1e-5
			if s := per + 10*1e6/1e8*max(1, float64(w)/float64(nodes-w)); s < want*(1-same) {
				want, at = s, w
			}
		}
		pins := map[bellows.NodeID]Role{0: Worker} // of which the paper has no nodes that do both
		for i := range nodes {
			f.Nodes[i].Works, f.Nodes[i].Serves = i < at, i >= at
		}
		for i := range parts {
			f.Splits[i].Node, f.Partitions[i].Node = bellows.NodeID(i%at), bellows.NodeID(at+i%(nodes-at))
		}
		c, err := Find(f, Ask{Pins: pins})
		require.NoError(t, err)
		if c.Both == 0 && (c.Workers != at || math.Abs(c.Epoch.Value-want) > 1e-6*want) {
			t.Errorf("%d items: %+v with %g, want %d workers with %g", items, c.Counts, c.Epoch.Value, at, want)
		}
		for i := range c.Rows {
			if r := &c.Rows[i]; r.Both == 0 && r.Workers == at && math.Abs(r.Seconds-want) > 1e-6*want {
				t.Errorf("%d items: the row of %d workers has %g, want %g", items, at, r.Seconds, want)
			}
		}
	}
}

// TestFindKeepsBounds: pins and ranges hold, and roles that must not change do not.
func TestFindKeepsBounds(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 2))
	found := 0
	for range 250 {
		f := uniformJob(rng)
		ask := Ask{Pins: map[bellows.NodeID]Role{}}
		for i := range len(f.Nodes) - 1 {
			if rng.IntN(3) == 0 {
				ask.Pins[bellows.NodeID(i)] = Role(rng.IntN(4))
			}
		}
		ask.Workers.Low, ask.Servers.Low = rng.IntN(3), rng.IntN(3)
		ask.Workers.High, ask.Servers.High = ask.Workers.Low+rng.IntN(3), ask.Servers.Low+rng.IntN(3)
		if rng.IntN(4) == 0 {
			f.Leads = 0
			delete(ask.Pins, 0)
		}
		c, err := Find(f, ask)
		if err != nil {
			if !strings.Contains(err.Error(), "within what is asked") && !strings.Contains(err.Error(), "asked for") {
				t.Fatal(err)
			}
			continue
		}
		found++
		w, s := c.Shape.Counts()
		if !ask.Workers.allows(w) || !ask.Servers.allows(s) {
			t.Fatalf("%d workers and %d servers for %+v", w, s, ask)
		}
		for id, role := range ask.Pins {
			n, _ := c.Node(id)
			if (n.Slots > 0) != role.works() || (n.Lanes > 0) != role.serves() {
				t.Fatalf("node %d is %+v, and pinned as %s", id, n, role)
			}
		}
		if lead, _ := c.Node(f.Leads); f.Leads == 0 && (lead.Slots > 0) != f.Nodes[0].Works {
			t.Fatalf("the node that leads has another role: %+v", lead)
		}
	}
	if found < 60 {
		t.Errorf("only %d cases have a shape", found)
	}
}

// TestFindRefuses what cannot be, with the reason.
func TestFindRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(f *gauge.Figures, a *Ask){
		"17 clocks were measured, which is too few; it takes 3 clocks more": func(f *gauge.Figures, _ *Ask) {
			f.Clocks.Measured = 17
		},
		"9 workers are asked for, and the job has 8 splits": func(_ *gauge.Figures, a *Ask) { a.Workers.Low = 9 },
		"7 servers are asked for, and the job has 6 partitions": func(_ *gauge.Figures, a *Ask) {
			a.Servers.Low = 7
		},
		"6 servers are asked for, and there are 4 nodes": func(_ *gauge.Figures, a *Ask) { a.Servers.Low = 6 },
		"node-9 cannot be pinned: the job has no such node": func(_ *gauge.Figures, a *Ask) {
			a.Pins = map[bellows.NodeID]Role{9: Worker}
		},
		"node-0 cannot be pinned as server: it leads the job": func(_ *gauge.Figures, a *Ask) {
			a.Pins = map[bellows.NodeID]Role{0: Server}
		},
		"node-3 cannot be pinned as worker: it has 0 compute slots and 1 lanes": func(f *gauge.Figures, a *Ask) {
			f.Nodes[3].Slots, a.Pins = 0, map[bellows.NodeID]Role{3: Worker}
		},
		"as worker: splits stay where they are, since they cannot move": func(f *gauge.Figures, a *Ask) {
			f.Stays, a.Pins = "they cannot move", map[bellows.NodeID]Role{3: Worker}
		},
		"no numbers of workers and servers are within what is asked": func(_ *gauge.Figures, a *Ask) {
			a.Workers.High, a.Pins = 1, map[bellows.NodeID]Role{1: Worker}
		},
		"every shape needs more memory than there is; with 3 workers and 1 servers": func(f *gauge.Figures, a *Ask) {
			for i := range f.Nodes {
				f.Nodes[i].Memory = 1000
			}
			a.Servers.High, a.Workers.Low = 1, 3
		},
	} {
		f, ask := gaugetest.Uniform(gaugetest.Size{Nodes: 4, Splits: 8, Partitions: 6}), Ask{}
		change(f, &ask)
		if c, err := Find(f, ask); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", c, err, want)
		}
	}
}

// TestFindLeavesNodesUnused: nodes that make nothing faster are given back.
func TestFindLeavesNodesUnused(t *testing.T) {
	t.Parallel()
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 12, Splits: 4, Partitions: 3})
	c, err := Find(f, Ask{})
	require.NoError(t, err)
	if len(c.Shape.Nodes) > 7 || c.works() != 4 {
		t.Errorf("%+v", c.Counts)
	}
}

// TestFindKeepsPresentRoles: a job at its best shape keeps its nodes, but for a few cases in which another search finds
// a faster one.
func TestFindKeepsPresentRoles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 2))
	kept := 0
	for range 100 {
		f := uniformJob(rng)
		c, err := Find(f, Ask{})
		require.NoError(t, err)
		adopt(f, &c.Shape)
		again, err := Find(f, Ask{})
		require.NoError(t, err)
		if slices.Equal(again.Shape.Nodes, c.Shape.Nodes) {
			kept++
		} else if again.Epoch.Value > c.Epoch.Value*1.0001 {
			t.Fatalf("%+v becomes %+v, and %g s %g", c.Shape.Nodes, again.Shape.Nodes, c.Epoch.Value, again.Epoch.Value)
		}
	}
	if kept < 90 {
		t.Errorf("only %d of 100 jobs keep their nodes", kept)
	}
}

// adopt makes a shape the present one.
func adopt(f *gauge.Figures, s *shape.Shape) {
	for i := range f.Nodes {
		n, _ := s.Node(f.Nodes[i].ID)
		f.Nodes[i].Works, f.Nodes[i].Serves = n.Slots > 0, n.Lanes > 0
	}
	for i, n := range s.Splits {
		f.Splits[i].Node = n
	}
	for i, p := range s.Partitions {
		f.Partitions[i].Node, f.Partitions[i].Lane = p.Node, p.Lane
	}
}

// BenchmarkRows prints the time of the answer for machines that are alike, without the bound.
func BenchmarkRows(b *testing.B) {
	f := gaugetest.Random(rand.New(rand.NewPCG(1, 1)), gaugetest.Size{Nodes: 1024, Splits: 8192, Partitions: 1024}, 1)
	u := newUniform(f, cost.New(f), 0)
	for b.Loop() {
		rows := u.rows(&Ask{Apart: true}, Counts{}, 1024)
		if fastest(rows, false) == nil {
			b.Fatal("there is no row")
		}
	}
}

// TestFindPredictsLikeCost: the time and the bounds of the choice are those of the model for its shape.
func TestFindPredictsLikeCost(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 60 {
		f := unlikeJob(rng)
		if i%2 == 0 {
			f = uniformJob(rng)
		}
		f.Clocks.Latency = gauge.Interval{Value: 0.2, Low: 0.1, High: 0.5}
		c, err := Find(f, Ask{})
		require.NoError(t, err)
		m := cost.New(f)
		got, want := c.Epoch, m.Predict(m.Loads(&c.Shape)).Epoch
		for _, d := range []float64{got.Value - want.Value, got.Low - want.Low, got.High - want.High} {
			if math.Abs(d) > 1e-9*want.High {
				t.Fatalf("case %d: %+v, and the model has %+v", i, got, want)
			}
		}
	}
}
