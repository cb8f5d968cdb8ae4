package schedule

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// Entry is a change of who takes part, or who runs what, while the job runs.
type Entry struct {
	Millis int64        // after the first tasks have left
	Actor  wire.Address // a lane that begins without partitions, or a client that begins without splits; the client that gets a split
	Slots  int          // of a client that begins
	Gives  bool         // a split goes to the client
	Broken bool         // the controller is lost in the midst of what it says of it
	Deaf   int64        // for how long a node with lanes hears nothing of it, in milliseconds
	Behind bellows.NodeID
	Split  bellows.SplitID
}

// Made reports whether a route has the change.
func (e *Entry) Made(r *route.Route) bool {
	if e.Gives {
		return r.Node(e.Split) == e.Actor.Node
	}
	return slices.Contains(r.Lanes(), e.Actor) || slices.Contains(r.Clients(), e.Actor)
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
