package shape

import (
	"fmt"
	"slices"

	"bellows"
)

// Want is a request for numbers of nodes: how many run tasks, and how many hold partitions.
type Want struct {
	Workers, Servers int
	// Slots and Lanes are those of a node that gets the role.
	Slots, Lanes int
	// Beside is whether a worker holds partitions too: then Servers says nothing.
	Beside bool
	// Leaves are nodes that are to go, whatever the numbers.
	Leaves []bellows.NodeID
	// Stays is the node that never goes: the controller's, which keeps the roles that it has.
	Stays bellows.NodeID
	// Next is the number of the next node that comes. Numbers are not used again.
	Next bellows.NodeID
}

// Resize returns the wanted nodes, chosen from the current ones. A node that is too many in one role and missing in the
// other is switched, and not replaced by a new one. The newest nodes leave first. hosts has what the nodes can run, as
// in a Snapshot.
func Resize(now, hosts []Node, w Want) ([]Node, error) {
	if w.Beside {
		w.Servers = w.Workers
	}
	if w.Workers < 1 || w.Servers < 1 || w.Slots < 1 || w.Lanes < 1 {
		return nil, fmt.Errorf("%d workers with %d compute slots each and %d servers with %d lanes each; there must be one of each", w.Workers, w.Slots, w.Servers, w.Lanes)
	}
	var nodes []Node
	for _, n := range now {
		switch {
		case !slices.Contains(w.Leaves, n.ID):
			nodes = append(nodes, n)
		case n.ID == w.Stays:
			return nil, fmt.Errorf("node %d leads the job and cannot leave", n.ID)
		}
	}
	for _, id := range w.Leaves {
		if _, found := find(now, id); !found {
			return nil, fmt.Errorf("there is no node %d", id)
		}
	}
	workers, servers := counts(nodes)
	for i := len(nodes) - 1; i >= 0 && workers > w.Workers; i-- {
		if n := &nodes[i]; n.ID != w.Stays && n.Slots > 0 {
			n.Slots = 0
			workers--
		}
	}
	for i := len(nodes) - 1; i >= 0 && servers > w.Servers; i-- {
		if n := &nodes[i]; n.ID != w.Stays && n.Lanes > 0 {
			n.Lanes = 0
			servers--
		}
	}
	for i := range nodes { // a node that has lost its role takes the other
		host := Node{Slots: w.Slots, Lanes: w.Lanes}
		if of, known := find(hosts, nodes[i].ID); known {
			host = hosts[of]
		}
		switch n := &nodes[i]; {
		case n.ID == w.Stays: // it keeps what it has
		case n.Slots == 0 && host.Slots > 0 && workers < w.Workers && (n.Lanes == 0 || w.Beside):
			n.Slots, workers = host.Slots, workers+1
		case n.Lanes == 0 && host.Lanes > 0 && servers < w.Servers && (n.Slots == 0 || w.Beside):
			n.Lanes, servers = host.Lanes, servers+1
		}
	}
	nodes = slices.DeleteFunc(nodes, func(n Node) bool { return n.Slots+n.Lanes == 0 && n.ID != w.Stays })
	for next := w.Next; workers < w.Workers || servers < w.Servers; next++ {
		n := Node{ID: next}
		if workers < w.Workers {
			n.Slots, workers = w.Slots, workers+1
		}
		if servers < w.Servers && (n.Slots == 0 || w.Beside) {
			n.Lanes, servers = w.Lanes, servers+1
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}
