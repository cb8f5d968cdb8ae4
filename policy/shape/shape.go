// Package shape describes the nodes of a job, their roles, and the owner of each partition and split, and computes the
// wanted shape.
//
// A Shape is a value. A Policy is a pure function from the current shape to the wanted one, and package plan finds the
// way between the two. Even is the policy for a requested number of nodes. Random, AddOne and DeleteOne make changes
// for tests. The package does not judge whether a change is worth its cost, and does not know how it is made.
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

// Shape lists the nodes of a job and the owner of each part.
//
// Invariants, checked by Validate (TestInvalidShapesAreRefused): nodes are in the order of their numbers. The place of
// a partition is an existing lane, and the node of a split has compute slots. So there is at least one node of either
// role.
type Shape struct {
	Nodes      []Node
	Partitions []Place          // by number: those of the first table, then of the second
	Splits     []bellows.NodeID // where each is active
}

// Job is what a job has in every shape.
type Job struct {
	Tables []int // partitions of each
	// Near is the split whose state a partition holds, and with which it moves; -1: none. Nil: no partition is near a
	// split.
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
