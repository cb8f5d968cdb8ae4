package schedule

import (
	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/model"
)

// The nodes of a directed schedule: node 0 has only the controller, then come nodes with a lane each, then nodes with a
// client each.
const (
	DirectedLanes   = 3
	DirectedClients = 4
)

// Directed returns the schedule of a seed without random faults: its caller injects them (package grid). The job's
// computation, its order, its limits and the times of its messages are drawn as in any other schedule. ahead: splits
// are dispatched several clocks ahead; complete: the last server also has a client; divided: the job divides clocks,
// else it may.
func Directed(seed uint64, ahead, complete, divided bool) *Schedule {
	s := New(seed)
	if s.Job = model.Jobs[seed%model.Shapes](); s.divides || divided {
		s.Job = model.Divided[seed%model.Shapes]()
	}
	s.KeepFrom, s.TurnAt = Never, Never
	s.directed, s.complete = true, complete
	if s.Drive, s.Ahead = "running", 1; ahead {
		s.Drive, s.Ahead = "pipelined", 4
	}
	s.DrawLife()
	return s
}

// direct removes all random faults from an attempt.
func (s *Schedule) direct() {
	s.NodeCount = 1 + DirectedLanes + DirectedClients
	s.LaneAt, s.Slots, s.Plans = nil, nil, nil
	s.ReadyAt, s.Drift, s.Closing = make([]int64, s.NodeCount), make([]int64, s.NodeCount), make([]int64, s.NodeCount)
	var nodes []bellows.NodeID
	for n := 1; n < s.NodeCount; n++ {
		if n <= DirectedLanes {
			s.LaneAt = append(s.LaneAt, wire.LaneAt(bellows.NodeID(n), 0))
		}
		if n > DirectedLanes || n == DirectedLanes && s.complete {
			nodes, s.Slots = append(nodes, bellows.NodeID(n)), append(s.Slots, 2)
		}
	}
	s.ClientAt = route.Clients(nodes)
	s.Streams, s.CalmAt, s.Linger, s.Links = true, 0, 0, nil
	for range s.NodeCount {
		row := make([]LinkProfile, s.NodeCount)
		for to := range row {
			// so that some of several messages have come while others are on their way
			row[to] = LinkProfile{Delay: 4 + s.Rng.Int64N(5)}
		}
		s.Links = append(s.Links, row)
	}
	s.Ranks = nil
	s.Endless, s.Loss, s.Unready = Endless{Clock: Never}, Loss{Skip: -1}, 0
	s.Growth, s.Shifts, s.Reshapes, s.Meddle, s.Cuts, s.LoseAll = nil, nil, nil, 0, 0, false
	s.Limits.Lane.Tail, s.Limits.Lane.Copies, s.Limits.Lane.Behind, s.Limits.Lane.Parked = 0, 0, 0, 0
	s.Limits.Coord.Tail = 0
	s.Limits.Lane.Slab, s.Limits.Lane.Window = 8, 200 // a partition is several pieces
	s.Failovers = s.Rng.IntN(2)                       // whether controllers are saved now and then
	s.Guests = []Guest{{Millis: int64(Never), Slots: 1, Lanes: 1, Stays: Forever}}
}
