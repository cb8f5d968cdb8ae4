package sim

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
)

// buries has node 0 hang up on nodes that are lost while the job goes on, and sees that it is said of who only ran tasks.
func (w *world) buries() {
	for _, b := range w.fx.Buried {
		n := w.nodes[b.Node]
		if len(n.lanes) > 0 && !n.served() || n.id == 0 || !n.gone {
			w.violated("P9: node %d is lost (%s), has a part of the model or nothing was injected at it, and the job goes on", n.id, b.Reason)
		}
		w.note("the job goes on without node %d: %s", n.id, b.Reason)
		w.moved()
		w.coverage.Hit(coverage.WorkerLost)
		w.coverage.HitIf(coverage.LostWithUnits, b.Units > 0)
		w.After(w.Chances.Int64N(40), w.nodes[0], w.nodes[0].pairs[b.Node].Close)
	}
}

// served reports whether all lanes that a node has had have left.
func (n *node) served() bool {
	return !slices.ContainsFunc(n.lanes, func(l *lane) bool { return slices.Contains(n.w.route.Lanes(), l.address) })
}

// buried takes note of a record by which a node is lost, where it is posted first.
func (w *world) buried(c bellows.Control) {
	if c.Kind == bellows.LoseClient {
		w.nodes[c.Node].buried = true
		w.witness.Lose(c.Node, w.moves.ranLast(c.Node))
	}
}

// ranLast are the splits that went to others one behind the other in the newest records but the last, and were a node's.
func (m *moves) ranLast(n bellows.NodeID) (splits []bellows.SplitID) {
	for i := len(m.routes) - 2; i > 0; i-- {
		was := len(splits)
		for s := range bellows.SplitID(m.routes[i].route.Splits()) {
			if m.routes[i-1].route.Node(s) == n && m.routes[i].route.Node(s) != n {
				splits = append(splits, s)
			}
		}
		if len(splits) == was {
			break
		}
	}
	return splits
}

// fences takes note of a record by which a lane parts from a node that is lost: its leases there are over.
func (w *world) fences(l *lane, c *bellows.Control) {
	if c.Kind == bellows.LoseClient && !l.Removed() && !slices.Contains(l.buried, c.Node) {
		l.fenced, l.buried = append(l.fenced, c.Node), append(l.buried, c.Node)
		by := w.moves.at(l.Applied())
		w.ledger.Fenced(l.address, c.Node, by)
		w.ledger.Buried(l.address, c.Node, by)
	}
}

// hearsOfLost takes note of what a lane is about to learn by a route as a whole of nodes that are lost.
func (w *world) hearsOfLost(l *lane, m *wire.Route) {
	for i := range m.Changes {
		w.fences(l, &m.Changes[i])
	}
}

// wokeLost takes note of something that a node says which the job has lost.
func (w *world) wokeLost(e wire.Envelope) {
	if n := w.nodes[e.From.Node]; n.buried && e.From.Node != e.To.Node {
		w.coverage.Hit(coverage.LostWoke)
	}
}
