// Package rowstore holds the rows of one partition in memory: it reads rows, applies deltas, grows by keys, notes
// changed keys, and copies images. The rows are one contiguous slab of values, and one per slot of the table's rule, as
// wide as the rule says; or, where rows have keys, such slabs of equal size and an index from keys to rows.
//
// The owner makes a Partition, and reads and applies chunks in the order that the gate decides. It may keep an image
// of the partition for checkpoints. In a sparse table it reserves the rows of a chunk's keys first, which is where
// memory is taken and refused, and applies by the numbers that it gets: a recorded update is irrevocable, and must
// not fail when it is applied (docs/decisions/0010).
//
// The package does no locking and takes no decision: the lane decides which task may read or write, and when. It
// keeps no versions. A row is as the last Apply left it, and a lane that must show an older state does not apply yet.
package rowstore

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
)

// A Store is the state of one partition.
//
// Invariants:
//   - What was applied before one image is in the next, slots too, and a partition that loads an
//     image continues as if it had never been elsewhere (TestImageBringsBackValuesAndSlots,
//     TestSparseImageRestoresRowsAndSlots; planted: slots-not-saved).
//   - Written counts where rows are written, and not where a caller intends to write them
//     (TestAStoreCountsWhatItWrites; docs/decisions/0027).
//   - A dense and a sparse partition that are sent the same updates have the same rows
//     (TestSparseAgainstDense).
//   - Reading and applying allocate nothing (TestHotPathsAllocateNothing,
//     TestSparseHotPathsAllocateNothing).
//
// The slab of a dense partition is handed out itself (Values): a lease within a node is that memory.
type Store struct {
	id     bellows.PartitionID
	first  bellows.RowID
	rows   int
	width  int
	rule   rule.Rule
	values []float32   // rows x width
	slots  [][]float32 // per slot of the rule: rows x its width
	widths []int       // of the slots
	row    [][]float32 // scratch: one row of each slot
	sparse *sparse     // where rows have keys, in place of first, rows, values and slots
	lent   bool        // readers may look at values (Lend)

	written Written
}

// Written is what a store has counted for the audit, at the places where it changed its rows.
type Written struct {
	Rows int64     // that Apply gave to the rule, or Adopt took
	Bits audit.Sum // of the deltas that ApplySummed gave to the rule
}

// New makes a partition of a table with the rows that its cut gives it, filled by the initialiser:
// none where rows have keys.
func New(s *table.Schema, cut table.Cut, p bellows.PartitionID) (*Store, error) {
	t, err := Blank(s, cut, p)
	if err != nil || t.sparse != nil {
		return t, err
	}
	for i := range t.rows {
		s.Init.Fill(t.first+bellows.RowID(i), t.values[i*s.Width:(i+1)*s.Width-s.Padding])
	}
	return t, nil
}

// Blank returns a partition, as New does, with rows that come from elsewhere (Put) and must not be read before. So it
// takes no time, however large the partition is.
func Blank(s *table.Schema, cut table.Cut, p bellows.PartitionID) (*Store, error) {
	r, err := rule.For(s)
	if err != nil {
		return nil, err
	}
	first, end := cut.Rows(p)
	n := int(end - first)
	t := &Store{id: p, first: first, rows: n, width: s.Width, rule: r, values: make([]float32, n*s.Width)}
	t.widths = r.Slots()
	t.row = make([][]float32, len(t.widths))
	if s.Sparse {
		t.sparse = newSparse(s, cut, p, 0)
		return t, nil
	}
	for _, width := range t.widths {
		t.slots = append(t.slots, make([]float32, n*width))
	}
	return t, nil
}

// Rows returns the number of rows; if they have keys, of those that an applied update has touched.
func (t *Store) Rows() int {
	if t.sparse != nil {
		return len(t.sparse.order) + len(t.sparse.fresh)
	}
	return t.rows
}

// Values returns the slab itself of a dense table's partition, rows x width. Writing to it is an update in place.
func (t *Store) Values() []float32 { return t.values }

// Lend returns the slab of a dense table's partition for readers that look at it without the owner's lock. The owner
// calls Detach before it writes to the slab while one of them may still look.
func (t *Store) Lend() []float32 {
	t.lent = true
	return t.values
}

// Detach makes the slab the owner's alone: if it was lent since the last Detach, a copy takes its place, and readers
// keep what they were lent (planted: lent-slab-written).
func (t *Store) Detach() {
	if t.lent && !planted.On("lent-slab-written") {
		t.values = slices.Clone(t.values)
	}
	t.lent = false
}

// Read appends the named rows (nil: all) of a dense table, row after row.
func (t *Store) Read(rows []uint32, to []float32) []float32 {
	if rows == nil {
		return append(to, t.values...)
	}
	w := t.width
	for _, r := range rows {
		to = append(to, t.values[int(r)*w:(int(r)+1)*w]...)
	}
	return to
}

// Apply runs the table's rule on the named rows (nil: all, of a dense table) with a delta row for
// each. Rows that have keys are named as Reserve numbers them.
func (t *Store) Apply(rows []uint32, deltas []float32) {
	switch {
	case t.sparse != nil:
		t.apply(rows, deltas)
	case rows == nil:
		t.rule.Apply(t.values, t.slots, deltas)
	default:
		t.applyRows(rows, deltas)
	}
	t.written.Rows += int64(len(deltas) / t.width)
}

// ApplySummed works like Apply, and adds up the bits of what it applied: for the clocks that the audit samples.
func (t *Store) ApplySummed(rows []uint32, deltas []float32) {
	t.Apply(rows, deltas)
	t.written.Bits += t.Bits(rows, deltas)
}

// applyRows runs the rule row by row: those that are named lie apart.
func (t *Store) applyRows(rows []uint32, deltas []float32) {
	w := t.width
	for i, r := range rows {
		at := int(r) * w
		for s, width := range t.widths {
			t.row[s] = t.slots[s][int(r)*width : (int(r)+1)*width]
		}
		t.rule.Apply(t.values[at:at+w], t.row, deltas[i*w:(i+1)*w])
	}
}

// Adopt makes values those of all rows of a dense table: the end of an exclusive lease. They are
// the slab itself, written in place, or have come back from another node.
func (t *Store) Adopt(values []float32) {
	if len(values) > 0 && &values[0] != &t.values[0] {
		copy(t.values, values)
	}
	t.written.Rows += int64(t.rows)
}

// Bits returns the audit's sum over rows, named as Apply has them. Rows that have keys count by these.
func (t *Store) Bits(rows []uint32, values []float32) audit.Sum {
	if t.sparse == nil {
		return audit.Rows(t.id, t.width, rows, values)
	}
	var sum audit.Sum
	for i, r := range rows {
		sum += audit.Key(t.id, t.Key(r), values[i*t.width:(i+1)*t.width])
	}
	return sum
}

// Written returns what the store has counted since it was made.
func (t *Store) Written() Written { return t.written }

// Image is a copy of a partition's state: a shard of a checkpoint. Rows are by number or, where
// they have keys, ascend by these, so that images of the same state are the same, whatever the
// order of its updates was (TestImagesIgnoreOrderOfFirstTouch).
type Image struct {
	Keys   []bellows.Key // of a sparse table: those of the rows, ascending; else nil
	Values []float32     // row after row
	Slots  [][]float32
	// Gathered are the deltas that count and wait for the rest of their clock. They are no part of the rows yet.
	Gathered []Gathered
}

// Gathered is a sum of deltas of a clock that is not complete: those of some splits, or of some units of a split.
type Gathered struct {
	Clock  bellows.Clock
	Of     wire.Subtree
	Rows   []uint32      // of a dense table
	Keys   []bellows.Key // of a sparse table
	Values []float32
}

// Save copies the state into an image, reusing its memory where it fits. Nothing may be applied
// meanwhile.
func (t *Store) Save(to *Image) {
	if t.sparse != nil {
		t.save(to)
		return
	}
	to.Values = append(to.Values[:0], t.values...)
	if to.Slots == nil {
		to.Slots = make([][]float32, len(t.slots))
	}
	for i := range t.slots {
		to.Slots[i] = append(to.Slots[i][:0], t.slots[i]...)
		if planted.On("slots-not-saved") {
			clear(to.Slots[i])
		}
	}
}

// View returns the state as an image, in the memory of a dense partition. Nothing may be applied any more.
func (t *Store) View() (im Image) {
	if t.sparse != nil || planted.On("slots-not-saved") {
		t.Save(&im)
		return im
	}
	return Image{Values: t.values, Slots: t.slots}
}

// Load replaces the state by an image of the same shape. An error has kind BadData, or Refused for
// more rows than the table may have.
func (t *Store) Load(from *Image) error {
	if t.sparse != nil {
		return t.load(from)
	}
	if len(from.Values) != len(t.values) || len(from.Slots) != len(t.slots) {
		return bellows.Errorf(bellows.BadData, "restore partition", "", "image holds %d values and %d slots; the partition has %d and %d",
			len(from.Values), len(from.Slots), len(t.values), len(t.slots))
	}
	for i, s := range from.Slots {
		if len(s) != len(t.slots[i]) {
			return bellows.Errorf(bellows.BadData, "restore partition", "", "slot %d holds %d values, not %d", i, len(s), len(t.slots[i]))
		}
	}
	copy(t.values, from.Values)
	for i, s := range from.Slots {
		copy(t.slots[i], s)
	}
	return nil
}
