package join

import (
	"slices"

	"bellows"
)

// Newcomers decides, at a node of a running job, which other nodes are let in: nodes with new numbers, one at a time,
// each with as many connections as every pair has.
//
// Numbers are given in order and never again (Admission). So if a node calls with a higher number than the one on its
// way, it is the next, and the other has been given up. Invariants: a number that is whole, or has been passed, never
// comes again; a connection that is made again replaces the previous one and nothing else (both:
// TestNodesJoinWhileOthersRun).
type Newcomers struct {
	connections int
	next        bellows.NodeID // lower ones take part, or did
	there       []bool         // by connection: next's calls that stand; nil: no node is on its way
}

// NewNewcomers returns the state before any node joins: numbers below next have been given.
func NewNewcomers(next bellows.NodeID, connections int) *Newcomers {
	return &Newcomers{connections: connections, next: next}
}

// Entry is the result of a call.
type Entry struct {
	Keep  bool // the connection stands, and replaces the previous one of its number
	First bool // it is the node's first: connections of another node on its way are to be closed
	Whole bool // the node has all its connections, and is let in
}

// Called reports a call for connection number of so many.
func (c *Newcomers) Called(n bellows.NodeID, number, of int) (e Entry) {
	if n < c.next || of != c.connections || number >= of || number < 0 {
		return e
	}
	if n > c.next || c.there == nil {
		e.First = true
		c.next, c.there = n, make([]bool, of)
	}
	e.Keep, c.there[number] = true, true
	if e.Whole = !slices.Contains(c.there, false); e.Whole {
		c.next, c.there = n+1, nil
	}
	return e
}
