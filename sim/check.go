package sim

import (
	"bellows"
	"bellows/link/wire"
)

// checkSlabs sees at a task's end that nobody else has changed what it leased.
func (s *script) checkSlabs() {
	for _, l := range s.slabs {
		for i, v := range l.values {
			if v != l.copy[i] {
				s.w.violated("leases: %v leased state/p%d and value %d changed under it from %v to %v", s, l.Partition, i, l.copy[i], v)
			}
		}
	}
}

// checkBlocks shows the witness in which version the cache shows the task rows of a table.
func (s *script) checkBlocks(t bellows.TableID, rows []bellows.RowID) {
	cut := s.w.common.Route.Cut(t)
	next := bellows.RowID(0) // behind the last partition
	for _, r := range rows {
		if r >= next {
			p := cut.Find(r)
			_, next = cut.Rows(p)
			ref := bellows.PartitionRef{Table: t, Partition: p}
			s.see.Block(ref, s.task.Version(ref))
		}
	}
}

// checkVersions sees that what a client is told of a partition never goes back (P3).
func (w *world) checkVersions(to bellows.NodeID, m *wire.Rows) {
	for i := range m.Parts {
		p := &m.Parts[i]
		was := w.ledger.Shown(to, p.Ref)
		if p.Commit < was.Commit || p.Complete < was.Clock {
			w.violated("P3: node %d is shown %v at commit %d, clock %d after commit %d, clock %d", to, p.Ref, p.Commit, p.Complete, was.Commit, was.Clock)
		}
		if int(p.Commit) > len(w.oracle.Log) || int(p.Complete) >= len(w.oracle.ClockAt) {
			w.violated("P1: node %d is shown %v at commit %d, clock %d; neither more than %d nor %d is recorded", to, p.Ref, p.Commit, p.Complete, len(w.oracle.Log), len(w.oracle.ClockAt)-1)
		}
		*was = wire.Need{Commit: p.Commit, Clock: p.Complete}
	}
}
