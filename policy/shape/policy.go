package shape

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"bellows"
)

// Snapshot is what a policy looks at.
type Snapshot struct {
	Job
	Shape      // the current one
	Want  Want // of the last request
	// Hosts has what the nodes can run, whatever their roles, by number: a node that cannot run tasks keeps its role. A
	// node that is not among them can run what Want says. Nil: all can.
	Hosts []Node
}

// Decision is a shape that is to be.
type Decision struct {
	Shape
	Reason string  // a sentence for people, without its end
	Shares *Shares // by which it was dealt, and is dealt anew when nodes come or go; nil: evenly
}

// Policy is a pure function: the same snapshot makes the same decision.
type Policy func(now Snapshot) (Decision, error)

// resized returns the reason of a change of nodes.
func (s *Snapshot) resized(nodes []Node) string {
	w, v := s.Counts()
	workers, servers := counts(nodes)
	if workers == w && servers == v && len(s.Want.Leaves) == 0 {
		return "what there is is spread evenly"
	}
	var leave string
	if len(s.Want.Leaves) > 0 {
		list := make([]string, len(s.Want.Leaves))
		for i, n := range s.Want.Leaves {
			list[i] = fmt.Sprintf("node-%d", n)
		}
		leave = ", " + strings.Join(list, " and ") + " to leave"
	}
	return fmt.Sprintf("%d workers and %d servers are wanted, there are %d and %d%s", workers, servers, w, v, leave)
}

// AddOne returns one node more than there is, a worker or a server by a seed.
func AddOne(seed uint64) Policy {
	return func(now Snapshot) (Decision, error) { return now.step(seed, +1) }
}

// DeleteOne returns one node less, if one can be spared.
func DeleteOne(seed uint64) Policy {
	return func(now Snapshot) (Decision, error) { return now.step(seed, -1) }
}

func (s Snapshot) step(seed uint64, by int) (Decision, error) {
	s.Want.Workers, s.Want.Servers = s.Counts()
	s.Want.Leaves = nil
	if rand.New(rand.NewPCG(seed, 1)).IntN(2) == 0 {
		s.Want.Workers = max(1, s.Want.Workers+by)
	} else {
		s.Want.Servers = max(1, s.Want.Servers+by)
	}
	return Even(s)
}

// Random returns nodes with random roles and random owners: at most so many nodes more than now. The node that stays
// keeps its parts.
func Random(seed uint64, more int) Policy {
	return func(now Snapshot) (Decision, error) {
		rng := rand.New(rand.NewPCG(seed, 2))
		want := Shape{Splits: make([]bellows.NodeID, len(now.Splits)), Partitions: make([]Place, len(now.Partitions))}
		for _, n := range now.Nodes {
			switch {
			case n.ID == now.Want.Stays:
				want.Nodes = append(want.Nodes, n)
			case rng.IntN(3) > 0:
				want.Nodes = append(want.Nodes, Node{n.ID, rng.IntN(2) * now.Want.Slots, rng.IntN(2) * now.Want.Lanes})
			}
		}
		for i := range rng.IntN(more + 1) {
			want.Nodes = append(want.Nodes, Node{now.Want.Next + bellows.NodeID(i), rng.IntN(2) * now.Want.Slots, now.Want.Lanes})
		}
		want.Nodes = slices.DeleteFunc(want.Nodes, func(n Node) bool { return n.Slots+n.Lanes == 0 && n.ID != now.Want.Stays })
		if validNodes(want.Nodes) != nil || now.Stays != "" {
			return Even(now) // it has come to nothing, or the splits are not to be dealt
		}
		workers, servers := workersOf(want.Nodes), serversOf(want.Nodes)
		for s := range want.Splits {
			want.Splits[s] = workers[rng.IntN(len(workers))]
		}
		for p := range want.Partitions {
			n, _ := want.Node(servers[rng.IntN(len(servers))])
			want.Partitions[p] = Place{n.ID, rng.IntN(n.Lanes)}
		}
		return Decision{Shape: want, Reason: fmt.Sprintf("seed %d has drawn it", seed)}, nil
	}
}
