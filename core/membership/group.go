package membership

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/heartbeat"
	"bellows/core/liveness"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Options are fixed for the life of a Group, as the job is.
type Options struct {
	Term bellows.Term
	// Stays says why splits cannot go to other nodes; empty: they can.
	Stays string
}

// A Group is the membership of one job.
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
type Group struct {
	*heartbeat.Monitor
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

// New returns the group with which a job begins.
func New(job core.Job, opt Options) *Group {
	return &Group{
		Monitor: heartbeat.NewMonitor(job.Controller.Node, slices.Concat(job.Clients, job.Lanes), job.Times),
		opt:     opt, self: job.Controller, tables: len(job.Tables), route: job.Route,
		lanes: job.Lanes, clients: job.Clients, first: job.Lanes,
	}
}

// Route returns the current route.
func (g *Group) Route() *route.Route { return g.route }

// Lanes returns the lanes that take part. The list belongs to the Group, and stays as it is when the membership
// changes.
func (g *Group) Lanes() []wire.Address { return g.lanes }

// Clients returns the clients that take part, as Lanes does for lanes.
func (g *Group) Clients() []wire.Address { return g.clients }

// IsFirst reports whether a lane was there when the job began.
func (g *Group) IsFirst(lane wire.Address) bool { return slices.Contains(g.first, lane) }

// Runs reports whether a node takes part as a client.
func (g *Group) Runs(n bellows.NodeID) bool { return slices.Contains(g.clients, wire.ClientAt(n)) }

// Change makes the next route. The caller records the change.
func (g *Group) Change(change bellows.Control) error {
	next, err := g.route.Next(change)
	if err != nil {
		return err
	}
	g.route = next
	g.changes = append(g.changes, change)
	return nil
}

// mustChange makes a change that fits.
func (g *Group) mustChange(change bellows.Control) bellows.Control {
	if err := g.Change(change); err != nil {
		panic(err)
	}
	return change
}

// Announce sends clients the changes that they do not know. The records of these must have been sent: a client knows no
// route that no lane knows (docs/decisions/0031).
func (g *Group) Announce(out *wire.Outbox) {
	if len(g.changes) == 0 {
		return
	}
	for _, a := range g.clients {
		out.Send(g.self, a, &wire.Route{Term: g.opt.Term, Version: g.route.Version(), Changes: slices.Clone(g.changes)})
	}
	g.changes = g.changes[:0]
}

// Admit returns why an actor cannot take part; nil: it can.
func (g *Group) Admit(a wire.Address) error {
	switch {
	case g.Lost(a.Node):
		return fmt.Errorf("%v cannot take part: %s", a, g.Why(a.Node))
	case slices.Contains(g.removed, a):
		return fmt.Errorf("%v cannot take part: it was removed; let it join as another", a)
	case g.HasLeft(a.Node):
		return fmt.Errorf("%v cannot take part: its node has left; let it join as another", a)
	}
	return nil
}

// Enrol adds an actor that takes part, and has its node be watched.
func (g *Group) Enrol(a wire.Address) {
	switch {
	case a.Role == wire.Lane && !slices.Contains(g.lanes, a):
		g.lanes = append(slices.Clip(g.lanes), a)
	case a.Role == wire.Client && !slices.Contains(g.clients, a):
		g.clients = append(slices.Clip(g.clients), a)
	}
	g.Add(a)
}

// Remove takes an actor out of those that are sent messages.
func (g *Group) Remove(a wire.Address) {
	is := func(b wire.Address) bool { return a == b }
	g.lanes = slices.DeleteFunc(slices.Clone(g.lanes), is)
	g.clients = slices.DeleteFunc(slices.Clone(g.clients), is)
}

// Whole returns the route as a controller that follows another one announces it. Actors that are leaving or lost
// are added and removed in it, so that a receiver that does not know of their removal learns of it. All are added
// before any is removed: one may be the successor of another (TestALeaverMayBeASuccessor).
func (g *Group) Whole() []bellows.Control {
	list := g.WithLost(g.route.Whole())
	for _, a := range g.Leavers() {
		if a.Role == wire.Lane {
			list = append(list, g.route.AddLane(a))
		} else {
			list = append(list, g.route.AddClient(a.Node))
		}
	}
	return append(list, g.leaving...)
}

// WithLost adds to a whole route that lost nodes were added and removed.
func (g *Group) WithLost(whole []bellows.Control) []bellows.Control {
	for _, l := range g.lost {
		whole = append(whole, g.route.AddClient(l.Node))
	}
	return append(whole, g.lost...)
}

// Retract takes back what a node that is lost has said of others.
func (g *Group) Retract(n bellows.NodeID) {
	if !planted.On("accusation-of-the-lost-believed") {
		g.Monitor.Retract(n)
	}
}

// Leavers returns the actors that were removed, and are watched until a successor has their counts.
func (g *Group) Leavers() (list []wire.Address) {
	for _, l := range g.leaving {
		a, _ := g.route.Removed(l)
		list = append(list, a)
	}
	return list
}
