// Package claim tracks which node runs which unit: Book has the controller's dispatched units, Queue has the units
// that wait on a node.
//
// A Claim is a unit, which is a range of items of a split's clock, with a holder: the node that runs it. The controller
// makes a claim when the driver dispatches a clock, and keeps it until the flush that finishes the unit has a number.
// If the controller is replaced, the next one dispatches the same claims again, under the same commits
// (docs/decisions/0032). A claim is never recorded, because it follows from records.
//
// Between the two ends there are three messages:
//
//	wire.Dispatch   controller to node   claims that rely on the same record
//	wire.Recall     controller to node   give back what you have not begun of a split, which is to move
//	wire.Recalled   node to controller   the last clock of the split that the node keeps
//
// The caller passes values and carries out what is returned. For a Book, that is the controller: it calls Dispatch
// when the driver asks, Postpone and Complete when a flush is done, Settle when the flush has its number, and Send
// after the records on which the dispatches rely. For a Queue, that is the client: Add, Begin and End for each unit,
// and GiveBack at a recall.
//
// The package does not choose holders, and it knows no rows. Which node runs a split is in the route (core/route);
// how far splits are is in gate.Progress, which the Book has.
package claim

import (
	"slices"

	"bellows"
	"bellows/core/journal"
)

// A Claim is a unit that a node is to run.
type Claim struct {
	journal.Out                // the unit, its arguments, and the record that it relies on
	Holder      bellows.NodeID // the node that runs it
}

// list is the claims of one split, in the order of their dispatch. Memory after the list's end has the arguments of
// earlier claims, and is used again.
type list []Claim

// add appends a claim. It copies the arguments.
func (l *list) add(u bellows.Unit, args []float64, commit bellows.CommitNumber, holder bellows.NodeID) {
	n := len(*l)
	if n < cap(*l) {
		*l = (*l)[:n+1]
	} else {
		*l = append(*l, Claim{})
	}
	c := &(*l)[n]
	c.Unit, c.Args, c.Commit, c.Holder = u, append(c.Args[:0], args...), commit, holder
}

// find returns the place of a unit's claim in the list; -1: it has none.
func (l list) find(u *bellows.Unit) int {
	return slices.IndexFunc(l, func(c Claim) bool { return c.Unit == *u })
}

// remove removes the claim at a place. Its arguments stay valid until the next add.
func (l *list) remove(i int) Claim {
	old := *l
	removed := old[i]
	last := len(old) - 1
	copy(old[i:], old[i+1:])
	old[last] = Claim{}
	old[last].Args = removed.Args
	*l = old[:last]
	return removed
}
