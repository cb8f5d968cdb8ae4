package route

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// A change is made in two steps. The controller derives it from its newest route (AddLane … RemoveClient) and records
// it. Then every node, the controller included, follows the record with Next. The controller judges whether a move is
// wise, or safe to make now; Next refuses only a change that would break an invariant of Route.

// AddLane returns the change by which a lane takes part that holds nothing yet.
func (r *Route) AddLane(a wire.Address) bellows.Control {
	return bellows.Control{Kind: bellows.AddLane, Route: r.version + 1, Node: a.Node, Lane: a.Index}
}

// AddClient returns the change by which a node runs tasks, without any split yet.
func (r *Route) AddClient(n bellows.NodeID) bellows.Control {
	return bellows.Control{Kind: bellows.AddClient, Route: r.version + 1, Node: n}
}

// RemoveLane returns the change by which a lane that holds nothing leaves. Its successor takes over what it has
// counted.
func (r *Route) RemoveLane(a, heir wire.Address) bellows.Control {
	return bellows.Control{Kind: bellows.RemoveLane, Route: r.version + 1, Node: a.Node, Lane: a.Index, Heir: heir.Node, HeirLane: heir.Index}
}

// RemoveClient returns the change by which a node that runs no split runs no tasks any more.
func (r *Route) RemoveClient(n bellows.NodeID, heir wire.Address) bellows.Control {
	return bellows.Control{Kind: bellows.RemoveClient, Route: r.version + 1, Node: n, Heir: heir.Node, HeirLane: heir.Index}
}

// LoseClient returns the change by which a lost node runs no tasks any more, after its splits have moved to others.
// It leaves no counts, and so has no successor.
func (r *Route) LoseClient(n bellows.NodeID) bellows.Control {
	return bellows.Control{Kind: bellows.LoseClient, Route: r.version + 1, Node: n}
}

// Heir returns the lane that takes over the counts of the lane or client that a change removes.
func (*Route) Heir(c bellows.Control) wire.Address { return wire.LaneAt(c.Heir, int(c.HeirLane)) }

// Removed returns the lane or client that a change removes, if it removes one.
func (*Route) Removed(c bellows.Control) (who wire.Address, removes bool) {
	switch c.Kind {
	case bellows.RemoveLane:
		return laneOf(c), true
	case bellows.RemoveClient, bellows.LoseClient:
		return wire.ClientAt(c.Node), true
	}
	return wire.Address{}, false
}

// MovePartition returns the change by which another lane holds a partition, at the next generation after this
// route's.
func (r *Route) MovePartition(p bellows.PartitionRef, to wire.Address) bellows.Control {
	return r.move(p, Owner{to, r.Owner(p).Generation + 1})
}

// move returns a MovePartition with a given generation.
func (r *Route) move(p bellows.PartitionRef, to Owner) bellows.Control {
	return bellows.Control{Kind: bellows.MovePartition, Route: r.version + 1, Table: p.Table, Partition: p.Partition, Node: to.Lane.Node, Lane: to.Lane.Index, Generation: to.Generation}
}

// MoveSplit returns the change by which another node runs a split.
func (r *Route) MoveSplit(s bellows.SplitID, to bellows.NodeID) bellows.Control {
	return bellows.Control{Kind: bellows.MoveSplit, Route: r.version + 1, Split: s, Node: to}
}

// Next returns the route that one change makes. It refuses a change that does not fit (TestUnfitChangeIsRefused).
// This route stays as it is in any case. A move copies the list of owners or of nodes, which jobs have in the
// thousands; the rest is shared.
func (r *Route) Next(c bellows.Control) (*Route, error) {
	if c.Route != r.version+1 {
		return nil, fmt.Errorf("route %d does not follow route %d", c.Route, r.version)
	}
	n := *r
	n.version++
	switch c.Kind {
	case bellows.MovePartition:
		n.owners = slices.Clone(r.owners)
	case bellows.MoveSplit:
		n.nodes = slices.Clone(r.nodes)
	}
	if err := n.change(c); err != nil {
		return nil, fmt.Errorf("route %d: %w", n.version, err)
	}
	if c.Kind == bellows.MoveSplit {
		n.group()
	}
	return &n, nil
}

// change makes one change in a new route, whose list for it is not shared.
func (r *Route) change(c bellows.Control) error {
	ref := bellows.PartitionRef{Table: c.Table, Partition: c.Partition}
	switch c.Kind {
	case bellows.AddLane:
		if slices.Contains(r.lanes, laneOf(c)) {
			return fmt.Errorf("%v takes part already", laneOf(c))
		}
		r.lanes = append(slices.Clip(r.lanes), laneOf(c))
	case bellows.AddClient:
		if slices.Contains(r.clients, wire.ClientAt(c.Node)) {
			return fmt.Errorf("%v takes part already", wire.ClientAt(c.Node))
		}
		r.clients = append(slices.Clip(r.clients), wire.ClientAt(c.Node))
	case bellows.MovePartition:
		switch {
		case !r.Contains(ref):
			return fmt.Errorf("there is no partition %v", ref)
		case !slices.Contains(r.lanes, laneOf(c)):
			return fmt.Errorf("%v takes no part", laneOf(c))
		case c.Generation <= r.Owner(ref).Generation:
			return fmt.Errorf("partition %v is at generation %d, behind which %d is not", ref, r.Owner(ref).Generation, c.Generation)
		}
		r.owners[r.Number(ref)] = Owner{laneOf(c), c.Generation}
	case bellows.MoveSplit:
		switch {
		case int(c.Split) >= len(r.nodes):
			return fmt.Errorf("there is no split %d", c.Split)
		case !slices.Contains(r.clients, wire.ClientAt(c.Node)):
			return fmt.Errorf("%v runs no tasks", wire.ClientAt(c.Node))
		}
		r.nodes[c.Split] = c.Node
	case bellows.RemoveLane, bellows.RemoveClient, bellows.LoseClient:
		return r.remove(c)
	default:
		return fmt.Errorf("control %d changes no route", c.Kind)
	}
	return nil
}

// remove removes a lane or a client, which must own nothing. Its successor, if it has one, must stay.
func (r *Route) remove(c bellows.Control) error {
	who, _ := r.Removed(c)
	list := &r.lanes
	if who.Role == wire.Client {
		list = &r.clients
	}
	switch {
	case !slices.Contains(*list, who):
		return fmt.Errorf("%v takes no part", who)
	case who.Role == wire.Client && slices.Contains(r.nodes, who.Node):
		return fmt.Errorf("%v runs a split", who)
	case who.Role == wire.Lane && slices.ContainsFunc(r.owners, func(o Owner) bool { return o.Lane == who }):
		return fmt.Errorf("%v holds a partition", who)
	case c.Kind != bellows.LoseClient && (r.Heir(c) == who || !slices.Contains(r.lanes, r.Heir(c))):
		return fmt.Errorf("%v, which is to be the heir of %v, takes no part", r.Heir(c), who)
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(a wire.Address) bool { return a == who })
	return nil
}

// Whole returns the route as changes of an empty one, for Rebuilt (TestTheWholeMakesTheSameRoute). Its length depends
// on the size of the job, not on the number of changes.
func (r *Route) Whole() (list []bellows.Control) {
	for _, a := range r.lanes {
		list = append(list, r.AddLane(a))
	}
	for _, a := range r.clients {
		list = append(list, r.AddClient(a.Node))
	}
	for p := range r.Each() {
		list = append(list, r.move(p, r.Owner(p)))
	}
	for s, n := range r.nodes {
		list = append(list, r.MoveSplit(bellows.SplitID(s), n))
	}
	return list
}

// Rebuilt returns the route that Whole has described, of the job that this route belongs to. It refuses a description
// in which a partition or a split has no owner.
func (r *Route) Rebuilt(version bellows.RouteVersion, whole []bellows.Control) (*Route, error) {
	n := &Route{version: version, cuts: r.cuts, first: r.first, owners: make([]Owner, len(r.owners)), nodes: make([]bellows.NodeID, len(r.nodes))}
	run := make([]bool, len(r.nodes))
	for _, c := range whole {
		if c.Kind == bellows.MoveSplit && int(c.Split) < len(run) {
			run[c.Split] = true
		}
		if err := n.change(c); err != nil {
			return nil, fmt.Errorf("route %d as a whole: %w", version, err)
		}
	}
	if slices.ContainsFunc(n.owners, func(o Owner) bool { return o.Generation == 0 }) || slices.Contains(run, false) {
		return nil, fmt.Errorf("route %d as a whole does not say of all partitions and splits whose they are", version)
	}
	n.group()
	return n, nil
}

func laneOf(c bellows.Control) wire.Address { return wire.LaneAt(c.Node, int(c.Lane)) }
