package schedule

import (
	"iter"
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// Entry is a change of the actors that take part, or of the client that runs a split, while the job runs.
type Entry struct {
	Millis int64 // after the first tasks have left
	// a lane that begins without partitions, or a client that begins without splits; the client that gets a split; the
	// actor that leaves
	Actor  wire.Address
	Slots  int   // of a client that begins
	Gives  bool  // a split goes to the client
	Leaves bool  // the actor takes part no more
	Broken bool  // the controller is lost after sending only some of its messages about it
	Deaf   int64 // for how long a node with lanes hears nothing of it, in milliseconds
	Behind bellows.NodeID
	Split  bellows.SplitID
}

// Made reports whether a route has the change.
func (e *Entry) Made(r *route.Route) bool {
	takes := slices.Contains(r.Lanes(), e.Actor) || slices.Contains(r.Clients(), e.Actor)
	if e.Gives {
		return r.Node(e.Split) == e.Actor.Node
	}
	if e.Leaves {
		return !takes
	}
	return takes
}

// Empties returns where the splits of a client that leaves go, in their order: to clients that stay. last: no client
// stays.
func (e *Entry) Empties(r *route.Route, removed []wire.Address) (moves iter.Seq2[bellows.SplitID, bellows.NodeID], last bool) {
	others := slices.DeleteFunc(slices.Clone(r.Clients()), func(a wire.Address) bool { return a == e.Actor || slices.Contains(removed, a) })
	return func(yield func(bellows.SplitID, bellows.NodeID) bool) {
		for s := range bellows.SplitID(r.Splits()) {
			if r.Node(s) == e.Actor.Node && !yield(s, others[int(s)%len(others)].Node) {
				return
			}
		}
	}, e.Actor.Role == wire.Client && len(others) == 0
}

// drawGrowth adds lanes and clients to some jobs, at nodes that have a part in them already, and moves splits between two of their
// clocks. It all comes early: the shortest jobs are soon over.
func (s *Schedule) drawGrowth() {
	s.Growth = nil
	if s.growing.IntN(4) > 0 {
		return
	}
	lanes, clients, at := make([]int, s.NodeCount), slices.Clone(s.ClientAt), int64(0)
	for _, a := range s.LaneAt {
		lanes[a.Node]++
	}
	for range 1 + s.growing.IntN(8) {
		e := Entry{Millis: at}
		n := s.LaneAt[s.growing.IntN(len(s.LaneAt))].Node
		if s.growing.IntN(2) == 0 {
			n = s.ClientAt[s.growing.IntN(len(s.ClientAt))].Node
		}
		switch kind := s.growing.IntN(4); {
		case kind == 0:
			e.Actor = wire.LaneAt(n, lanes[n])
			lanes[n]++
		case kind == 1 && !slices.Contains(clients, wire.ClientAt(n)):
			e.Actor, e.Slots = wire.ClientAt(n), 1+s.growing.IntN(3)
			clients = append(clients, e.Actor)
		default:
			e.Gives, e.Split = true, bellows.SplitID(s.growing.IntN(s.Job.Splits))
			if e.Actor = clients[len(clients)-1]; s.growing.IntN(2) == 0 {
				e.Actor = clients[s.growing.IntN(len(clients))]
			}
		}
		if e.Behind = s.LaneAt[s.growing.IntN(len(s.LaneAt))].Node; e.Behind != 0 && s.growing.IntN(2) == 0 {
			e.Deaf = 50 + s.growing.Int64N(150)
		}
		s.Growth = append(s.Growth, e)
		at += s.growing.Int64N(60)
	}
	if s.growing.IntN(2) == 0 {
		s.Limits.Lane.Ahead = 1 << s.growing.IntN(12)
	}
}

// drawLeaving lets clients, and lanes that were added, leave in some attempts, or nodes with all their actors: several
// at once, and one soon after it came.
func (s *Schedule) drawLeaving() {
	leaves := s.leaving.IntN(6) == 0
	if s.divides && s.Failovers > 0 && s.leaving.IntN(2) == 0 { // some in the midst of a clock
		s.Failovers++
		s.Plans = append(s.Plans, Plan{"failover", s.ClientAt[0].Node, FlushHeld, 64 + s.leaving.IntN(1<<8)})
	}
	if !leaves {
		return
	}
	if s.Failovers == 0 && s.Loss.Skip < 0 && s.leaving.IntN(3) == 0 {
		stages := [...]Stage{PullParked, FlushHeld, RecordUnderWay, TheEnd}
		s.Failovers = 1
		s.Plans = append(s.Plans, Plan{"failover", s.ClientAt[0].Node, stages[s.leaving.IntN(len(stages))], s.leaving.IntN(1 << s.leaving.IntN(9))})
	}
	lanes, at := make([]int, s.NodeCount), s.leaving.Int64N(100)
	add := func(e Entry) {
		if e.Behind = s.LaneAt[s.leaving.IntN(len(s.LaneAt))].Node; e.Behind != 0 && s.leaving.IntN(3) == 0 {
			e.Deaf = 50 + s.leaving.Int64N(150)
		}
		e.Millis, e.Broken = at, s.Failovers > 0 && s.leaving.IntN(4) == 0
		s.Growth = append(s.Growth, e)
		at += s.leaving.Int64N(2) * s.leaving.Int64N(60)
	}
	for _, a := range s.LaneAt {
		lanes[a.Node]++
	}
	var added []wire.Address
	for _, e := range s.Growth {
		if e.Actor.Role == wire.Lane {
			lanes[e.Actor.Node]++
			added = append(added, e.Actor)
		}
	}
	for range 1 + s.leaving.IntN(4) {
		c := s.ClientAt[s.leaving.IntN(len(s.ClientAt))]
		if hosts := func(a wire.Address) bool { return a.Node == c.Node }; c.Node == 0 || slices.ContainsFunc(s.LaneAt, hosts) {
			c = s.ClientAt[s.leaving.IntN(len(s.ClientAt))] // rather a client whose node has nothing else
		}
		if s.leaving.IntN(2) == 0 {
			a := wire.LaneAt(c.Node, lanes[c.Node])
			lanes[c.Node]++
			added = append(added, a)
			add(Entry{Actor: a})
		}
		if s.leaving.IntN(3) > 0 {
			add(Entry{Actor: c, Leaves: true})
		}
		for _, a := range added {
			if a.Node == c.Node || s.leaving.IntN(4) == 0 {
				add(Entry{Actor: a, Leaves: true})
			}
		}
	}
}
