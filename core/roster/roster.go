package roster

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/liveness"
	"bellows/core/members"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Options are fixed for the life of a Roster, as the job is.
type Options struct {
	Term bellows.Term
	// Stays says why splits cannot go to other nodes; empty: they can.
	Stays string
}

// Roster is the membership of one job.
//
// An actor joins, takes part, and may leave: its removal is a record, which names a successor among the lanes that
// adds the actor's counts to its own. Until the successor has confirmed that, the actor is leaving and its node is
// watched. A node at which no actor is left may go. A node that runs tasks and nothing else may be lost while the
// job continues: its splits go to other nodes, and then it is removed without a successor.
//
// Invariants, and what holds them:
//
//   - The route changes by one change at a time, which the caller records: TestChangesAreReturnedInOrder.
//   - An address takes part at most once: one that was removed is not admitted again (TestTheRemovedAreNotAdmitted).
//   - A partition has at most one move under way, and only the answer to the newest order counts:
//     TestOnlyTheNewestMoveCounts.
//   - The counts of an actor that has left are with exactly one lane: TestASuccessorIsAnotherLane, the audit of the
//     simulation.
//
// Rejected: a fence for a node that is lost while the job continues (wire.Fence). It is sent between records, so
// that two lanes would disagree on what of the node counts (docs/decisions/0060).
type Roster struct {
	*members.Roll
	opt     Options
	self    wire.Address // the controller
	tables  int          // of the job
	route   *route.Route
	lanes   []wire.Address
	clients []wire.Address
	first   []wire.Address    // lanes with which the job began
	changes []bellows.Control // of the route, which the clients do not know yet
	leaving []bellows.Control // removals of actors, where no successor has their counts yet
	removed []wire.Address    // all actors that were removed
	lost    []bellows.Control // removals of nodes that were lost while the job continued
	sent    [][]audit.Sent    // by client: what its records have of each table
	copies  copies            // partitions on their way
	wait    liveness.Wait     // for actors that are leaving
}

// New returns the roster with which a job begins.
func New(job core.Job, opt Options) *Roster {
	return &Roster{
		Roll: members.NewRoll(job.Controller.Node, slices.Concat(job.Clients, job.Lanes), job.Times),
		opt:  opt, self: job.Controller, tables: len(job.Tables), route: job.Route,
		lanes: job.Lanes, clients: job.Clients, first: job.Lanes,
	}
}

// Route returns the current route.
func (r *Roster) Route() *route.Route { return r.route }

// Lanes returns the lanes that take part. The list is the roster's, and stays as it is when the roster changes.
func (r *Roster) Lanes() []wire.Address { return r.lanes }

// Clients returns the clients that take part, as Lanes does for lanes.
func (r *Roster) Clients() []wire.Address { return r.clients }

// IsFirst reports whether a lane was there when the job began.
func (r *Roster) IsFirst(lane wire.Address) bool { return slices.Contains(r.first, lane) }

// Runs reports whether a node takes part as a client.
func (r *Roster) Runs(n bellows.NodeID) bool { return slices.Contains(r.clients, wire.ClientAt(n)) }

// Change makes the next route. The caller records the change.
func (r *Roster) Change(change bellows.Control) error {
	next, err := r.route.Next(change)
	if err != nil {
		return err
	}
	r.route = next
	r.changes = append(r.changes, change)
	return nil
}

// mustChange makes a change that fits.
func (r *Roster) mustChange(change bellows.Control) bellows.Control {
	if err := r.Change(change); err != nil {
		panic(err)
	}
	return change
}

// Announce sends clients the changes that they do not know. The records of these must have been sent: a client knows no
// route that no lane knows (docs/decisions/0031).
func (r *Roster) Announce(out *wire.Outbox) {
	if len(r.changes) == 0 {
		return
	}
	for _, a := range r.clients {
		out.Send(r.self, a, &wire.Route{Term: r.opt.Term, Version: r.route.Version(), Changes: slices.Clone(r.changes)})
	}
	r.changes = r.changes[:0]
}

// Admit returns why an actor cannot take part; nil: it can.
func (r *Roster) Admit(a wire.Address) error {
	switch {
	case r.Lost(a.Node):
		return fmt.Errorf("%v cannot take part: %s", a, r.Why(a.Node))
	case slices.Contains(r.removed, a):
		return fmt.Errorf("%v cannot take part: it was removed; let it join as another", a)
	case r.HasLeft(a.Node):
		return fmt.Errorf("%v cannot take part: its node has left; let it join as another", a)
	}
	return nil
}

// Enrol adds an actor that takes part, and has its node be watched.
func (r *Roster) Enrol(a wire.Address) {
	switch {
	case a.Role == wire.Lane && !slices.Contains(r.lanes, a):
		r.lanes = append(slices.Clip(r.lanes), a)
	case a.Role == wire.Client && !slices.Contains(r.clients, a):
		r.clients = append(slices.Clip(r.clients), a)
	}
	r.Add(a)
}

// Remove takes an actor out of those that are sent messages.
func (r *Roster) Remove(a wire.Address) {
	is := func(b wire.Address) bool { return a == b }
	r.lanes = slices.DeleteFunc(slices.Clone(r.lanes), is)
	r.clients = slices.DeleteFunc(slices.Clone(r.clients), is)
}

// Whole returns the route as a controller that follows another one announces it. Actors that are leaving or lost
// are added and removed in it, so that a receiver that does not know of their removal learns of it. All are added
// before any is removed: one may be the successor of another (TestALeaverMayBeASuccessor).
func (r *Roster) Whole() []bellows.Control {
	list := r.WithLost(r.route.Whole())
	for _, a := range r.Leavers() {
		if a.Role == wire.Lane {
			list = append(list, r.route.AddLane(a))
		} else {
			list = append(list, r.route.AddClient(a.Node))
		}
	}
	return append(list, r.leaving...)
}

// WithLost adds to a whole route that lost nodes were added and removed.
func (r *Roster) WithLost(whole []bellows.Control) []bellows.Control {
	for _, l := range r.lost {
		whole = append(whole, r.route.AddClient(l.Node))
	}
	return append(whole, r.lost...)
}

// Retract takes back what a node that is lost has said of others.
func (r *Roster) Retract(n bellows.NodeID) {
	if !planted.On("accusation-of-the-lost-believed") {
		r.Roll.Retract(n)
	}
}

// Leavers returns the actors that were removed, and are watched until a successor has their counts.
func (r *Roster) Leavers() (list []wire.Address) {
	for _, l := range r.leaving {
		a, _ := r.route.Removed(l)
		list = append(list, a)
	}
	return list
}
