// Package shape says what a cluster is to look like: which nodes a job has, with which roles, and who
// owns which partition and which split.
//
// A Shape is a value. A Policy is a pure function from the shape of now to the one that is wanted, and
// package plan finds the way between the two. Even is the policy of whoever asks for a number of
// nodes. Random, AddOne and DeleteOne are for those who want change for its own sake, as tests do. The
// package refuses to judge whether a change is worth what it costs, and knows nothing of how it is
// made.
package shape

import (
	"fmt"
	"slices"

	"bellows"
)

// Node is a node of a job, and its roles.
type Node struct {
	ID    bellows.NodeID
	Slots int // compute slots; 0: it runs no tasks
	Lanes int // 0: it holds no partitions. One with neither leads, or comes or goes.
}

// Place is a lane of a node.
type Place struct {
	Node bellows.NodeID
	Lane int
}

// Shape is the nodes of a job, and who owns what.
//
// Invariants, which Validate holds a shape to (TestWhatIsNoShapeIsRefused): nodes are in the order of
// their numbers; a partition's place is a lane that is there, and a split's node has compute slots;
// so there is at least one node of either role.
type Shape struct {
	Nodes      []Node
	Partitions []Place          // by number: those of the first table, then of the second
	Splits     []bellows.NodeID // where each is active
}

// Job is what a job has in every shape.
type Job struct {
	Tables []int // partitions of each
	// Near is the split whose state a partition holds, for which it is moved along; -1: that of none. Nil: no partition is near a split.
	Near []int
	// Stays says why splits stay where they are, as a sentence's end; empty: they can move.
	Stays string
}

// near returns the split near which a partition is to be, or -1.
func (j *Job) near(partition int) int {
	if partition < len(j.Near) {
		return j.Near[partition]
	}
	return -1
}

// Node returns a node of the shape.
func (s *Shape) Node(id bellows.NodeID) (Node, bool) {
	i, found := find(s.Nodes, id)
	if !found {
		return Node{}, false
	}
	return s.Nodes[i], true
}

func find(nodes []Node, id bellows.NodeID) (int, bool) {
	return slices.BinarySearchFunc(nodes, id, func(n Node, id bellows.NodeID) int { return int(n.ID) - int(id) })
}

// Counts returns how many nodes run tasks, and how many hold partitions: a node may do both.
func (s *Shape) Counts() (workers, servers int) { return counts(s.Nodes) }

func counts(nodes []Node) (workers, servers int) {
	for _, n := range nodes {
		if n.Slots > 0 {
			workers++
		}
		if n.Lanes > 0 {
			servers++
		}
	}
	return workers, servers
}

// Validate refuses what is no shape.
func (s *Shape) Validate() error {
	if err := validNodes(s.Nodes); err != nil {
		return err
	}
	for p, at := range s.Partitions {
		if n, found := s.Node(at.Node); !found || at.Lane < 0 || at.Lane >= n.Lanes {
			return fmt.Errorf("partition %d is at lane %d of node %d, which is not there", p, at.Lane, at.Node)
		}
	}
	for p, at := range s.Splits {
		if n, found := s.Node(at); !found || n.Slots == 0 {
			return fmt.Errorf("split %d is at node %d, which runs no tasks", p, at)
		}
	}
	return nil
}

func validNodes(nodes []Node) error {
	for i, n := range nodes {
		if n.Slots < 0 || n.Lanes < 0 {
			return fmt.Errorf("node %d has %d compute slots and %d lanes", n.ID, n.Slots, n.Lanes)
		}
		if i > 0 && nodes[i-1].ID >= n.ID {
			return fmt.Errorf("node %d comes behind node %d", n.ID, nodes[i-1].ID)
		}
	}
	if workers, servers := counts(nodes); workers == 0 || servers == 0 {
		return fmt.Errorf("%d nodes run tasks and %d hold partitions; there must be one of each", workers, servers)
	}
	return nil
}
