// Package choose finds the shape in which an epoch of a job takes the least time, within what is asked, and how far it
// may be from the best one.
//
// It is pure. Package cost predicts each shape; this package decides which ones to look at.
package choose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"bellows"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// Role is what a node does in a shape.
type Role uint8

// The roles of nodes.
const (
	Unused Role = iota
	Worker      // runs tasks
	Server      // holds partitions
	Both
)

// String returns the name of a role in flags.
func (r Role) String() string { return [...]string{"unused", "worker", "server", "both"}[r] }

// works and serves say what a node with the role does.
func (r Role) works() bool  { return r == Worker || r == Both }
func (r Role) serves() bool { return r == Server || r == Both }

// Bounds are how many nodes may have a role. High 0: as many as there are.
type Bounds struct {
	Low  int `json:"low,omitempty"`
	High int `json:"high,omitempty"`
}

// allows reports whether a number is within the bounds.
func (b Bounds) allows(n int) bool { return n >= b.Low && (b.High == 0 || n <= b.High) }

// Ask is what a person demands of the shape.
type Ask struct {
	Workers, Servers Bounds
	Pins             map[bellows.NodeID]Role
	// Apart says that no node works and serves, as in Cruise (Fig. 3).
	Apart bool
}

// Allows reports whether a shape is within what is demanded.
func (a *Ask) Allows(s *shape.Shape) bool {
	workers, servers := s.Counts()
	if !a.Workers.allows(workers) || !a.Servers.allows(servers) {
		return false
	}
	for id, role := range a.Pins {
		n, _ := s.Node(id)
		if (n.Slots > 0) != role.works() || (n.Lanes > 0) != role.serves() {
			return false
		}
	}
	return !a.Apart || !slices.ContainsFunc(s.Nodes, func(n shape.Node) bool { return n.Slots > 0 && n.Lanes > 0 })
}

// Counts says how many nodes have which roles.
type Counts struct{ Workers, Servers, Both int } // that only work, that only serve, and that do both

// works and serves count the nodes that run tasks, and those that hold partitions.
func (c Counts) works() int  { return c.Workers + c.Both }
func (c Counts) serves() int { return c.Servers + c.Both }

// within reports whether the counts are within what is asked and what the job has: a worker has a split at least, and a
// server a partition, so that more of either would be unused.
func (c Counts) within(a *Ask, f *gauge.Figures) bool {
	w, s := c.works(), c.serves()
	exist := w >= 1 && s >= 1 && w <= len(f.Splits) && s <= len(f.Partitions)
	return exist && a.Workers.allows(w) && a.Servers.allows(s)
}

// place is a node of the job, and the roles that it may have.
type place struct {
	node        int // in the figures
	work, serve bool
	fixed       bool // it has the role, and no other
	role        Role
}

// allows reports whether the node may have a role.
func (p *place) allows(r Role) bool {
	if p.fixed {
		return r == p.role
	}
	return (p.work || !r.works()) && (p.serve || !r.serves())
}

// places returns the roles that each node may have: by pins, by what it is able to do, because it leads, or because
// splits stay.
func places(f *gauge.Figures, ask Ask) ([]place, error) {
	for _, id := range slices.Sorted(maps.Keys(ask.Pins)) {
		if !slices.ContainsFunc(f.Nodes, func(n gauge.Node) bool { return n.ID == id }) {
			return nil, fmt.Errorf("node-%d cannot be pinned: the job has no such node", id)
		}
	}
	list := make([]place, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		p := place{node: i, work: n.Slots > 0, serve: n.Lanes > 0, fixed: n.ID == f.Leads, role: roleOf(n)}
		why := "it leads the job, and keeps the roles that it has"
		if f.Stays != "" && !p.fixed {
			p.work, p.fixed = false, n.Works
			why = "splits stay where they are, since " + f.Stays
		}
		if role, pinned := ask.Pins[n.ID]; pinned {
			switch {
			case !p.allows(role) && (p.fixed || f.Stays != "" && role.works() && n.Slots > 0):
				return nil, fmt.Errorf("node-%d cannot be pinned as %s: %s", n.ID, role, why)
			case !p.allows(role):
				return nil, fmt.Errorf("node-%d cannot be pinned as %s: it has %d compute slots and %d lanes",
					n.ID, role, n.Slots, n.Lanes)
			}
			p.fixed, p.role = true, role
		}
		if !p.fixed && !p.work && !p.serve {
			p.fixed, p.role = true, Unused
		}
		list[i] = p
	}
	return list, nil
}

// add counts nodes with a role.
func (c *Counts) add(r Role, n int) {
	switch r {
	case Worker:
		c.Workers += n
	case Server:
		c.Servers += n
	case Both:
		c.Both += n
	}
}

// roleOf returns the present role of a node.
func roleOf(n *gauge.Node) Role {
	switch {
	case n.Works && n.Serves:
		return Both
	case n.Works:
		return Worker
	case n.Serves:
		return Server
	}
	return Unused
}

// Row is what is expected of numbers of nodes.
type Row struct {
	Counts
	Seconds float64 // likely, of an epoch
	Memory  error   // not nil: a node would have too little
}

// same is how much two times may differ that count as equal.
const same = 1e-9

// better reports whether a row is faster than another one, or as fast with fewer nodes.
func (r *Row) better(than *Row) bool {
	if d := r.Seconds - than.Seconds; math.Abs(d) > same*than.Seconds {
		return d < 0
	}
	nodes := func(c Counts) int { return c.Workers + c.Servers + c.Both }
	return nodes(r.Counts) < nodes(than.Counts)
}
