package claim

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// move is a split that goes to another node as soon as it rests: everything of it that a node has begun counts. So
// nothing of it is under way when it moves, in any sum, push or done.
//
// Claims that were sent and not begun need not be run first. The node is asked to give them back (wire.Recall), and
// answers with the last clock that it has begun (wire.Recalled). Meanwhile nothing of the split is sent. With the
// record of the move all of its claims are sent to the new node. A controller that takes over knows nothing of a
// recall: it sends the claims again to the node that has the split by the records, which may be the one that has given
// them back.
type move struct {
	split bellows.SplitID
	to    bellows.NodeID
	asked bool          // for what is not begun
	given bool          // it was given back
	begun bellows.Clock // given: the last clock that the node keeps
}

// moves are the moves that wait, at most one for a split.
type moves []move

// find returns the move of a split; nil: none.
func (l moves) find(s bellows.SplitID) *move {
	i := slices.IndexFunc(l, func(m move) bool { return m.split == s })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// forget drops the move of a split.
func (l *moves) forget(s bellows.SplitID) {
	*l = slices.DeleteFunc(*l, func(m move) bool { return m.split == s })
}

// recalled reports whether the claims of a split were asked back, so that nothing of it is sent.
func (l moves) recalled(s bellows.SplitID) bool {
	m := l.find(s)
	return m != nil && m.asked
}

// PlanMove plans to move a split to another node once it rests. It replaces an earlier plan.
func (b *Book) PlanMove(s bellows.SplitID, to bellows.NodeID) {
	m := b.moves.find(s)
	if m == nil {
		b.moves = append(b.moves, move{split: s})
		m = &b.moves[len(b.moves)-1]
	}
	m.to = to
}

// CheckRemoval returns an error if a split is on its way to a node.
func (b *Book) CheckRemoval(n bellows.NodeID) error {
	if slices.ContainsFunc(b.moves, func(m move) bool { return m.to == n }) {
		return fmt.Errorf("a split is on its way to node %d", n)
	}
	return nil
}

// Revoke asks the node of a split that is to move for the claims that it has not begun, if so many are out that it
// pays: of two clocks, one is begun, or will be soon.
func (b *Book) Revoke(s bellows.SplitID, node bellows.NodeID, out *wire.Outbox) {
	m := b.moves.find(s)
	if m == nil || m.asked || m.to == node || b.progress.Split(s)+2 >= b.next[s] {
		return
	}
	m.asked = true
	out.Send(b.job.Controller, wire.ClientAt(node), &wire.Recall{Term: b.term, Split: s})
}

// TakeRecalled takes a node's answer to Revoke, and reports whether it counts. An answer to an earlier controller does
// not: that split was dispatched again since. Neither does one of a node that does not have the split.
func (b *Book) TakeRecalled(from bellows.NodeID, r *route.Route, a *wire.Recalled) bool {
	m := b.moves.find(a.Split)
	if a.Term != b.term && !planted.On("recalled-of-another") {
		return false
	}
	if m == nil || !m.asked || from != r.Node(a.Split) {
		return false
	}
	m.given, m.begun = true, a.Clock
	return true
}

// FinishMove ends the wait of a split that rests, and reports whether one has ended, and for which node. It is called
// when the move is planned, and when the last of what its node has begun counts. It is also called before the split's
// next clock is dispatched, because some splits never pause.
func (b *Book) FinishMove(s bellows.SplitID) (to bellows.NodeID, ended bool) {
	m := b.moves.find(s)
	if m == nil || !b.movable(m) && !planted.On("split-moved-busy") {
		return 0, false
	}
	to = m.to
	b.moves.forget(s)
	return to, true
}

// movable reports whether nothing of a split is under way: what is out of it, if anything, was given back.
func (b *Book) movable(m *move) bool {
	if m.asked {
		return m.given && b.progress.Split(m.split) >= m.begun
	}
	return b.progress.Split(m.split)+1 >= b.next[m.split]
}

// Rehome gives the claims of a split to another node, by the record of the move. They rely on that record: the new node
// has not seen what the old node has seen. A plan for the split is forgotten.
func (b *Book) Rehome(s bellows.SplitID, to bellows.NodeID, record bellows.CommitNumber) {
	b.moves.forget(s)
	for i := range b.out[s] {
		c := &b.out[s][i]
		c.Holder = to
		if !planted.On("recalled-not-renewed") {
			c.Commit = record
		}
	}
}
