package advising

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/policy/advise"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/trace"
)

// history is what a job has had.
//
// In one state of the world a change to a shape is a trial, and the only one, unless it goes back to a shape that was
// measured as the faster one. A state of the world ends when the job's memory forgets its trials. That is allowed only
// if the nodes or their figures have changed since the last look. They need not end it: the first figures of a shape
// widen what the memory knows the world by.
type history struct {
	*trace.Trace
	world   string             // the nodes and their figures at the last look; empty: another controller leads since
	seconds map[string]float64 // of shapes that were measured: the first time
	tried   map[string]int
	workers bounds
	servers bounds
	pins    map[bellows.NodeID]choose.Role // of the user: one at most
}

// bounds are those of a person; 0: none.
type bounds struct{ least, most int }

// worldOf returns nodes without their roles, as text.
func worldOf(nodes []gauge.Node) (text string) {
	for _, n := range nodes {
		n.Works, n.Serves = false, false
		text += fmt.Sprintln(n)
	}
	return text
}

// begin forgets all shapes.
func (h *history) begin() { h.seconds, h.tried = map[string]float64{}, map[string]int{} }

// follow forgets what a controller has not reported.
func (h *history) follow(s *advise.State) {
	if h.world = ""; h.seconds == nil {
		h.begin()
	}
	clear(h.seconds)
	for i := range s.Tried {
		if t := &s.Tried[i]; t.Measured != nil {
			h.seconds[t.Shape] = t.Measured.Value
		}
	}
}

// look checks what the memory has forgotten at a look.
func (h *history) look(nodes []gauge.Node, before, after *advise.State) {
	world := worldOf(nodes)
	forgotten := slices.ContainsFunc(before.Tried, func(t choose.Trial) bool {
		return !slices.ContainsFunc(after.Tried, func(u choose.Trial) bool { return u.Shape == t.Shape })
	})
	if forgotten {
		if world == h.world {
			h.Violated("advice: trials are forgotten, and the world is the same")
		}
		h.begin()
	}
	h.world = world
}

// measured notes the time of a shape.
func (h *history) measured(shape string, seconds float64) {
	if _, known := h.seconds[shape]; !known {
		h.seconds[shape] = seconds
	}
}

// changes checks a change. It returns whether that is a way back.
func (h *history) changes(a *advise.Advice) (back bool) {
	if a.To == a.Now || choose.Name(&a.Shape) != a.To {
		h.Violated("advice: a change from %s to %s, which is %s", a.Now, a.To, choose.Name(&a.Shape))
	}
	h.bounded(a.Shape.Counts())
	h.pinned(&a.Shape)
	if s, known := h.seconds[a.To]; known && s < h.seconds[a.Now] {
		return true
	}
	if h.tried[a.To]++; h.tried[a.To] > 1 {
		h.Violated("advice: %s is tried for the %d. time", a.To, h.tried[a.To])
	}
	return false
}

// withdrawn takes back a change that was not begun.
func (h *history) withdrawn(to string, back bool, s *advise.State) {
	for i := range s.Tried {
		if t := &s.Tried[i]; t.Shape == to && t.Measured == nil {
			h.Violated("advice: %s was not begun, and counts as tried", to)
		}
	}
	if !back {
		h.tried[to]--
	}
}

// scaled notes what a person has asked for.
func (h *history) scaled(s *reshape.Scale, workers, servers int) {
	of := func(b *bounds, asked, now int) {
		if asked == 0 {
			return
		}
		if *b = (bounds{}); asked >= now {
			b.least = asked
		}
		if asked <= now {
			b.most = asked
		}
	}
	of(&h.workers, s.Workers, workers)
	of(&h.servers, s.Servers, servers)
}

// bounded checks that numbers of nodes undo nothing that a person has asked for. Those of an advice count roles: now and
// then a node with a role gets no part.
func (h *history) bounded(workers, servers int) {
	for _, c := range []struct {
		what string
		n    int
		bounds
	}{{"workers", workers, h.workers}, {"servers", servers, h.servers}} {
		if c.n < c.least || c.most > 0 && c.n > c.most {
			h.Violated("advice: %d %s, and a person has asked for %d to %d", c.n, c.what, c.least, c.most)
		}
	}
}

// pinned checks that a node has the role that the user has given it.
func (h *history) pinned(s *shape.Shape) {
	for id, role := range h.pins {
		n, _ := s.Node(id)
		works, serves := role == choose.Worker || role == choose.Both, role == choose.Server || role == choose.Both
		if (n.Slots > 0) != works || (n.Lanes > 0) != serves {
			h.Violated("advice: node %d is pinned as %s, and not in %s", id, role, choose.Name(s))
		}
	}
}

// uses returns how many nodes run tasks, and how many hold partitions.
func uses(s *shape.Shape) (workers, servers int) {
	tasks, tables := map[bellows.NodeID]bool{}, map[bellows.NodeID]bool{}
	for _, n := range s.Splits {
		tasks[n] = true
	}
	for _, p := range s.Partitions {
		tables[p.Node] = true
	}
	return len(tasks), len(tables)
}
