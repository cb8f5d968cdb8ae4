// Package partitiontest checks partitions in tests: a Mirror repeats every change of a partition's log in another
// store, and compares the bits. It needs nothing of the partition but its log, as a backup or a history of revisions
// would. If it reads too late it is cut off, and starts over with a copy of the state.
//
// Make a Mirror before the partition's first change (server.Options.Follow), have it Read now and then,
// and Check it at the end.
package partitiontest

import (
	"fmt"
	"math"
	"slices"

	"bellows/core/partition"
	"bellows/core/rowstore"
	"bellows/table"
)

// Mirror is a copy of a partition by its log.
type Mirror struct {
	of     *partition.Partition
	cursor *partition.Cursor
	store  *rowstore.Store
	kept   rowstore.Image // that the driver has kept, since the mirror was made
	err    error          // the first difference
	Counts [partition.Loaded + 1]int
	lag    int // changes since it last read
	Every  int // it reads when so many changes have come; 0: with each
	Lost   int // how often it was cut off, and started over with a copy of the state
}

// New makes a mirror of a partition of a table, and attaches it.
func New(p *partition.Partition, s *table.Schema, cut table.Cut) (*Mirror, error) {
	st, err := rowstore.Blank(s, cut, p.Ref.Partition)
	if err != nil {
		return nil, err
	}
	m := &Mirror{of: p, store: st}
	if err := m.begin(); err != nil {
		return nil, err
	}
	p.Log.Attach(m)
	return m, nil
}

// begin copies the state, and follows the log from here.
func (m *Mirror) begin() error {
	var im rowstore.Image
	m.of.State.Save(&im)
	if kept := m.of.State.Kept(); kept != nil {
		m.kept = rowstore.Image{Keys: slices.Clone(kept.Keys), Values: slices.Clone(kept.Values)}
		for _, s := range kept.Slots {
			m.kept.Slots = append(m.kept.Slots, slices.Clone(s))
		}
	}
	m.cursor = m.of.Log.Follow(partition.Want{Deltas: true})
	return m.store.Load(&im)
}

// Before ignores the change.
func (m *Mirror) Before(*partition.Change) {}

// After reads the log now and then, and compares the bits: always at cuts, at moves, and when an image is kept.
func (m *Mirror) After(c *partition.Change) {
	m.Counts[c.Kind]++
	if kept, most := m.of.Log.Kept(); kept > most && m.err == nil {
		m.err = fmt.Errorf("the log of %v keeps %d bytes, more than %d", m.of.Ref, kept, most)
	}
	if m.lag++; m.lag >= m.Every || c.Kind >= partition.Kept {
		m.lag = 0
		m.Check()
	}
	if c.Kind == partition.Kept && m.err == nil && !Same(m.of.State.Kept(), &m.kept) {
		m.err = fmt.Errorf("the mirror of %v has kept other bits at change %d", m.of.Ref, c.Number)
	}
}

// Read makes the changes that are new.
func (m *Mirror) Read() {
	for c := m.cursor.Next(); c != nil && m.err == nil; c = m.cursor.Next() {
		m.err = m.make(c)
	}
	if m.cursor.Lost() && m.err == nil {
		m.Lost++
		m.err = m.begin()
	}
}

// make makes one change.
func (m *Mirror) make(c *partition.Change) (err error) {
	switch c.Kind {
	case partition.Delta, partition.Sum:
		rows := c.Rows
		if c.Keys != nil {
			if rows, err = m.store.Reserve(c.Keys, nil); err != nil {
				return err
			}
		}
		m.store.Apply(rows, c.Deltas)
	case partition.LeaseEnd:
		m.store.Adopt(c.Values)
	case partition.Copied:
		return m.store.Put(c.First, c.Keys, c.Values)
	case partition.Loaded:
		return m.store.Load(c.Image)
	case partition.Kept:
		m.store.Save(&m.kept)
	}
	return nil
}

// Check reads what is new, compares the bits of the mirror with those of the partition, and returns the
// first difference that it has found so far. While the holder of a lease works on the slab
// itself, the partition has no state to compare.
func (m *Mirror) Check() error {
	if m.Read(); m.err != nil || m.of.Torn() || m.of.Gone() {
		return m.err
	}
	var want, got rowstore.Image
	m.of.State.Save(&want)
	m.store.Save(&got)
	if !Same(&want, &got) {
		m.err = fmt.Errorf("the mirror of %v has other bits after change %d: %v, not %v",
			m.of.Ref, m.of.Log.Last(), got, want)
	}
	return m.err
}

// Same reports whether two images have the same keys and bits, slots included.
func Same(a, b *rowstore.Image) bool {
	bits := func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	}
	return slices.Equal(a.Keys, b.Keys) && bits(a.Values, b.Values) && slices.EqualFunc(a.Slots, b.Slots, bits)
}
