package advise

import (
	"cmp"
	"fmt"
	"slices"

	"bellows/policy/choose"
	"bellows/policy/shape"
)

// Begin returns the policy by which a job begins: the present shape, if that is within what is demanded. Otherwise the
// last nodes hold partitions, as many as are demanded at least, and the others run tasks; without a demand about
// servers each node does both. Nodes that get nothing stay.
func Begin(ask choose.Ask) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		want := shape.Decision{Shape: now.Shape, Reason: "the job begins in the shape that is demanded"}
		present := used(&now.Shape)
		if ask.Allows(&present) {
			return want, nil
		}
		nodes := begin(&ask, &now)
		d, err := shape.Deal(now, nodes)
		if err != nil {
			return want, err
		}
		if !ask.Allows(&d.Shape) {
			workers, servers := d.Counts()
			return want, fmt.Errorf("%d workers and %d servers are all that is possible, and are not what is demanded",
				workers, servers)
		}
		want.Shape = d.Shape
		for _, n := range now.Nodes {
			if _, has := d.Node(n.ID); !has {
				want.Nodes = append(want.Nodes, n)
			}
		}
		slices.SortFunc(want.Nodes, func(a, b shape.Node) int { return cmp.Compare(a.ID, b.ID) })
		return want, nil
	}
}

// begin returns the nodes that a job begins with, and their roles.
func begin(ask *choose.Ask, now *shape.Snapshot) []shape.Node {
	apart := ask.Servers != (choose.Bounds{}) || ask.Apart
	servers := max(1, ask.Servers.Low)
	var nodes []shape.Node
	for _, was := range slices.Backward(now.Nodes) {
		n := was
		if i := slices.IndexFunc(now.Hosts, func(h shape.Node) bool { return h.ID == was.ID }); i >= 0 {
			n = now.Hosts[i] // all that it can run
		}
		role, pinned := ask.Pins[n.ID]
		switch {
		case pinned:
			if role != choose.Worker && role != choose.Both {
				n.Slots = 0
			}
			if role != choose.Server && role != choose.Both {
				n.Lanes = 0
			}
		case n.ID == now.Want.Stays:
			n = was
		case apart && servers > 0 && n.Lanes > 0:
			n.Slots = 0
		case apart:
			n.Lanes = 0
		}
		servers -= min(1, n.Lanes)
		nodes = append(nodes, n)
	}
	slices.Reverse(nodes)
	workers := 0
	for i := range nodes {
		if n := &nodes[i]; n.Slots > 0 {
			if workers++; ask.Workers.High > 0 && workers > ask.Workers.High {
				n.Slots = 0
			}
		}
	}
	return slices.DeleteFunc(nodes, func(n shape.Node) bool { return n.Slots+n.Lanes == 0 && n.ID != now.Want.Stays })
}

// Begin returns the policy by which a job begins, or a controller that follows; false: the user demands nothing. What
// commands have scaled stays.
func (a *Advisor) Begin() (p shape.Policy, demanded bool) {
	if a.Ask.Workers == (choose.Bounds{}) && a.Ask.Servers == (choose.Bounds{}) && len(a.Ask.Pins) == 0 {
		return nil, false
	}
	return Begin(a.bounded()), true
}

// used returns a shape without the roles for which nodes have no parts.
func used(s *shape.Shape) shape.Shape {
	with := shape.Shape{Partitions: s.Partitions, Splits: s.Splits}
	for _, n := range s.Nodes {
		if !slices.Contains(s.Splits, n.ID) {
			n.Slots = 0
		}
		if !slices.ContainsFunc(s.Partitions, func(p shape.Place) bool { return p.Node == n.ID }) {
			n.Lanes = 0
		}
		with.Nodes = append(with.Nodes, n)
	}
	return with
}
