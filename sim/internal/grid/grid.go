// Package grid is the deaths that the simulation plays one by one: in each step of everything that changes while a job runs, each role dies, before the first message of the step, in the
// midst of it and behind its last. Every cell is filled, or has a reason here why it cannot be (Cannot).
//
// A caller begins a change, has a Watch see every message that is posted and taken, and carries out the death when the Watch says that its moment has come. So nothing is left to
// luck but what the job does meanwhile. The package refuses to know how anything dies, and what follows from it.
package grid

import "fmt"

// Roles are who may die, as seen from a change, or what else may be lost:
//   - source: the lane that has the partition, the node that has the split or leaves, a lane of whose partitions a cut is
//     taken or that says what it holds;
//   - target: who gets the partition or the split, inherits from a node that leaves, or joins;
//   - third server: a server that has no other part in it than to take the records;
//   - writer: a worker of which a flush is on its way, or held and not numbered;
//   - leaser: a worker with a lease;
//   - controller: the state of the controller; its process stays, and another controller follows;
//   - parted: nobody; a worker and a server lose each other for good.
var Roles = [...]string{"source", "target", "third server", "writer", "leaser", "controller", "parted"}

// Moments are when in a step: before, when its first message has been made and has not left; midst, when of several messages
// one has been taken and another has not, or a single one is on its way; after, when its last message has been taken, and
// nothing that it causes has left. If an actor ends one step and begins the next at once, after the one is before the other.
var Moments = [...]string{"before", "midst", "after"}

// Cell is one death.
type Cell struct {
	Step   *Step
	Role   string // one of Roles
	Moment string // one of Moments
}

func (c Cell) String() string {
	return fmt.Sprintf("%v %s, %v, %v", c.Step.Change, c.Step.Name, c.Role, c.Moment)
}

// Cells are all cells in order, those too that cannot be filled.
func Cells() (list []Cell) {
	for i := range Steps {
		for _, r := range Roles {
			for _, m := range Moments {
				list = append(list, Cell{&Steps[i], r, m})
			}
		}
	}
	return list
}

// Cannot is why a cell cannot be filled; "": it can.
func (c Cell) Cannot() string {
	switch p := c.Step; {
	case p.Change == "cut" && c.Role == "target":
		return "a cut goes to stores, which are no part of the job"
	case p.Change == "follow" && c.Role == "target":
		return "who follows knows only what it is told: its loss is the controller's"
	case p.Change == "join" && c.Role == "source":
		return "nobody gives anything to who joins: what it gets, it gets by moves"
	}
	return ""
}
