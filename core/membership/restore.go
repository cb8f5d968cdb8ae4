package membership

import (
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/planted"
)

// Save adds to a saved state what the group knows.
func (g *Group) Save(to *journal.Saved) {
	to.Leaving, to.Lost = slices.Clone(g.leaving), slices.Clone(g.lost)
	for _, list := range g.sent {
		to.Sent = append(to.Sent, slices.Clone(list))
	}
	if to.Route = g.route.Version(); to.Route > 0 {
		to.Whole = g.route.Whole()
	}
}

// Restore continues from a saved state. It sends nothing.
func (g *Group) Restore(from *journal.Saved, nowMillis int64) error {
	if len(from.Whole) > 0 && !planted.On("saved-route-forgotten") {
		saved, err := g.route.Rebuilt(from.Route, from.Whole)
		if err != nil {
			return err
		}
		g.route = saved
		for _, a := range slices.Concat(saved.Lanes(), saved.Clients()) {
			g.Enrol(a)
		}
	}
	for _, l := range from.Lost {
		g.Leave(l.Node)
		g.NoteLost(l)
	}
	if !planted.On("saved-word-of-the-lost-forgotten") {
		for n, list := range from.Sent {
			g.AddSent(bellows.NodeID(n), list)
		}
	}
	for _, l := range from.Leaving {
		g.StartLeaving(l, nowMillis)
		g.Enrol(g.removed[len(g.removed)-1]) // an actor that has not left is asked too
	}
	return nil
}

// Replay takes the record of a change of the route that another controller has made.
func (g *Group) Replay(change bellows.Control, nowMillis int64) error {
	next, err := g.route.Next(change)
	if err != nil {
		return err
	}
	g.route = next
	if change.Kind == bellows.LoseClient {
		g.Leave(change.Node)
		g.NoteLost(change)
	} else if _, removed := g.route.Removed(change); removed {
		g.StartLeaving(change, nowMillis)
	}
	return nil
}
