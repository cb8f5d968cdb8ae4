package cache

import (
	"fmt"

	"bellows"
	"bellows/link/wire"
)

// A node keeps the copy of a leased partition after the lease, and names it when it asks for the next lease (Keep;
// wire.Acquire.Held). If no record has written to the partition since, the lane grants the lease without values
// (wire.Granted.Unchanged), and the task works on the copy. An exclusive lease takes the copy over. A shared lease
// gets a copy of it, since other tasks may need it.
//
// A copy is named by the partition's generation and by its revision, the record that wrote its values. A partition that
// moves gets another generation, and its next owner knows no revision of it (TestMoveVoidsHeldCopy). A process that
// takes the place of a lost one holds nothing.
//
// Turned down: to make room by dropping the oldest copy. Blocks are leased in turns, so the oldest is the next one.

// copies are those that a node holds of partitions, by their numbers. Their values are bounded; those beyond are not
// kept.
type copies struct {
	list []*wire.Granted // by route.Number; nil: none
	most int             // values
	held int             // values
}

// keep takes a copy of a partition at a generation. It frees a copy that has no name, that is no newer than the known
// one, or that does not fit.
func (s *copies) keep(n int, g *wire.Granted, at wire.Pair) {
	if g.Pair != at || !s.wants(n, g) {
		wire.Free(g)
		return
	}
	s.drop(n)
	s.list[n] = g
	s.held += len(g.Values)
}

// wants reports whether the values of a lease are to be kept.
func (s *copies) wants(n int, g *wire.Granted) bool {
	room, known := s.most-s.held, s.list[n]
	if known != nil {
		room += len(known.Values)
	}
	older := known != nil && known.Revision >= g.Revision
	return g.Copied() && g.Revision > 0 && !older && len(g.Values) <= room
}

// clone keeps a copy of the values of a shared lease that has begun, at the partition's generation.
func (s *copies) clone(n int, g *wire.Granted) {
	if s.wants(n, g) {
		m := wire.New[wire.Granted]()
		m.Pair, m.Revision = g.Pair, g.Revision
		m.Copy(g.Values)
		s.keep(n, m, g.Pair)
	}
}

// revision returns the revision of the copy of a partition, or 0 without a copy.
func (s *copies) revision(n int) bellows.CommitNumber {
	if s.list[n] == nil {
		return 0
	}
	return s.list[n].Revision
}

// drop frees the copy of a partition, if there is one.
func (s *copies) drop(n int) {
	if g := s.list[n]; g != nil {
		s.held -= len(g.Values)
		s.list[n] = nil
		wire.Free(g)
	}
}

// fill gives a lease without values those of the copy that the request named. It fails if the node has no such copy.
func (s *copies) fill(n int, m *wire.Granted) error {
	g := s.list[n]
	if g == nil || g.Revision != m.Revision || g.Pair != m.Pair {
		return fmt.Errorf("a lease on %v that is unchanged since record %d, but the node has no copy of that record",
			m.Ref, m.Revision)
	}
	m.Unchanged = false
	if m.Mode == wire.Shared {
		m.Copy(g.Values)
		return nil
	}
	s.held -= len(g.Values)
	s.list[n] = nil
	m.Move(g)
	wire.Free(g)
	return nil
}
