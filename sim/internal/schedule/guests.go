package schedule

import (
	"slices"

	"bellows"
	"bellows/sim/internal/visiting"
)

// drawGuests lets nodes join in some lives.
func (s *Schedule) drawGuests() {
	s.Guests = nil
	if s.Loss.Skip >= 0 { // for a loss the job ends
		return
	}
	var follows int
	s.Guests, follows = visiting.Draw(s.Visiting, s.Job.Splits, s.Job.Schemas, s.Failovers > 0)
	s.Failovers += follows
}

// AddNode draws what there is of one more node, and returns its number.
func (s *Schedule) AddNode() bellows.NodeID {
	v, n := s.Visiting, len(s.Drift)
	s.Drift = append(s.Drift, v.Int64N(2*DriftMax+1)-DriftMax)
	s.ReadyAt, s.Closing = append(s.ReadyAt, 0), append(s.Closing, 0)
	if v.IntN(12) == 0 {
		s.Closing[n] = v.Int64N(3000)
	}
	for i := range s.Links {
		s.Links[i] = append(s.Links[i], s.Links[i][v.IntN(n)])
	}
	s.Links = append(s.Links, slices.Clone(s.Links[v.IntN(n)]))
	return bellows.NodeID(n)
}
