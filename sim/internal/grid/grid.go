// Package grid is the deaths that the simulation plays one by one: in each step of everything that changes while a job runs, each role dies, before the first message of the step, in the
// midst of it and behind its last. Every cell is filled, or has a reason here why it cannot be (Cannot).
//
// A caller begins a change, has a Watch see every message that is posted and taken, and carries out the death when the Watch says that its moment has come. So nothing is left to
// luck but what the job does meanwhile. The package refuses to know how anything dies, and what follows from it.
package grid

import "fmt"

// Change is something that comes about in steps while a job runs.
type Change int

// The changes.
const (
	Move   Change = iota // a partition goes to another lane
	Undo                 // such a move is given up
	Split                // a split goes to another node
	Leave                // a node with a lane and a client is drained, and leaves
	Join                 // a node joins, with a lane and a client
	Cut                  // a cut of the job is taken
	Follow               // another controller follows one that is gone
	Changes
)

func (c Change) String() string {
	return [Changes]string{"move", "undo", "split", "leave", "join", "cut", "follow"}[c]
}

// Role is who dies, as seen from a change, or what else is lost.
type Role int

// The roles.
const (
	Source     Role = iota // who gives: the lane that has the partition, the node that has the split or leaves, a lane of whose partitions a cut is taken or that says what it holds
	Target                 // who gets: the lane, the node, the heir of who leaves, the node that joins
	Third                  // a server with no other part in it than that it takes the records
	Writer                 // a worker, a flush of which is on its way, or held and not numbered
	Leaser                 // a worker with a lease
	Controller             // the state of the controller: its process goes on, and another one follows
	Parted                 // nobody: a worker and a server lose each other for good, and nobody else
	Roles
)

func (r Role) String() string {
	return [Roles]string{"source", "target", "third server", "writer", "leaser", "controller", "parted"}[r]
}

// Moment is when in a step. Where an actor ends one and begins the next at once, the end of the one and the beginning of the other are the same moment.
type Moment int

// The moments.
const (
	Before Moment = iota // its first message has been made and has not left
	Midst                // of several messages one has been taken and another has not; a single one is on its way
	After                // its last message has been taken, and nothing that it causes has left
	Moments
)

func (m Moment) String() string { return [Moments]string{"before", "midst", "after"}[m] }

// Cell is one death.
type Cell struct {
	Step   *Step
	Role   Role
	Moment Moment
}

func (c Cell) String() string {
	return fmt.Sprintf("%v %s, %v, %v", c.Step.Change, c.Step.Name, c.Role, c.Moment)
}

// Cells are all cells in order, those too that cannot be filled.
func Cells() (list []Cell) {
	for i := range Steps {
		for r := range Roles {
			for m := range Moments {
				list = append(list, Cell{&Steps[i], r, m})
			}
		}
	}
	return list
}

// Cannot is why a cell cannot be filled; "": it can.
func (c Cell) Cannot() string {
	switch p := c.Step; {
	case p.Change == Cut && c.Role == Target:
		return "a cut goes to stores, which are no part of the job"
	case p.Change == Follow && c.Role == Target:
		return "who follows knows only what it is told: its loss is the controller's"
	case p.Change == Join && c.Role == Source:
		return "nobody gives anything to who joins: what it gets, it gets by moves"
	}
	return ""
}
