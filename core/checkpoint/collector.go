package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
)

// Collector is node 0's end: the state of all partitions, as far as it has come.
//
// It is idle until Begin, open while a lane owes something, and over when none does or Fail was
// called. Invariants:
//
//   - Nothing is taken from a lane that is not open, or does not own the partition
//     (TestUnrequestedSlabsAreBreaches).
//   - What has come of an array is never longer than the array (TestTheNextPieceFitsWhatHasCome).
//   - An image counts as there because a slab of it has come, not because it has values, since a
//     partition may have no rows (TestAnEmptyPartitionIsCollected).
//   - A lane has ended when all of each of its partitions is there, whatever it says
//     (TestAnEarlyEndIsABreach).
//   - All partitions are as the driver kept them, or none is (TestPartlyKeptStateIsABreach).
type Collector struct {
	self   bellows.NodeID
	tables []table.Schema
	route  *route.Route
	slots  [][]int // by table: the widths of its rule's slots
	live   states
	kept   states
	open   []wire.Address // lanes that have not sent all
	whole  bool
	over   bool
	err    error
}

// states is what has come of the state of all partitions.
type states struct {
	images []image     // by route.Number
	tables [][]float32 // by table: all rows of a dense one, which images are slices of; nil: no row has come
}

func newStates(tables, partitions int) states {
	return states{make([]image, partitions), make([][]float32, tables)}
}

// hasOwnArray reports whether a partition's rows are an array, and not a part of the array that Tables returns.
func (c *Collector) hasOwnArray(ref bellows.PartitionRef) bool {
	t := &c.tables[ref.Table]
	return t.Sparse || t.Scratch
}

// rows returns empty memory for the rows of a partition. The rows of all partitions of a dense table are one array, so
// that Tables does not copy them.
func (s *states) rows(c *Collector, ref bellows.PartitionRef, im *image) []float32 {
	t := &c.tables[ref.Table]
	if c.hasOwnArray(ref) {
		return make([]float32, 0, c.size(ref, im, 0))
	}
	if s.tables[ref.Table] == nil {
		s.tables[ref.Table] = make([]float32, t.Rows*t.Width)
	}
	first, end := c.route.Cut(ref.Table).Rows(ref.Partition)
	lo, hi := int(first)*t.Width, int(end)*t.Width
	return s.tables[ref.Table][lo:lo:hi]
}

// image is what has come of a partition's state.
type image struct {
	rowstore.Image
	came bool // a slab of it has
}

// New makes a collector of a node that has not begun.
func New(tables []table.Schema, r *route.Route, self bellows.NodeID) (*Collector, error) {
	c := &Collector{self: self, tables: tables, route: r}
	for i := range tables {
		made, err := rule.For(&tables[i])
		if err != nil {
			return nil, err
		}
		c.slots = append(c.slots, made.Slots())
	}
	return c, nil
}

// Follow goes by a newer route of the job, before Begin.
func (c *Collector) Follow(r *route.Route) { c.route = r }

// Begin waits for every lane that owns partitions to send them: their whole state with the slots of
// their rules, or what the job returns. A lane that owns none owes nothing
// (TestIdleLaneIsNotAsked). Ask is what to send.
func (c *Collector) Begin(whole bool) {
	n := c.route.Partitions()
	c.live, c.kept = newStates(len(c.tables), n), newStates(len(c.tables), n)
	c.whole = whole
	for ref := range c.route.Each() {
		if a := c.route.Owner(ref).Lane; !slices.Contains(c.open, a) {
			c.open = append(c.open, a)
		}
	}
	c.finishWhenAll()
}

// Window is how many slabs of a lane may be under way: enough that a link is busy while the answer
// to one travels.
const Window = 4

// Ask returns the question for a lane's first slabs.
func (c *Collector) Ask() *wire.Collect { return &wire.Collect{Whole: c.whole, Slabs: Window} }

// More returns the question for a lane's next slab, when one has been taken.
func (c *Collector) More() *wire.Collect { return &wire.Collect{Whole: c.whole, Slabs: 1} }

// Open returns the lanes that have not sent all.
func (c *Collector) Open() []wire.Address { return c.open }

// Owes reports whether a node has a lane that has not sent all.
func (c *Collector) Owes(n bellows.NodeID) bool {
	return slices.ContainsFunc(c.open, func(a wire.Address) bool { return a.Node == n })
}

// Finished reports whether the collector waits for nothing more.
func (c *Collector) Finished() bool { return c.over }

// Err returns why there is no state, nil if it is complete; when Finished.
func (c *Collector) Err() error { return c.err }

// Fail ends the collecting without the state. The first failure stands (TestTheFirstFailureStands).
func (c *Collector) Fail(err error) {
	if !c.over {
		c.over, c.err, c.open = true, err, nil
	}
}

// finishWhenAll ends the collecting when all has come.
func (c *Collector) finishWhenAll() {
	if len(c.open) > 0 {
		return
	}
	kept := 0
	for i := range c.kept.images {
		if c.kept.images[i].came {
			kept++
		}
	}
	if all := len(c.kept.images); kept > 0 && kept < all {
		c.Fail(fmt.Errorf("%d of %d partitions came as the driver kept them, which keeps all or none", kept, all))
	}
	c.over = true
}

// Take adds an array, or the next piece of one, to the state of its partition. An error is a protocol violation:
// nothing of the slab was taken. A whole array of a lane of this node is taken without a copy, but for rows of a dense
// table, which Tables returns as one array.
func (c *Collector) Take(from wire.Address, m *wire.Slab) error {
	if !slices.Contains(c.open, from) || c.route.Owner(m.Ref).Lane != from {
		return fmt.Errorf("%v sent values of %v, for which it was not asked", from, m.Ref)
	}
	to := &c.live
	if m.Kept {
		to = &c.kept
	}
	im := &to.images[c.route.Number(m.Ref)]
	if m.Keys != nil {
		return c.takeKeys(from, m, im)
	}
	all, slot := c.size(m.Ref, im, int(m.Slot)), int(m.Slot)
	have := len(m.Values)
	if slot == 0 {
		have += len(im.Values)
	} else if slot <= len(im.Slots) {
		have += len(im.Slots[slot-1])
	}
	if have > all {
		return fmt.Errorf("%v sent %d values of %v, slot %d, which has %d", from, have, m.Ref, m.Slot, all)
	}
	for len(im.Slots) < slot {
		im.Slots = append(im.Slots, nil)
	}
	array := &im.Values
	if slot > 0 {
		array = &im.Slots[slot-1]
	}
	im.came = true
	switch own := from.Node == c.self; {
	case *array != nil:
	case own && len(m.Values) == all && (slot > 0 || c.hasOwnArray(m.Ref)):
		*array = m.Values // in the memory of the lane, which has closed
		return nil
	case slot == 0:
		*array = to.rows(c, m.Ref, im)
	default:
		*array = make([]float32, 0, all)
	}
	*array = append(*array, m.Values...)
	return nil
}

// takeKeys adds keys to the state of a partition: of a sparse table, ascending, before their rows.
func (c *Collector) takeKeys(from wire.Address, m *wire.Slab, im *image) error {
	cut, n := c.route.Cut(m.Ref.Table), len(im.Keys)
	switch {
	case !c.tables[m.Ref.Table].Sparse || len(im.Values) > 0:
		return fmt.Errorf("%v sent keys of %v, which has none, or after its rows", from, m.Ref)
	case n+len(m.Keys) > cut.Most():
		return fmt.Errorf("%v sent %d keys of %v, which has at most %d", from, n+len(m.Keys), m.Ref, cut.Most())
	}
	for i, k := range m.Keys {
		if n+i > 0 && k <= before(im.Keys, m.Keys, n+i) || cut.FindKey(k) != m.Ref.Partition {
			return fmt.Errorf("%v sent the key %d of %v, which is not behind the one before or not of that partition", from, k, m.Ref)
		}
	}
	im.came = true
	im.Keys = append(slices.Grow(im.Keys, 1), m.Keys...) // not nil, though there be none
	return nil
}

// before returns the key before the ith of two lists, one after the other.
func before(list, more []bellows.Key, i int) bellows.Key {
	if i--; i < len(list) {
		return list[i]
	}
	return more[i-len(list)]
}

// size returns how many values a partition has: in its rows, or in a slot from 1 of its table's rule. The rows of a
// sparse table are those with keys that have come.
func (c *Collector) size(ref bellows.PartitionRef, im *image, slot int) int {
	first, end := c.route.Cut(ref.Table).Rows(ref.Partition)
	width := c.tables[ref.Table].Width
	if slot > 0 {
		width = c.slots[ref.Table][slot-1]
	}
	return (int(end-first) + len(im.Keys)) * width
}

// End takes a lane's report that it has sent all, and checks whether it has. An error is a protocol violation.
func (c *Collector) End(from wire.Address, m *wire.Collected) error {
	i := slices.Index(c.open, from)
	if i < 0 {
		return fmt.Errorf("%v sent the end of its values, for which it was not asked", from)
	}
	if m.Reason != "" {
		c.Fail(errors.New(m.Reason))
		return nil
	}
	kept, own := 0, 0
	for ref := range c.route.Each() {
		if c.route.Owner(ref).Lane != from {
			continue
		}
		if !c.complete(ref) {
			return fmt.Errorf("%v ended before it had sent all of %v", from, ref)
		}
		if own++; c.kept.images[c.route.Number(ref)].came {
			kept++
		}
	}
	if kept > 0 && kept < own {
		return fmt.Errorf("%v sent %d of its %d partitions as the driver kept them, which keeps all or none", from, kept, own)
	}
	c.open = slices.Delete(c.open, i, i+1)
	c.finishWhenAll()
	return nil
}

// complete reports whether all of a partition has come that the job returns or resumes from.
func (c *Collector) complete(ref bellows.PartitionRef) bool {
	n := c.route.Number(ref)
	kept, live := &c.kept.images[n], &c.live.images[n]
	return (!kept.came || c.fits(ref, kept)) && (kept.came && !c.whole || c.fits(ref, live))
}

// fits reports whether an image has all values of a partition, and of its slots where it is the whole state.
func (c *Collector) fits(ref bellows.PartitionRef, im *image) bool {
	if !im.came || c.tables[ref.Table].Sparse && im.Keys == nil || len(im.Values) != c.size(ref, im, 0) {
		return false
	}
	if c.whole && len(im.Slots) != len(c.slots[ref.Table]) {
		return false
	}
	for i := range im.Slots {
		if len(im.Slots[i]) != c.size(ref, im, i+1) {
			return false
		}
	}
	return true
}

// Tables returns the rows of all tables but scratch, as kept or as they ended, and of sparse ones their keys, ascending.
// Call it once, after Images. The rows of a dense table are the array in which they came. Those of a sparse table are copied,
// and each partition is released as soon as it is, so that a large model is not in memory twice.
func (c *Collector) Tables() (tables [][]float32, list [][]bellows.Key) {
	tables, list = make([][]float32, len(c.tables)), make([][]bellows.Key, len(c.tables))
	for t := range c.tables {
		if tables[t] = c.kept.tables[t]; tables[t] == nil {
			tables[t] = c.live.tables[t]
		}
	}
	sizes := make([]int, len(c.tables))
	for ref := range c.route.Each() {
		sizes[ref.Table] += len(c.returned(ref).Values)
	}
	for ref := range c.route.Each() {
		t, im := ref.Table, c.returned(ref)
		if !c.tables[t].Sparse || c.tables[t].Scratch {
			continue
		}
		if tables[t] == nil && sizes[t] > 0 { // at once: a table may be most of the memory
			tables[t] = make([]float32, 0, sizes[t])
		}
		tables[t] = append(tables[t], im.Values...)
		list[t] = append(list[t], im.Keys...)
		*im = image{came: im.came}
	}
	c.live, c.kept = states{}, states{}
	for t := range tables {
		if s := &c.tables[t]; s.Sparse {
			list[t], tables[t] = byKey(list[t], tables[t], s.Width)
		}
	}
	return tables, list
}

// returned returns the part of a partition that the job returns: its rows as kept, or as they ended.
func (c *Collector) returned(ref bellows.PartitionRef) *image {
	n := c.route.Number(ref)
	if c.kept.images[n].came {
		return &c.kept.images[n]
	}
	return &c.live.images[n]
}

// byKey sorts rows by their keys, which differ.
func byKey(list []bellows.Key, values []float32, width int) ([]bellows.Key, []float32) {
	order := make([]uint32, len(list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(list[a], list[b]) })
	sorted, rows := make([]bellows.Key, 0, len(list)), make([]float32, 0, len(values))
	for _, i := range order {
		sorted, rows = append(sorted, list[i]), append(rows, values[int(i)*width:(int(i)+1)*width]...)
	}
	return sorted, rows
}

// Images returns the state of all partitions, by table and partition, and as the driver last kept them: nil if it never
// did. A driver keeps all of them or none, which End checks of the lanes, so that each is at its partition's place
// (TestAnEmptyPartitionIsCollected, TestPartlyKeptStateIsABreach).
func (c *Collector) Images() (live, kept [][]rowstore.Image) {
	live = make([][]rowstore.Image, len(c.tables))
	for ref := range c.route.Each() {
		n := c.route.Number(ref)
		live[ref.Table] = append(live[ref.Table], c.live.images[n].Image)
		if !c.kept.images[n].came {
			continue
		}
		if kept == nil {
			kept = make([][]rowstore.Image, len(c.tables))
		}
		kept[ref.Table] = append(kept[ref.Table], c.kept.images[n].Image)
	}
	return live, kept
}
