package partition

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// State is the rows of a partition, and the image of them that the driver has kept last. It is the
// writer: each of its methods that changes rows appends to the log, and nothing else changes them but
// the holder of an exclusive lease, between LeaseBegin and LeaseEnd.
type State struct {
	log    *Log
	store  *rowstore.Store
	sample audit.Sample // the clocks in which the store adds up bits
	image  rowstore.Image
	kept   bool // there is an image

	newest bellows.CommitNumber // the newest record that has written
	named  bool                 // it has written the rows as they are, and no record has written twice since
}

// Revision returns the record that wrote the rows as they are, by which clients name their copies of them. 0: the rows
// have no name, since they came from elsewhere, or since records have not written once each and in their order.
func (s *State) Revision() bellows.CommitNumber {
	if !s.named {
		return 0
	}
	return s.newest
}

// wrote notes that a record has written to rows; 0: something else has. Two states of the rows never have one name
// (TestRevisionsNameOneState).
func (s *State) wrote(number bellows.CommitNumber) {
	s.named = number > s.newest
	s.newest = max(s.newest, number)
}

// Keyed reports whether rows have keys.
func (s *State) Keyed() bool { return s.store.Keyed() }

// Read appends the values of rows (nil: all) of a dense table.
func (s *State) Read(rows []uint32, to []float32) []float32 { return s.store.Read(rows, to) }

// Lend returns the values of a dense table with a barrier, for tasks of this node, which read them in place until their
// clock is complete. Nothing changes them before: the deltas of the clock are applied when all its tasks have ended,
// and every other writer detaches the state first (docs/decisions/0123-lend-tables-to-tasks-of-the-same-process.md).
func (s *State) Lend() []float32 { return s.store.Lend() }

// ReadKeys appends the values of the rows of keys.
func (s *State) ReadKeys(keys []bellows.Key, to []float32) []float32 {
	return s.store.ReadKeys(keys, to)
}

// Reserve appends the numbers of the rows of keys, which get rows if they have none. It fails if the
// table may have no more.
func (s *State) Reserve(keys []bellows.Key, to []uint32) ([]uint32, error) {
	return s.store.Reserve(keys, to)
}

// ApplyUnlogged gives a chunk to the rule, and no reader of the log hears of it: a bug that tests plant.
func (s *State) ApplyUnlogged(c *wire.Chunk) { s.store.Apply(c.Rows, c.Values) }

// Save copies the state into an image.
func (s *State) Save(to *rowstore.Image) { s.store.Save(to) }

// View returns the state of a job that is over as an image, without a copy of a dense table.
func (s *State) View() rowstore.Image { return s.store.View() }

// Load replaces the state before the job starts, or brings the state of a partition that is awaited.
func (s *State) Load(im *rowstore.Image) error {
	s.store.Detach()
	s.wrote(0)
	c := s.log.begin(Change{Kind: Loaded})
	if err := s.store.Load(im); err != nil {
		return err // the change is not part of the log
	}
	s.log.end(c)
	return nil
}

// LoadKept replaces the image that the driver has kept.
func (s *State) LoadKept(im *rowstore.Image) {
	s.image, s.kept = *im, true
	if s.store.Keyed() && im.Keys == nil {
		s.image.Keys = []bellows.Key{} // it has no rows
	}
}

// Kept returns the image that the driver has kept last, or nil.
func (s *State) Kept() *rowstore.Image {
	if !s.kept {
		return nil
	}
	return &s.image
}

// keep keeps an image of the state.
func (s *State) keep() {
	c := s.log.begin(Change{Kind: Kept})
	s.store.Save(&s.image)
	s.kept = true
	if planted.On("kept-without-slots") {
		s.image.Slots = nil
	}
	s.log.end(c)
}

// write gives the deltas of a change to the rule. odd: the clock that was reached is odd, which only
// matters to bugs that tests plant.
func (s *State) write(change Change, odd bool) {
	s.wrote(change.Commit)
	c := s.log.begin(change)
	apply := s.store.Apply
	if s.sample.Contains(c.Clock) {
		apply = s.store.ApplySummed
	}
	if !odd || !planted.On("write-dropped") {
		apply(c.Rows, c.Deltas)
	}
	if !odd && planted.On("write-doubled") {
		apply(c.Rows, c.Deltas)
	}
	s.log.end(c)
}

// adopt takes the values of an exclusive lease that has ended. Those of a copy replace the rows, those
// of the slab are there.
func (s *State) adopt(values []float32, clock bellows.Clock, number bellows.CommitNumber, inPlace bool) {
	s.wrote(number)
	c := s.log.begin(Change{Kind: LeaseEnd, InPlace: inPlace, Clock: clock, Commit: number})
	if inPlace || !planted.On("copy-forgotten") {
		s.store.Adopt(values)
	}
	if planted.On("slab-changed") && inPlace && s.store.Rows() > 0 {
		s.store.Values()[0]++
	}
	s.log.end(c)
}

// put takes rows of a copy from another lane, by the function that checks and puts them.
func (s *State) put(m *wire.Piece, take func() error) error {
	s.store.Detach()
	s.wrote(0)
	c := s.log.begin(Change{Kind: Copied, First: int(m.First), Keys: m.Keys, Values: m.Values})
	if err := take(); err != nil {
		return err
	}
	s.log.end(c)
	return nil
}
