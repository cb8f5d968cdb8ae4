package membership

import (
	"fmt"

	"bellows"
)

// CheckSplitMove returns an error if a split cannot go to a node.
func (g *Group) CheckSplitMove(s bellows.SplitID, to bellows.NodeID) error {
	switch {
	case int(s) >= g.route.Splits():
		return fmt.Errorf("there is no split %d", s)
	case !g.Runs(to) || g.Lost(to):
		return fmt.Errorf("node %d runs no tasks", to)
	}
	return nil
}

// MoveSplit gives a split to another node, for which CheckSplitMove was asked when the move was planned. The change is
// made in the route and returned. If the split is there already, or the node was lost since, nothing changes: the kind
// of the change is bellows.NoControl.
func (g *Group) MoveSplit(s bellows.SplitID, to bellows.NodeID) (change bellows.Control) {
	if g.route.Node(s) != to && !g.Lost(to) {
		change = g.mustChange(g.route.MoveSplit(s, to))
	}
	return change
}
