package lanestate

import (
	"fmt"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Lookup returns a partition of the job as this lane has it; nil: it never came here.
func (s *State) Lookup(ref bellows.PartitionRef) *partition.Partition {
	return s.byNumber[s.cfg.Route.Number(ref)]
}

// Find returns the partition of a pair if this lane owns it at that generation. The error is route.ErrStale if
// the partition has had another owner since, or this one again: the sender has an older route. Any other error is of a
// pair that no route has had, which no correct peer names.
func (s *State) Find(p wire.Pair) (*partition.Partition, error) {
	t, g := s.Lookup(p.Ref), s.cfg.Route.Owner(p.Ref).Generation
	switch {
	case (t == nil || t.Gone()) && p.Generation >= g:
		return nil, fmt.Errorf("partition %v is not at %v", p.Ref, s.cfg.Self)
	case p.Generation < g && !(planted.On("generation-unchecked") && t != nil):
		return nil, route.ErrStale
	case p.Generation > g && !planted.On("newer-generation-taken") && !planted.On("generation-unchecked"):
		return nil, fmt.Errorf("partition %v is at generation %d, not %d", p.Ref, g, p.Generation)
	}
	return t, nil
}

// Owns returns the error of Find.
func (s *State) Owns(p wire.Pair) error {
	_, err := s.Find(p)
	return err
}

// Barrier reports whether the clocks of a partition's table become visible as a whole.
func (s *State) Barrier(ref bellows.PartitionRef) bool { return s.Lookup(ref).Barrier() }

// MayEnd reports whether a client has the exclusive lease on a partition, and no flush ends it yet.
func (s *State) MayEnd(ref bellows.PartitionRef, client wire.Address) bool {
	return s.Lookup(ref).Leases.MayEnd(client)
}

// Awaiting reports whether the state of any partition is still to come.
func (s *State) Awaiting() bool { return s.awaited > 0 }

// Awaits reports whether the state of the partition of a pair is still to come.
func (s *State) Awaits(p wire.Pair) bool {
	t := s.Lookup(p.Ref)
	return t != nil && t.Awaited() && t.Generation == p.Generation
}
