package lanestate

import (
	"slices"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Records that concern all partitions.

// CountUnits counts the units that a record has finished. It reports whether a clock is complete now. It fails for a
// unit that no split can have done.
func (s *State) CountUnits(results []wire.Result) (completed bool, err error) {
	before := s.progress.Complete()
	for i := range results {
		u := results[i].Unit
		if err := s.progress.Check(u); err != nil {
			return false, err
		}
		s.progress.Commit(u)
	}
	return s.progress.Complete() > before, nil
}

// Reach makes the clocks visible, in all partitions at once, that the last record has completed.
func (s *State) Reach(fx *partition.Effects) error {
	s.barrier = s.applied
	for _, p := range s.owned {
		if err := p.Reach(s.progress.Complete(), s.applied, fx); err != nil {
			return err
		}
	}
	return nil
}

// Keep keeps an image of each partition, as of the last record.
func (s *State) Keep(fx *partition.Effects) {
	for _, p := range s.owned {
		p.Keep(s.applied, fx)
	}
}

// Cut begins to give each partition away as it is at the last record.
func (s *State) Cut() {
	s.cfg.Cuts.Cut(s.applied)
	for _, p := range s.owned {
		p.Cut(s.applied)
	}
}

// Cuttable reports whether no partition is hidden from cuts by a lease on its own memory.
func (s *State) Cuttable() bool {
	return !slices.ContainsFunc(s.owned, (*partition.Partition).HidesFromCuts)
}

// LoadStaleness sets how many clocks reads of each table may lag, at a lane that begins while the job runs.
func (s *State) LoadStaleness(list []int32) {
	for t, clocks := range list {
		s.cfg.Tables[t].Consistency = table.Consistency(clocks)
	}
}

// SetStaleness changes the consistency of a table by the last record. No task is out, so that nothing waits for
// a clock; what is visible never goes back.
func (s *State) SetStaleness(t bellows.TableID, clocks int32, fx *partition.Effects) error {
	s.cfg.Tables[t].Consistency = table.Consistency(clocks)
	s.barrier = s.applied
	for _, p := range s.owned {
		if p.Ref.Table != t {
			continue
		}
		if err := p.SetBarrier(s.isBarrier(t), s.applied, fx); err != nil {
			return err
		}
	}
	return nil
}

// Hold notes what changes when a push is held: a second flush cannot end the leases that it ends.
func (s *State) Hold(m *wire.Push) {
	for i := range m.Leases {
		s.Lookup(m.Leases[i].Ref).Leases.Ending()
	}
	if planted.On("applied-when-held") {
		for i := range m.Chunks {
			c := &m.Chunks[i]
			s.Lookup(c.Ref).State.ApplyUnlogged(c)
		}
	}
}
