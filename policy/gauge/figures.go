// Package gauge holds the figures of a running job, from which times of other shapes are predicted.
//
// Figures are the measurements of a job, each with bounds. They are read from JSON by
// Read, which refuses what it does not understand, and names the field. The package measures nothing.
package gauge

import (
	"bellows"
	"bellows/policy/shape"
)

// ClocksLeast is the number of measured clocks from which a job's figures are used. A node that is slow for fewer
// clocks is a straggler: help is for it, and not another shape.
const ClocksLeast = 20

// Interval is a measured figure, and the bounds between which it lies. High is +Inf for a figure without an upper
// bound: a link that was never full gives only a lower bound of its rate.
type Interval struct{ Value, Low, High float64 }

// Exactly returns the interval of a figure that is known exactly.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Figures are what a job has measured. Seconds are of its clocks, bytes are those on links.
type Figures struct {
	Items      int64       `json:"items"`  // visited in an epoch
	Clocks     Clocks      `json:"clocks"` // of the job
	Tables     []int       `json:"tables"` // partitions of each
	Partitions []Partition `json:"partitions"`
	Splits     []Split     `json:"splits"` // each has the same number of items, within one
	// Stays says why splits stay where they are, as a sentence's end. Empty: they can move.
	Stays string `json:"stays,omitempty"`
	Nodes []Node `json:"nodes"` // in the order of their numbers; those without a role are free
	// Leads is the number of the node that leads. It stays, and keeps the roles that it has.
	Leads bellows.NodeID `json:"leads"`
	// Pairs are links that are slower than both of their ends, as between racks.
	Pairs   []Pair    `json:"pairs,omitempty"`
	Traffic []Traffic `json:"traffic"` // by splits, ascending
	Hidden  Hidden    `json:"hidden"`
	// Budget is how many bytes a second a node may send, and receive. 0: as many as its link takes.
	Budget float64 `json:"budget,omitempty"`
	// Moved is what moving has cost so far. Nil: nothing has moved.
	Moved *Moved `json:"moved,omitempty"`
}

// Clocks counts the clocks of a job.
type Clocks struct {
	Epoch    int `json:"epoch"`              // clocks of an epoch
	Measured int `json:"measured"`           // clocks on which the figures rest
	Passed   int `json:"passed"`             // since the job began
	Expected int `json:"expected,omitempty"` // that are left, as its driver expects; 0: unknown
	// Latency is the seconds of a clock that neither work nor bytes explain. They are the same in every shape.
	Latency Interval `json:"latency_seconds,omitempty"`
}

// Partition is a part of the model.
type Partition struct {
	Node  bellows.NodeID `json:"node"`
	Lane  int            `json:"lane"`
	Bytes int64          `json:"bytes"` // in memory and when it moves
	// Near is the split with its state in the partition. Both move together. Nil: it is near no split.
	Near *int `json:"near,omitempty"`
}

// Split is a part of the training data.
type Split struct {
	Node  bellows.NodeID `json:"node"`
	Bytes int64          `json:"bytes"`           // in memory
	Moved int64          `json:"moved,omitempty"` // that travel with it; 0: the receiver has them
}

// Node is a node of the job, or one that it may use.
type Node struct {
	ID      bellows.NodeID `json:"id"`
	Machine string         `json:"machine,omitempty"`
	Works   bool           `json:"works,omitempty"` // it runs tasks in the present shape
	Serves  bool           `json:"serves,omitempty"`
	Slots   int            `json:"slots"` // that it has when it runs tasks; 0: it cannot
	Lanes   int            `json:"lanes"` // that it has when it holds partitions; 0: it cannot
	// Item is the seconds of its own processor for an item, Row for a row applied. Both are processor time: they do not
	// have the share that Others says.
	Item Interval `json:"item_seconds"`
	Row  Interval `json:"row_seconds"`
	// Others is the share of its processor that other programs take, from 0 to less than 1.
	Others Interval `json:"others"`
	In     Interval `json:"in"`               // bytes a second that its link receives
	Out    Interval `json:"out"`              // bytes a second that its link sends
	Memory int64    `json:"memory,omitempty"` // bytes for partitions, splits and cached rows; 0: unknown
}

// Pair is the link from one node to another.
type Pair struct {
	From bellows.NodeID `json:"from"`
	To   bellows.NodeID `json:"to"`
	Rate Interval       `json:"rate"` // bytes a second
}

// Traffic is what a node with so many splits pulls and pushes in a clock, of partitions that are near no split of its
// own. Rows that its splits have in common travel once.
type Traffic struct {
	Splits int      `json:"splits"`
	Pulled Interval `json:"pulled"` // bytes, wherever the partitions are
	Pushed Interval `json:"pushed"`
	Rows   Interval `json:"rows"` // that servers apply changes to
}

// Hidden is which shares of the time of communication pass while tasks compute, each from 0 to 1.
type Hidden struct {
	Pulled  Interval `json:"pulled"`
	Pushed  Interval `json:"pushed"`
	Applied Interval `json:"applied"` // of the servers' computing
}

// Moved is what a change of shape has cost the job, in seconds that it lost.
type Moved struct {
	Byte Interval `json:"byte_seconds"` // for a byte that moved
	Step Interval `json:"step_seconds"` // for a step of a plan
}

// Shape returns the present shape.
func (f *Figures) Shape() shape.Shape {
	var s shape.Shape
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if m := n.role(n.Works, n.Serves); m.Slots+m.Lanes > 0 || n.ID == f.Leads {
			s.Nodes = append(s.Nodes, m)
		}
	}
	for i := range f.Partitions {
		s.Partitions = append(s.Partitions, shape.Place{Node: f.Partitions[i].Node, Lane: f.Partitions[i].Lane})
	}
	for i := range f.Splits {
		s.Splits = append(s.Splits, f.Splits[i].Node)
	}
	return s
}

// role returns the node with the roles.
func (n *Node) role(works, serves bool) shape.Node {
	m := shape.Node{ID: n.ID}
	if works {
		m.Slots = n.Slots
	}
	if serves {
		m.Lanes = n.Lanes
	}
	return m
}

// Job returns what the job has in every shape.
func (f *Figures) Job() shape.Job {
	j := shape.Job{Tables: f.Tables, Stays: f.Stays, Near: make([]int, len(f.Partitions))}
	for i := range f.Partitions {
		if j.Near[i] = -1; f.Partitions[i].Near != nil {
			j.Near[i] = *f.Partitions[i].Near
		}
	}
	return j
}
