package laneend

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Counts of lanes and clients that were removed, and whose successor this lane is.

// Expect notes that a record has removed a lane or client, if its counts come to this lane.
func (e *Ending) Expect(removal bellows.Control, r *route.Route) {
	who, removed := r.Removed(removal)
	if !removed || removal.Kind == bellows.LoseClient || who == e.self || r.Heir(removal) != e.self {
		return
	}
	if !slices.Contains(e.adopted, removal) {
		e.owed = append(e.owed, removal)
	}
}

// Lose notes that a record has parted the job from a client that is lost. It has no final counts: its
// records are (audit.Sent). A controller that follows another learns here not to wait for it.
func (e *Ending) Lose(removal bellows.Control) { e.adopted = append(e.adopted, removal) }

// Lost reports whether the job continued without a client that was lost.
func (e *Ending) Lost(client bellows.NodeID) bool {
	return slices.ContainsFunc(e.adopted, func(r bellows.Control) bool {
		return r.Kind == bellows.LoseClient && r.Node == client
	})
}

// Adopt adds final counts to the lane's own, and confirms that to the controller. It returns what their
// sender had missed, and whether they were added. Counts that come before the record of the removal wait for
// it (TakeAhead): from that record on a controller that follows another can learn of the removal here. Counts
// that come twice are ignored.
func (e *Ending) Adopt(f FinalCounts, r *route.Route, out *wire.Outbox) (missed []wire.Missed, added bool) {
	if f.Closed.Route > r.Version() {
		e.ahead = append(e.ahead, f)
		return nil, false
	}
	one := r.RemoveClient(f.From.Node, e.self)
	if f.From.Role == wire.Lane {
		one = r.RemoveLane(f.From, e.self)
	}
	one.Route = f.Closed.Route
	if slices.Contains(e.adopted, one) {
		return nil, false
	}
	e.owed = slices.DeleteFunc(e.owed, func(o bellows.Control) bool { return o == one })
	list := append(f.Closed.Adopted, one)
	e.adopted = append(e.adopted, list...)
	out.Send(e.self, e.controller, &wire.Adopted{List: slices.Clone(list)})
	if planted.On("bequest-lost") {
		return nil, true
	}
	e.counts.Add(&f.Closed.Counts)
	return f.Closed.Missed, true
}

// TakeAhead returns the final counts that waited for a newer route, for Adopt.
func (e *Ending) TakeAhead() []FinalCounts {
	list := e.ahead
	e.ahead = nil
	return list
}
