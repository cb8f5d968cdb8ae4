package join

import (
	"slices"

	"bellows"
)

// Newcomers decides, at a node of a job that runs, who else is let in: nodes with numbers that
// nobody has had, one at a time, each with as many connections as every pair has.
//
// Numbers are given in order and never again (Admission). So whoever calls with a higher one than
// who is on the way is the next: the other has been given up. Invariants: who is whole, or has been
// passed, never comes again; a connection that is made again takes the place of the one before, and
// nothing else (both: TestNodesJoinWhileOthersRun).
type Newcomers struct {
	connections int
	next        bellows.NodeID // lower ones are there, or were
	there       []bool         // by number, of next's; nil: nobody is on the way
}

// NewNewcomers is before anybody comes: numbers below next have been given.
func NewNewcomers(next bellows.NodeID, connections int) *Newcomers {
	return &Newcomers{connections: connections, next: next}
}

// Entry is what becomes of a call.
type Entry struct {
	Keep  bool // the connection stands, in the place of the one of its number before
	First bool // of its node: what another has left on the way is to be closed
	Whole bool // the node has all its connections, and is let in
}

// Called tells of a call for the connection of that number of so many.
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
