package advising

import (
	"strings"
	"testing"

	"bellows"
	"bellows/policy/advise"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/trace"
)

// spread returns a shape with a split on each of some nodes, and one partition.
func spread(nodes ...bellows.NodeID) *advise.Advice {
	a := &advise.Advice{Change: true, Now: "node-0:1+1"}
	for _, n := range nodes {
		a.Shape.Nodes = append(a.Shape.Nodes, shape.Node{ID: n, Slots: 1, Lanes: 1})
	}
	a.Shape.Splits, a.Shape.Partitions = nodes, []shape.Place{{Node: nodes[0]}}
	for i := range nodes[1:] {
		a.Shape.Nodes[1+i].Lanes = 0
	}
	a.To = choose.Name(&a.Shape)
	return a
}

// tried returns a memory of shapes that were tried.
func tried(shapes ...string) *advise.State {
	s := &advise.State{}
	for _, name := range shapes {
		s.Tried = append(s.Tried, choose.Trial{Shape: name})
	}
	return s
}

// TestHistoryFindsFaults: a second trial, and a change that undoes what a person has asked for, break a promise. A way
// back, another world and a change that was not begun break none.
func TestHistoryFindsFaults(t *testing.T) {
	t.Parallel()
	world := gaugetest.Uniform(gaugetest.Size{Nodes: 3, Splits: 2, Partitions: 1}).Nodes
	other := gaugetest.Uniform(gaugetest.Size{Nodes: 4, Splits: 2, Partitions: 1}).Nodes
	a := spread(1, 2)
	for name, c := range map[string]struct {
		do   func(h *history)
		want string
	}{
		"once":      {func(*history) {}, ""},
		"twice":     {func(h *history) { h.changes(a) }, "is tried for the 2. time"},
		"not begun": {func(h *history) { h.withdrawn(a.To, h.changes(a), &advise.State{}) }, ""},
		"still noted": {func(h *history) {
			h.withdrawn(a.To, h.changes(a), &advise.State{Memory: choose.Memory{Tried: []choose.Trial{{Shape: a.To}}}})
		}, "was not begun, and counts as tried"},
		"pinned":      {func(h *history) { h.pins = map[bellows.NodeID]choose.Role{1: choose.Both} }, ""},
		"no pin":      {func(h *history) { h.pins = map[bellows.NodeID]choose.Role{2: choose.Server} }, "node 2 is pinned as server"},
		"other world": {func(h *history) { h.changes(a); h.look(other, tried(a.To), tried()); h.measured(a.Now, 5) }, ""},
		"forgotten": {func(h *history) { h.changes(a); h.look(world, tried(a.To), tried()) },
			"trials are forgotten, and the world is the same"},
		"wider world": {func(h *history) { h.changes(a); h.look(other, tried(a.To), tried(a.To)) }, "is tried for the 2. time"},
		"back":        {func(h *history) { h.changes(a); h.measured(a.To, 3) }, ""},
		"slower":      {func(h *history) { h.changes(a); h.measured(a.To, 9) }, "is tried for the 2. time"},
		"followed": {func(h *history) {
			h.changes(a)
			h.follow(&advise.State{Memory: choose.Memory{World: world, Tried: []choose.Trial{{Shape: a.To}}}})
		}, "is tried for the 2. time"},
		"followed by another world": {func(h *history) {
			h.changes(a)
			h.follow(&advise.State{Memory: choose.Memory{World: world, Tried: []choose.Trial{{Shape: a.To}}}})
			h.look(world, tried(a.To), tried())
		}, ""},
		"least":  {func(h *history) { h.scaled(&reshape.Scale{Workers: 3}, 1, 1) }, "2 workers, and a person has asked for 3"},
		"most":   {func(h *history) { h.scaled(&reshape.Scale{Workers: 1}, 2, 1) }, "2 workers, and a person has asked for 0 to 1"},
		"as now": {func(h *history) { h.scaled(&reshape.Scale{Servers: 1}, 2, 1) }, ""},
		"later": {func(h *history) {
			h.scaled(&reshape.Scale{Workers: 3}, 1, 1)
			h.scaled(&reshape.Scale{Workers: 2}, 3, 1)
		}, ""},
	} {
		h := &history{Trace: &trace.Trace{Clock: new(int64)}}
		h.begin()
		h.look(world, tried(), tried())
		h.measured(a.Now, 5)
		c.do(h)
		if h.changes(a); c.want == "" && h.Violation != "" || !strings.Contains(h.Violation, c.want) {
			t.Errorf("%s: %q, not %q", name, h.Violation, c.want)
		}
	}
}

// TestHistoryKnowsNoRoles: nodes that take other roles are the same world.
func TestHistoryKnowsNoRoles(t *testing.T) {
	t.Parallel()
	nodes := []gauge.Node{{ID: 1, Slots: 1, Works: true}}
	before := worldOf(nodes)
	nodes[0].Works, nodes[0].Serves = false, true
	if worldOf(nodes) != before {
		t.Errorf("%s, then %s", before, worldOf(nodes))
	}
	if nodes[0].Slots = 2; worldOf(nodes) == before {
		t.Error("another slot is the same world")
	}
}
