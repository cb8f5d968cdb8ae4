package lab

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	deal "bellows/sim/lab/roles"
)

// Role is what a node of a site is for; 0: nothing. It is never more than the node's slots and lanes allow.
type Role = reshape.Role

// Deal returns the shape of the job in which nodes have these roles, by node; those that are left out are 0. It is
// production's first shape of nodes that can do no more than that (node.Cluster).
func (c *Config) Deal(roles []Role) shape.Shape {
	var nodes []shape.Node
	for i, n := range c.Site.Nodes {
		m := shape.Node{ID: bellows.NodeID(i)}
		if i < len(roles) && roles[i]&reshape.Worker != 0 {
			m.Slots = n.Slots
		}
		if i < len(roles) && roles[i]&reshape.Server != 0 {
			m.Lanes = n.Lanes
		}
		nodes = append(nodes, m)
	}
	return deal.Deal(nodes, c.Job.Tables, c.Job.Splits)
}

// firstRoute returns the route with which a life begins. All nodes take part with all that they have, whatever the
// first shape gives them: their roles can change.
func (w *world) firstRoute(lanes []wire.Address, workers []bellows.NodeID) (*route.Route, error) {
	job := &w.cfg.Job
	all := route.Spread(job.Tables, job.Splits, lanes, workers)
	if w.cfg.Shape == nil {
		return all, nil
	}
	return deal.Route(all, w.cfg.Shape)
}

// validateShape refuses a first shape that the nodes of the site cannot have.
func (c *Config) validateShape(bad func(string, ...any) error) error {
	s := c.Shape
	if s == nil {
		return nil
	}
	partitions := 0
	for i := range c.Job.Tables {
		partitions += c.Job.Tables[i].Cut().Len()
	}
	if len(s.Splits) != c.Job.Splits || len(s.Partitions) != partitions {
		return bad("a shape of %d splits and %d partitions; the job has %d and %d", len(s.Splits), len(s.Partitions),
			c.Job.Splits, partitions)
	}
	for _, n := range s.Nodes {
		if int(n.ID) >= len(c.Site.Nodes) || n.Slots > c.Site.Nodes[n.ID].Slots || n.Lanes > c.Site.Nodes[n.ID].Lanes {
			return bad("a shape in which node %d has %d compute slots and %d lanes, which the site does not have", n.ID,
				n.Slots, n.Lanes)
		}
	}
	if err := s.Validate(); err != nil {
		return bad("first shape: %v", err)
	}
	return nil
}

// keepRoles makes the present roles known to what changes them: by what nodes have, and not by what they are able to
// do. Nothing moves by it. A node that has nothing keeps what it is able to do, since one without a role would leave.
func (w *world) keepRoles() {
	if w.cfg.Shape == nil {
		return
	}
	w.shape.Ask(reshape.Ask{Shape: func(now shape.Snapshot) (shape.Decision, error) {
		d := shape.Decision{Shape: now.Shape, Reason: "the job has these roles"}
		d.Nodes = slices.Clone(now.Nodes)
		for i := range d.Nodes {
			n := &d.Nodes[i]
			works := slices.Contains(now.Splits, n.ID)
			serves := slices.ContainsFunc(now.Partitions, func(p shape.Place) bool { return p.Node == n.ID })
			if works && !serves {
				n.Lanes = 0
			}
			if serves && !works {
				n.Slots = 0
			}
		}
		return d, nil
	}})
}
