package roster

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// CheckRemoval returns an error if actors that hold nothing cannot be removed: a partition is on its way to one of
// them, or they are all lanes of the job.
func (r *Roster) CheckRemoval(actors []wire.Address) error {
	for _, a := range actors {
		if a.Role == wire.Lane && r.copies.isTarget(a) {
			return fmt.Errorf("a partition is on its way to %v", a)
		}
	}
	lane := slices.IndexFunc(actors, func(a wire.Address) bool { return a.Role == wire.Lane })
	remains := func(a wire.Address) bool { return !slices.Contains(actors, a) }
	if lane >= 0 && !slices.ContainsFunc(r.route.Lanes(), remains) {
		return fmt.Errorf("%v is the last lane of the job", actors[lane])
	}
	return nil
}

// RemoveActor returns the removal of an actor that holds nothing, which names a successor for its counts, and makes
// it in the route. The actor is sent messages until Remove.
func (r *Roster) RemoveActor(a wire.Address) (removal bellows.Control, err error) {
	if err := r.Admit(a); err != nil {
		return removal, err
	}
	successor, found := r.successor(a)
	if !found {
		return removal, fmt.Errorf("%v is the last lane of the job", a)
	}
	if removal = r.route.RemoveClient(a.Node, successor); a.Role == wire.Lane {
		removal = r.route.RemoveLane(a, successor)
	}
	return removal, r.Change(removal)
}

// successor returns the lane that takes over the counts of an actor: another one, at the controller's node if there is
// one, and if possible not at the actor's node, which may be about to go.
func (r *Roster) successor(of wire.Address) (lane wire.Address, found bool) {
	best := 0
	for _, l := range r.route.Lanes() {
		rank := 1
		if l.Node != of.Node {
			rank = 2
		}
		if l.Node == r.self.Node {
			rank = 3
		}
		if l != of && rank > best {
			lane, best = l, rank
		}
	}
	return lane, best > 0
}

// StartLeaving notes that an actor is leaving, by a record.
func (r *Roster) StartLeaving(removal bellows.Control, nowMillis int64) {
	if len(r.leaving) == 0 {
		r.wait.Restart(nowMillis)
	}
	a, _ := r.route.Removed(removal)
	r.leaving, r.removed = append(r.leaving, removal), append(r.removed, a)
}

// Adopt notes that a successor has the counts of an actor, and reports whether the actor was leaving.
func (r *Roster) Adopt(removal bellows.Control, nowMillis int64) bool {
	i := slices.Index(r.leaving, removal)
	if i < 0 {
		return false
	}
	r.leaving = slices.Delete(r.leaving, i, i+1)
	r.wait.Restart(nowMillis)
	return true
}

// Vacate reports whether a node may go: no actor of the job is left there, nor is it the controller's. It is watched no
// more.
func (r *Roster) Vacate(n bellows.NodeID) bool {
	is := func(a wire.Address) bool { return a.Node == n }
	if n == r.self.Node || r.Lost(n) || slices.ContainsFunc(slices.Concat(r.lanes, r.clients, r.Leavers()), is) {
		return false
	}
	r.Leave(n)
	return true
}

// SettleRemoved ends a replay: it removes actors that the route no longer has, and returns them. Actors that a lane has
// adopted the counts of are not leaving any more.
func (r *Roster) SettleRemoved(adopted []bellows.Control, nowMillis int64) (gone []wire.Address) {
	r.wait.Restart(nowMillis)
	for _, a := range slices.Concat(r.lanes, r.clients) {
		if !slices.Contains(r.route.Lanes(), a) && !slices.Contains(r.route.Clients(), a) {
			r.Remove(a)
			gone = append(gone, a)
		}
	}
	r.leaving = slices.DeleteFunc(r.leaving, func(one bellows.Control) bool { return slices.Contains(adopted, one) })
	for _, one := range adopted {
		if a, _ := r.route.Removed(one); !slices.Contains(r.removed, a) {
			r.removed = append(r.removed, a)
		}
	}
	return gone
}

// SkipWait leaves out time in which the caller slept, for NameLeaver.
func (r *Roster) SkipWait(millis int64) { r.wait.Skip(millis) }

// NameLeaver returns a sentence about the actor that has been leaving for long, once; empty: none. A client has not
// told it that nothing more comes, or its successor is behind. The end of the job ends that.
func (r *Roster) NameLeaver(nowMillis, noticeMillis int64) string {
	if len(r.leaving) == 0 {
		return ""
	}
	waited, name := r.wait.Look(nowMillis, noticeMillis)
	if !name {
		return ""
	}
	first := r.leaving[0]
	a, _ := r.route.Removed(first)
	return fmt.Sprintf("%v has been leaving for %.1f s: what it has counted is not with %v yet, and it stays "+
		"until then, or until the job's end", a, float64(waited)/1000, r.route.Heir(first))
}
