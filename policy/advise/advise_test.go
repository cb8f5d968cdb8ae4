package advise

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/policy/shape"
)

// moment returns a job of four nodes with much to win, and many clocks left.
func moment() *Moment {
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 5, Splits: 8, Partitions: 8})
	f.Clocks.Expected = 1 << 30
	return &Moment{f, gauge.Exactly(1e6), gauge.ClocksLeast}
}

// take gives the figures another shape.
func take(f *gauge.Figures, s *shape.Shape) {
	for i := range f.Nodes {
		f.Nodes[i].Works, f.Nodes[i].Serves = false, false
	}
	node := func(id bellows.NodeID) *gauge.Node { return &f.Nodes[id] } // nodes are 0 to 4
	for i, n := range s.Splits {
		f.Splits[i].Node = n
		node(n).Works = true
	}
	for i, p := range s.Partitions {
		f.Partitions[i].Node, f.Partitions[i].Lane = p.Node, p.Lane
		node(p.Node).Serves = true
	}
}

// TestAdviceLeavesShapeThatDidNotHold: a shape that is slower than predicted is left for the one that was measured, and
// is not tried again; later it is judged. The state survives the log.
func TestAdviceLeavesShapeThatDidNotHold(t *testing.T) {
	t.Parallel()
	m, a := moment(), &Advisor{}
	first, err := a.Step(m)
	if err != nil || !first.Change || first.Judged != "" ||
		!strings.Contains(first.Sentence(), " are faster: an epoch takes 1e+06 s") {
		t.Fatalf("%+v, %v", first, err)
	}
	before := m.Figures.Shape()
	take(m.Figures, &first.Shape)
	m.Epoch = gauge.Exactly(2e6)
	text, err := json.Marshal(a.State)
	require.NoError(t, err)
	b := &Advisor{}
	require.NoError(t, json.Unmarshal(text, &b.State))
	if !reflect.DeepEqual(a.State, b.State) {
		t.Errorf("%s is read as %+v", text, b.State)
	}
	if preview, err := b.Preview(m); err != nil ||
		preview.To != choose.Name(&before) || !reflect.DeepEqual(a.State, b.State) {
		t.Errorf("a preview is %+v, %v, and leaves %+v", preview, err, b.State)
	}
	back, err := b.Step(m)
	if err != nil || !back.Change || back.To != choose.Name(&before) || !strings.Contains(back.Judged, "did not hold") {
		t.Fatalf("%+v, %v", back, err)
	}
	take(m.Figures, &back.Shape)
	m.Epoch = gauge.Exactly(1e6)
	if again, err := b.Step(m); err != nil || again.To == first.To {
		t.Errorf("tried again: %+v, %v", again, err)
	}
}

// TestAdviceEnds: whatever is measured, a job in one state of the world changes its shape a bounded number of times.
func TestAdviceEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		m, a := moment(), &Advisor{}
		tried := map[string]int{}
		for range 60 {
			m.Epoch = gauge.Exactly(1e5 * (1 + rng.Float64()))
			out, err := a.Step(m)
			require.NoError(t, err)
			if !out.Change {
				continue
			}
			if tried[out.To]++; tried[out.To] > 2 { // to try it, and to return to it
				t.Fatalf("seed %d: changes to %s for the %d. time", seed, out.To, tried[out.To])
			}
			take(m.Figures, &out.Shape)
		}
	}
}

// TestCommandsBoundAdvice: what a command has scaled is not undone, also if it contradicts the flags.
func TestCommandsBoundAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask        choose.Bounds
		asked, had int
		want       choose.Bounds
	}{
		{ask: choose.Bounds{}, asked: 3, had: 2, want: choose.Bounds{Low: 3}},
		{ask: choose.Bounds{}, asked: 3, had: 4, want: choose.Bounds{High: 3}},
		{ask: choose.Bounds{}, asked: 3, had: 3, want: choose.Bounds{Low: 3, High: 3}},
		{ask: choose.Bounds{Low: 2, High: 5}, asked: 3, had: 2, want: choose.Bounds{Low: 3, High: 5}},
		{ask: choose.Bounds{Low: 2, High: 5}, asked: 6, had: 2, want: choose.Bounds{Low: 6, High: 6}},
		{ask: choose.Bounds{Low: 2, High: 5}, asked: 1, had: 2, want: choose.Bounds{High: 1}},
		{ask: choose.Bounds{Low: 2, High: 5}, asked: 0, had: 2, want: choose.Bounds{Low: 2, High: 5}},
	} {
		a := Advisor{Ask: choose.Ask{Workers: c.ask}}
		a.State.Scaled(c.asked, 0, c.had, 1)
		if got := a.bounded().Workers; got != c.want {
			t.Errorf("%+v, scaled from %d to %d: %+v, not %+v", c.ask, c.had, c.asked, got, c.want)
		}
	}
	m, a := moment(), &Advisor{}
	a.State.Scaled(4, 0, 2, 1)
	if out, err := a.Step(m); err != nil || !out.Change || workersOf(&out.Shape) < 4 {
		t.Errorf("%+v, %v", out, err)
	}
}

func workersOf(s *shape.Shape) int {
	workers, _ := s.Counts()
	return workers
}

// TestAdvicePolicyKeepsNodes: nodes without work keep their roles, and a shape that has changed since is refused.
func TestAdvicePolicyKeepsNodes(t *testing.T) {
	t.Parallel()
	m := moment()
	a := &Advisor{Ask: choose.Ask{Workers: choose.Bounds{Low: 1, High: 1}, Servers: choose.Bounds{Low: 1, High: 1}}}
	out, err := a.Step(m)
	if err != nil || !out.Change {
		t.Fatalf("%+v, %v", out, err)
	}
	now := shape.Snapshot{Job: m.Figures.Job(), Shape: m.Figures.Shape()}
	for i := range m.Figures.Nodes {
		n := &m.Figures.Nodes[i]
		now.Hosts = append(now.Hosts, shape.Node{ID: n.ID, Slots: n.Slots, Lanes: n.Lanes})
	}
	d, err := out.Policy(m.Figures)(now)
	if err != nil || len(d.Nodes) != len(now.Hosts) || choose.Name(&d.Shape) != out.To || d.Reason != out.Sentence() {
		t.Errorf("%+v, %v", d, err)
	}
	now.Splits[0] = now.Splits[len(now.Splits)-1]
	if _, err := out.Policy(m.Figures)(now); err == nil {
		t.Error("a shape that has changed is changed")
	}
	a.State.Withdraw(out.To)
	if again, err := a.Preview(m); err != nil || again.To != out.To {
		t.Errorf("what was not begun is advised again: %+v, %v", again, err)
	}
}

// TestBeginAsDemanded: a job begins with the demanded numbers and roles, and keeps a shape that has them.
func TestBeginAsDemanded(t *testing.T) {
	t.Parallel()
	now := shape.Snapshot{Job: shape.Job{Tables: []int{6}}}
	now.Nodes = []shape.Node{{}}
	for n := range bellows.NodeID(4) {
		now.Nodes = append(now.Nodes, shape.Node{ID: n + 1, Slots: 1, Lanes: 1})
	}
	now.Hosts = now.Nodes
	for i := range 6 {
		n := bellows.NodeID(1 + i%4)
		now.Splits, now.Partitions = append(now.Splits, n), append(now.Partitions, shape.Place{Node: n})
	}
	for _, c := range []struct {
		ask  choose.Ask
		want string
	}{
		{choose.Ask{Servers: choose.Bounds{Low: 1, High: 2}}, "node-1:2+0 node-2:2+0 node-3:2+0 node-4:0+6"},
		{choose.Ask{Servers: choose.Bounds{Low: 2, High: 2}}, "node-1:3+0 node-2:3+0 node-3:0+3 node-4:0+3"},
		{choose.Ask{Workers: choose.Bounds{Low: 1, High: 2}}, "node-1:3+2 node-2:3+2 node-3:0+1 node-4:0+1"},
		{choose.Ask{Workers: choose.Bounds{Low: 1, High: 1}, Servers: choose.Bounds{Low: 1, High: 1}},
			"node-1:6+0 node-4:0+6"},
		{choose.Ask{Pins: map[bellows.NodeID]choose.Role{1: choose.Server, 2: choose.Unused}},
			"node-1:0+2 node-3:3+2 node-4:3+2"},
		{choose.Ask{Workers: choose.Bounds{Low: 2, High: 4}}, choose.Name(&now.Shape)},
	} {
		d, err := Begin(c.ask)(now)
		name := choose.Name(&d.Shape)
		if err != nil || name != c.want || d.Validate() != nil || len(d.Nodes) != len(now.Nodes) {
			t.Errorf("%+v: %s of %+v, %v, not %s", c.ask, name, d.Nodes, err, c.want)
		}
	}
	four, two := choose.Bounds{Low: 4, High: 4}, choose.Bounds{Low: 2, High: 2}
	if _, err := Begin(choose.Ask{Workers: four, Servers: two, Apart: true})(now); err == nil {
		t.Error("four workers and two servers of four nodes")
	}
}

// TestFollowerKeepsWhatWasScaled: a controller that follows begins with the numbers that a command has asked for, also
// beyond the flags.
func TestFollowerKeepsWhatWasScaled(t *testing.T) {
	t.Parallel()
	f := moment().Figures
	now := shape.Snapshot{Job: f.Job(), Shape: f.Shape()}
	now.Hosts = now.Nodes
	had, servers := now.Counts()
	a := Advisor{Ask: choose.Ask{Workers: choose.Bounds{High: had - 1}}}
	p, demanded := a.Begin()
	d, err := p(now)
	if shape := used(&d.Shape); !demanded || err != nil || workersOf(&shape) != had-1 {
		t.Errorf("%+v, %v", d, err)
	}
	a.State.Scaled(had, 0, had-1, servers)
	p, _ = a.Begin()
	if d, err = p(now); err != nil || choose.Name(&d.Shape) != choose.Name(&now.Shape) {
		t.Errorf("%s of %d workers becomes %s, %v", choose.Name(&now.Shape), had, choose.Name(&d.Shape), err)
	}
	a = Advisor{Ask: choose.Ask{Apart: true}}
	if _, demanded = a.Begin(); demanded {
		t.Error("no numbers are demanded")
	}
}

// TestNamesOfShapesAreParsed: a shape is dealt anew by its name, with partitions near their splits.
func TestNamesOfShapesAreParsed(t *testing.T) {
	t.Parallel()
	dealt := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		size := gaugetest.Size{Nodes: 2 + rng.IntN(5), Splits: 1 + rng.IntN(9), Partitions: 1 + rng.IntN(9)}
		f := gaugetest.Random(rng, size, 1)
		if rng.IntN(2) == 0 {
			for i := range min(len(f.Splits), len(f.Partitions)) {
				f.Partitions[i].Near = &i
			}
		}
		now := f.Shape()
		d, err := shape.Random(seed, 0)(shape.Snapshot{Job: f.Job(), Shape: now,
			Want: shape.Want{Workers: 1, Servers: 1, Slots: 1, Lanes: 1, Next: 99}})
		require.NoError(t, err)
		name := choose.Name(&d.Shape)
		s, err := dealAs(f, &now, name)
		if err == nil && choose.Name(&s) != name {
			t.Errorf("seed %d: %s is dealt as %s", seed, name, choose.Name(&s))
		}
		if err == nil {
			dealt++
		}
	}
	if dealt < 150 {
		t.Errorf("%d of 200 shapes are dealt anew", dealt)
	}
	for _, name := range []string{"x", "node-1:2", "node--1:2+3", "node-70000:1+1", "node-1:-2+1"} {
		if shares, err := choose.ParseName(name); err == nil {
			t.Errorf("%s is %v", name, fmt.Sprint(shares))
		}
	}
}
