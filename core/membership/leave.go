package membership

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// CheckRemoval returns an error if actors that hold nothing cannot be removed: a partition is on its way to one of
// them, or they are all lanes of the job.
func (g *Group) CheckRemoval(actors []wire.Address) error {
	for _, a := range actors {
		if a.Role == wire.Lane && g.copies.isTarget(a) {
			return fmt.Errorf("a partition is on its way to %v", a)
		}
	}
	lane := slices.IndexFunc(actors, func(a wire.Address) bool { return a.Role == wire.Lane })
	remains := func(a wire.Address) bool { return !slices.Contains(actors, a) }
	if lane >= 0 && !slices.ContainsFunc(g.route.Lanes(), remains) {
		return fmt.Errorf("%v is the last lane of the job", actors[lane])
	}
	return nil
}

// RemoveActor returns the removal of an actor that holds nothing, which names a successor for its counts, and makes
// it in the route. The actor is sent messages until Remove.
func (g *Group) RemoveActor(a wire.Address) (removal bellows.Control, err error) {
	if err := g.Admit(a); err != nil {
		return removal, err
	}
	successor, found := g.successor(a)
	if !found {
		return removal, fmt.Errorf("%v is the last lane of the job", a)
	}
	if removal = g.route.RemoveClient(a.Node, successor); a.Role == wire.Lane {
		removal = g.route.RemoveLane(a, successor)
	}
	return removal, g.Change(removal)
}

// successor returns the lane that takes over the counts of an actor: another one, at the controller's node if there is
// one, and if possible not at the actor's node, which may be about to go.
func (g *Group) successor(of wire.Address) (lane wire.Address, found bool) {
	best := 0
	for _, l := range g.route.Lanes() {
		rank := 1
		if l.Node != of.Node {
			rank = 2
		}
		if l.Node == g.self.Node {
			rank = 3
		}
		if l != of && rank > best {
			lane, best = l, rank
		}
	}
	return lane, best > 0
}

// StartLeaving notes that an actor is leaving, by a record.
func (g *Group) StartLeaving(removal bellows.Control, nowMillis int64) {
	if len(g.leaving) == 0 {
		g.wait.Restart(nowMillis)
	}
	a, _ := g.route.Removed(removal)
	g.leaving, g.removed = append(g.leaving, removal), append(g.removed, a)
}

// Adopt notes that a successor has the counts of an actor, and reports whether the actor was leaving.
func (g *Group) Adopt(removal bellows.Control, nowMillis int64) bool {
	i := slices.Index(g.leaving, removal)
	if i < 0 {
		return false
	}
	g.leaving = slices.Delete(g.leaving, i, i+1)
	g.wait.Restart(nowMillis)
	return true
}

// Vacate reports whether a node may go: no actor of the job is left there, nor is it the controller's. It is watched no
// more.
func (g *Group) Vacate(n bellows.NodeID) bool {
	is := func(a wire.Address) bool { return a.Node == n }
	if n == g.self.Node || g.Lost(n) || slices.ContainsFunc(slices.Concat(g.lanes, g.clients, g.Leavers()), is) {
		return false
	}
	g.Leave(n)
	return true
}

// SettleRemoved ends a replay: it removes actors that the route no longer has, and returns them. Actors that a lane has
// adopted the counts of are not leaving any more.
func (g *Group) SettleRemoved(adopted []bellows.Control, nowMillis int64) (gone []wire.Address) {
	g.wait.Restart(nowMillis)
	for _, a := range slices.Concat(g.lanes, g.clients) {
		if !slices.Contains(g.route.Lanes(), a) && !slices.Contains(g.route.Clients(), a) {
			g.Remove(a)
			gone = append(gone, a)
		}
	}
	g.leaving = slices.DeleteFunc(g.leaving, func(one bellows.Control) bool { return slices.Contains(adopted, one) })
	for _, one := range adopted {
		if a, _ := g.route.Removed(one); !slices.Contains(g.removed, a) {
			g.removed = append(g.removed, a)
		}
	}
	return gone
}

// SkipWait leaves out time in which the caller slept, for NameLeaver.
func (g *Group) SkipWait(millis int64) { g.wait.Skip(millis) }

// NameLeaver returns a sentence about the actor that has been leaving for long, once; empty: none. A client has not
// told it that nothing more comes, or its successor is behind. The end of the job ends that.
func (g *Group) NameLeaver(nowMillis, noticeMillis int64) string {
	if len(g.leaving) == 0 {
		return ""
	}
	waited, name := g.wait.Look(nowMillis, noticeMillis)
	if !name {
		return ""
	}
	first := g.leaving[0]
	a, _ := g.route.Removed(first)
	return fmt.Sprintf("%v has been leaving for %.1f s: what it has counted is not with %v yet, and it stays "+
		"until then, or until the job's end", a, float64(waited)/1000, g.route.Heir(first))
}
