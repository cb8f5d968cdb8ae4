package roster

import (
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/planted"
)

// Save adds to a saved state what the roster knows.
func (r *Roster) Save(to *journal.Saved) {
	to.Leaving, to.Lost = slices.Clone(r.leaving), slices.Clone(r.lost)
	for _, list := range r.sent {
		to.Sent = append(to.Sent, slices.Clone(list))
	}
	if to.Route = r.route.Version(); to.Route > 0 {
		to.Whole = r.route.Whole()
	}
}

// Restore continues from a saved state. It sends nothing.
func (r *Roster) Restore(from *journal.Saved, nowMillis int64) error {
	if len(from.Whole) > 0 && !planted.On("saved-route-forgotten") {
		saved, err := r.route.Rebuilt(from.Route, from.Whole)
		if err != nil {
			return err
		}
		r.route = saved
		for _, a := range slices.Concat(saved.Lanes(), saved.Clients()) {
			r.Enrol(a)
		}
	}
	for _, l := range from.Lost {
		r.Leave(l.Node)
		r.NoteLost(l)
	}
	if !planted.On("saved-word-of-the-lost-forgotten") {
		for n, list := range from.Sent {
			r.AddSent(bellows.NodeID(n), list)
		}
	}
	for _, l := range from.Leaving {
		r.StartLeaving(l, nowMillis)
		r.Enrol(r.removed[len(r.removed)-1]) // an actor that has not left is asked too
	}
	return nil
}

// Replay takes the record of a change of the route that another controller has made.
func (r *Roster) Replay(change bellows.Control, nowMillis int64) error {
	next, err := r.route.Next(change)
	if err != nil {
		return err
	}
	r.route = next
	if change.Kind == bellows.LoseClient {
		r.Leave(change.Node)
		r.NoteLost(change)
	} else if _, removed := r.route.Removed(change); removed {
		r.StartLeaving(change, nowMillis)
	}
	return nil
}
