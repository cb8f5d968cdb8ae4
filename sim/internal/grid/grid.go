// Package grid lists the deaths that the simulation plays one by one: each role, in each step of each change of a
// running job. A role dies before the first message of the step, in its midst, or after its last message. Every cell is
// filled, or Cannot gives the reason why it cannot be.
//
// A caller begins a change, lets a Watch see every message that is posted and taken, and carries out the death when the
// Watch reports its moment. Chance decides only what else the job does meanwhile. The package refuses to know how
// anything dies, and what follows from it.
package grid

import "fmt"

// Roles name the process that dies, as seen from a change, or what else is lost:
//   - source: the lane that has the partition, the node that has the split or leaves, a lane whose partitions are cut,
//     or one that reports what it holds;
//   - target: the lane or node that gets the partition or the split, or would get it, the successor of a node that
//     leaves, the node that joins;
//   - third server: a server that only takes the records;
//   - writer: a worker with a flush on its way, or held and not numbered;
//   - leaser: a worker with a lease;
//   - controller: the state of the controller; its process stays, and another controller follows;
//   - parted: the connections between a worker and a server, for good; no process dies.
var Roles = [...]string{"source", "target", "third server", "writer", "leaser", "controller", "parted"}

// Moments name the moments of a step:
//   - before: its first message has been made and has not left;
//   - midst: of several messages one has been taken and another has not; a single one is on its way;
//   - after: its last message has been taken, and nothing that it causes has left.
//
// If an actor ends one step and begins the next at once, after the first is before the second.
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

// Cells returns all cells in order, including those that cannot be filled.
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

// Cannot returns why a cell cannot be filled; "": it can.
func (c Cell) Cannot() string {
	switch p := c.Step; {
	case (p.Change == "cut" || p.Change == "half cut") && c.Role == "target":
		return "a cut goes to stores, which are no part of the job"
	case p.Change == "follow" && c.Role == "target":
		return "a new controller knows only what others report: its loss is the controller's"
	case p.Change == "join" && c.Role == "source":
		return "no node gives anything to a node that joins: it gets everything by moves"
	}
	return ""
}
