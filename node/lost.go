package node

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/coord"
)

// removeLost makes the job continue without a lost node. This node closes its connections to it, so that it ends when
// it wakes, and reports what was lost with it and which nodes took over. Requested moves to or from it are dropped.
func (l *lead) removeLost(b coord.Buried) {
	l.mesh.Drop(b.Node)
	l.members = slices.DeleteFunc(l.members, func(m Member) bool { return m.Node == b.Node })
	l.moves = slices.DeleteFunc(l.moves, func(m moving) bool {
		if m.to != b.Node && !slices.Contains(b.Splits, m.split) {
			return false
		}
		m.answer <- bellows.Errorf(bellows.Unavailable, "move a split", fmt.Sprintf("%d to node %d", m.split, m.to), "node %d is lost, and the split is on node %d: ask again", b.Node, l.route.Node(m.split))
		return true
	})
	if !b.Again {
		l.change(Change{Kind: Gone, Node: b.Node, Splits: b.Splits, Units: b.Units, Sentence: withoutNode(b)})
	}
}

// gone returns the lost nodes, including those without which the job continued.
func (l *lead) gone() (list []bellows.NodeID) {
	for n := range bellows.NodeID(l.common.Numbers()) {
		if l.shell.Gone(n) {
			list = append(list, n)
		}
	}
	return list
}

// withoutNode returns a sentence about a lost node, what was lost with it, and which nodes took over.
func withoutNode(b coord.Buried) string {
	s := fmt.Sprintf("the job continues without node %d", b.Node)
	if len(b.Splits) > 0 {
		names := make([]string, len(b.To))
		for i, n := range b.To {
			names[i] = fmt.Sprint(n)
		}
		of := "node "
		if len(names) > 1 {
			of = "nodes "
		}
		s += fmt.Sprintf(": %s went to %s%s", splits(b.Splits), of, strings.Join(names, ", "))
		if b.Units > 0 {
			s += fmt.Sprintf(", where %s that had not counted run again", counted(b.Units, "task"))
		}
	}
	return s + " (" + b.Reason + ")"
}
