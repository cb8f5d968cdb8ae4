package roster

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// splitMove is a split that goes to another node as soon as it rests: all of it that a node has begun counts. So
// nothing of it is under way when it goes, in any sum, push or done.
//
// Tasks that were dispatched and not begun need not be run first: the node is asked to give them back
// (wire.Recall), and answers which clock is the last that it has begun (wire.Recalled). Meanwhile nothing of the
// split is dispatched. With the record of the move all of it is dispatched to the new node. A controller that
// follows another one knows nothing of a recall: it dispatches again to the node that has the split by the records,
// which may be the one that has given it back.
type splitMove struct {
	split bellows.SplitID
	to    bellows.NodeID
	asked bool          // for what is not begun
	given bool          // it was given back
	begun bellows.Clock // given: the last clock that the node keeps
}

// splitMoves are the moves that wait, one for a split at most.
type splitMoves []splitMove

// find returns the move of a split; nil: none.
func (l splitMoves) find(s bellows.SplitID) *splitMove {
	i := slices.IndexFunc(l, func(m splitMove) bool { return m.split == s })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// forget drops the move of a split.
func (l *splitMoves) forget(s bellows.SplitID) {
	*l = slices.DeleteFunc(*l, func(m splitMove) bool { return m.split == s })
}

// isTarget reports whether a split is on its way to a node.
func (l splitMoves) isTarget(n bellows.NodeID) bool {
	return slices.ContainsFunc(l, func(m splitMove) bool { return m.to == n })
}

// SplitAt is how far a split is: the last clock that it has completed, and the next that is dispatched.
type SplitAt struct {
	Split          bellows.SplitID
	Complete, Next bellows.Clock
}

// PlanSplitMove plans to move a split to another node once it rests. It takes the place of an earlier plan.
func (r *Roster) PlanSplitMove(s bellows.SplitID, to bellows.NodeID) error {
	switch {
	case int(s) >= r.route.Splits():
		return fmt.Errorf("there is no split %d", s)
	case !r.Runs(to) || r.Lost(to):
		return fmt.Errorf("node %d runs no tasks", to)
	}
	m := r.splits.find(s)
	if m == nil {
		r.splits = append(r.splits, splitMove{split: s})
		m = &r.splits[len(r.splits)-1]
	}
	m.to = to
	return nil
}

// Recall asks for the tasks of a split that is to move which were dispatched and not begun.
func (r *Roster) Recall(s bellows.SplitID, out *wire.Outbox) {
	if m := r.splits.find(s); m != nil && !m.asked && m.to != r.route.Node(s) {
		m.asked = true
		out.Send(r.self, wire.ClientAt(r.route.Node(s)), &wire.Recall{Term: r.opt.Term, Split: s})
	}
}

// IsRecalled reports whether the tasks of a split were asked back: nothing of it is dispatched.
func (r *Roster) IsRecalled(s bellows.SplitID) bool {
	m := r.splits.find(s)
	return m != nil && m.asked
}

// TakeRecalled takes a client's answer to Recall, and reports whether it counts. An answer to an earlier controller
// does not: that split was dispatched again since.
func (r *Roster) TakeRecalled(from bellows.NodeID, a *wire.Recalled) bool {
	m := r.splits.find(a.Split)
	if a.Term != r.opt.Term && !planted.On("recalled-of-another") {
		return false
	}
	if m == nil || !m.asked || from != r.route.Node(a.Split) {
		return false
	}
	m.given, m.begun = true, a.Clock
	return true
}

// rests reports whether nothing of a split is under way: what is out of it, if anything, was given back.
func (m *splitMove) rests(at SplitAt) bool {
	if m.asked {
		return m.given && at.Complete >= m.begun
	}
	return at.Complete+1 >= at.Next
}

// FinishSplitMove ends the wait of a split that rests, and reports whether one has ended. It is called when the
// move is planned, when the last of what its node has begun is committed, and in the driver's call that dispatches
// the split's next clock, so that a split that never pauses moves too. If the split changes its node, the change is
// made in the route and returned (TestASplitMovesWhenItRests); else its kind is bellows.NoControl.
func (r *Roster) FinishSplitMove(at SplitAt) (change bellows.Control, ended bool) {
	m := r.splits.find(at.Split)
	if m == nil || !m.rests(at) && !planted.On("split-moved-busy") {
		return change, false
	}
	to := m.to
	r.splits.forget(at.Split)
	if r.route.Node(at.Split) != to && !r.Lost(to) {
		change = r.mustChange(r.route.MoveSplit(at.Split, to)) // PlanSplitMove has asked
	}
	return change, true
}
