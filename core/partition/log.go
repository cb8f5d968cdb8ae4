package partition

import (
	"slices"

	"bellows"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Log is the ordered list of the changes of one partition. Each change has a number, without gaps,
// and everything that depends on what changes is a reader of the log. The writer appends, and knows
// no reader.
//
// A Reader sees each change when it is made. A Cursor reads changes later, when it suits its owner,
// as far as the log keeps them.
//
// Invariants:
//
//   - Every write to the rows is a change: a store that makes the same changes in their order has the
//     same bits (TestAMirrorHasTheSameBits, and the mirrors of the simulation).
//   - A log without cursors keeps nothing, and appending allocates nothing (TestAppendingAllocatesNothing).
//   - What is kept is bounded: the slowest cursors are cut off at the limit (TestASlowCursorIsCutOff).
type Log struct {
	store   *rowstore.Store
	last    uint64 // number of the last change
	readers []Reader
	change  Change     // the one being made: readers borrow it
	kept    *retention // nil: no cursors
	max     int        // bytes that are kept
}

// LogMax is how many bytes a log keeps by default for its slowest cursor: 64 MiB.
const LogMax = 64 << 20

// Kind says what a change is.
type Kind uint8

// The kinds of changes.
const (
	Delta       Kind = iota // Deltas of one flush are given to the rule, in Rows
	Sum                     // the sum of the deltas of a clock is given to the rule
	Clocks                  // recorded deltas of clocks up to Clock become part of the state: the changes that follow
	LeaseBegin              // an exclusive lease begins; if InPlace, its holder may write to any row until LeaseEnd
	LeaseEnd                // an exclusive lease has ended: any row may have another value
	Kept                    // the driver keeps an image of the state
	Cut                     // a cut gives the state away as it is now, at the record Commit
	Consistency             // the table's consistency has changed: it has a Barrier or not
	Copied                  // rows came with a copy of the partition, with the slots of their rule
	Left                    // the record Commit has given the partition to another lane: nothing follows
	Loaded                  // the whole state was replaced
)

// Change is one entry of the log.
type Change struct {
	Kind    Kind
	InPlace bool
	Barrier bool
	Number  uint64
	Commit  bellows.CommitNumber // the record that made it count; 0: it came with a copy of the partition, or by Load
	Clock   bellows.Clock

	// Rows that change, by number; nil: all. If rows have keys, their numbers mean nothing elsewhere:
	// Keys has the keys of the chunk, or, of a change that was kept, of all Rows.
	Rows   []uint32
	Keys   []bellows.Key
	Deltas []float32

	First int         // of Copied: the first row, where rows have no keys
	Chunk *wire.Chunk // of Delta: as it came. Its memory is the client's, so that no change that was kept has it

	// The lists that a change which was kept has besides, where a cursor wants them.
	Values   []float32       // after the change; of Copied with the slots, as store.Put takes them
	Previous []float32       // before the change
	Image    *rowstore.Image // of Loaded: the state
}

// Reader sees each change when it is made. It must not write to the partition.
//
// Before is for readers that need the values before the write, which the log does not have: a cut
// copies the rows that it has not given away yet, and a move sends a chunk while its memory is still
// the client's, without a copy of it in between. After is for readers that take the new values, or
// only note which rows have changed.
type Reader interface {
	Before(c *Change)
	After(c *Change)
}

// Attach adds a reader, which sees the changes from now on.
func (g *Log) Attach(r Reader) { g.readers = append(g.readers, r) }

// Detach removes a reader, if it is attached.
func (g *Log) Detach(r Reader) {
	if i := slices.Index(g.readers, r); i >= 0 {
		g.readers = slices.Concat(g.readers[:i], g.readers[i+1:]) // perhaps while they are being called
	}
}

// Last returns the number of the last change: the position of a reader that has seen everything.
func (g *Log) Last() uint64 { return g.last }

// Kept returns how many bytes the log keeps for its cursors, and how many it may keep.
func (g *Log) Kept() (bytes, most int) {
	if g.kept != nil {
		bytes = g.kept.bytes
	}
	return bytes, g.max
}

// begin announces a change that is about to be made, and end appends it when it is made. Changes do not
// nest. One that failed is never appended.
func (g *Log) begin(c Change) *Change {
	c.Number = g.last + 1
	g.change = c
	for _, r := range g.readers {
		r.Before(&g.change)
	}
	return &g.change
}

// end appends the change that begin has announced.
func (g *Log) end(c *Change) {
	g.last = c.Number
	for _, r := range g.readers {
		r.After(c)
	}
}

// note appends a change that writes nothing.
func (g *Log) note(c Change) { g.end(g.begin(c)) }

// Want is what a cursor wants of a change besides its kind, rows and numbers. The end of a lease and
// what came from elsewhere have no deltas: their values are kept where either is wanted.
type Want struct{ Deltas, Values, Previous bool }

// Cursor is a position in a log, of a reader that takes changes in its own time.
type Cursor struct {
	from *retention
	want Want
	at   uint64 // number of the last change that it has been given
	lost bool
}

// Follow returns a cursor at the end of the log. From now on the log keeps changes, until each
// cursor has read them. A reader that is called after a change finds it with its cursor, whichever of
// the two came first: the changes are kept before other readers are called.
func (g *Log) Follow(w Want) *Cursor {
	if g.kept == nil {
		g.kept = &retention{log: g, first: g.last + 1}
		g.readers = slices.Concat([]Reader{g.kept}, g.readers) // perhaps while they are being called
	}
	c := &Cursor{from: g.kept, want: w, at: g.last}
	g.kept.cursors = append(g.kept.cursors, c)
	g.kept.rewant()
	return c
}

// Next returns the next change, which is good until the next call; nil: nothing is new, or the
// cursor is lost.
func (c *Cursor) Next() *Change {
	if c.lost || c.at+1 == c.from.first+uint64(len(c.from.list)) {
		return nil
	}
	c.at++
	c.from.trim()
	return &c.from.list[c.at-c.from.first]
}

// Lost reports whether more has changed than the log may keep since the cursor has read. Its owner
// closes it, and starts over with a copy of the state and another cursor.
func (c *Cursor) Lost() bool { return c.lost }

// Close ends the cursor.
func (c *Cursor) Close() {
	if !c.lost {
		c.lost = true
		c.from.cursors = slices.DeleteFunc(c.from.cursors, func(o *Cursor) bool { return o == c })
		c.from.rewant()
		c.from.trim()
	}
}

// retention is the part of a log that is kept for cursors: a reader like any other.
type retention struct {
	log      *Log
	cursors  []*Cursor
	want     Want // of any cursor
	list     []Change
	first    uint64 // number of the first in list
	bytes    int
	previous []float32 // of the change that is being made
}

// rewant finds out what cursors want. Without any nothing is kept any more.
func (r *retention) rewant() {
	r.want = Want{}
	for _, c := range r.cursors {
		r.want.Deltas = r.want.Deltas || c.want.Deltas
		r.want.Values = r.want.Values || c.want.Values
		r.want.Previous = r.want.Previous || c.want.Previous
	}
	if len(r.cursors) == 0 {
		r.log.Detach(r)
		r.log.kept = nil
	}
}

// Before reads the values that a change is about to replace.
func (r *retention) Before(c *Change) {
	r.previous = r.previous[:0]
	writes := c.Kind == Delta || c.Kind == Sum || c.Kind == LeaseBegin && c.InPlace || c.Kind == LeaseEnd && !c.InPlace
	if r.want.Previous && writes {
		r.previous = r.values(c, r.previous)
	}
}

// After keeps the change.
func (r *retention) After(c *Change) {
	k := *c
	k.Chunk, k.Rows, k.Keys, k.Deltas, k.Previous = nil, nil, nil, nil, slices.Clone(r.previous)
	if keyed := r.log.store.Keyed(); keyed && c.Rows != nil {
		k.Keys = r.keys(c)
	} else if !keyed {
		k.Rows = slices.Clone(c.Rows)
	}
	state := r.want.Values || r.want.Deltas
	switch c.Kind {
	case Delta, Sum:
		if r.want.Deltas {
			k.Deltas = slices.Clone(c.Deltas)
		}
		if r.want.Values {
			k.Values = r.values(c, nil)
		}
	case LeaseEnd:
		if state {
			k.Values = r.values(c, nil)
		}
	case Copied:
		if k.Keys = slices.Clone(c.Keys); state {
			k.Values = slices.Clone(c.Values)
		}
	case Loaded:
		if state {
			k.Image = new(rowstore.Image)
			r.log.store.Save(k.Image)
		}
	}
	r.list = append(r.list, k)
	r.bytes += k.bytes()
	for r.bytes > r.log.max && len(r.cursors) > 0 {
		r.cutOff()
	}
}

// values appends the values of the rows of a change as they are now.
func (r *retention) values(c *Change, to []float32) []float32 {
	if r.log.store.Keyed() {
		return r.log.store.ReadKeys(r.keys(c), to)
	}
	return r.log.store.Read(c.Rows, to)
}

// keys returns the keys of the rows of a change.
func (r *retention) keys(c *Change) []bellows.Key {
	list := make([]bellows.Key, len(c.Rows))
	for i, n := range c.Rows {
		list[i] = r.log.store.Key(n)
	}
	return list
}

// changeBytes is about how much memory a change takes without its lists.
const changeBytes = 256

// bytes returns about how much memory a change takes that is kept.
func (c *Change) bytes() int {
	n := changeBytes + 8*len(c.Keys) + 4*(len(c.Rows)+len(c.Deltas)+len(c.Values)+len(c.Previous))
	if im := c.Image; im != nil {
		n += 8*len(im.Keys) + 4*len(im.Values)
		for _, s := range im.Slots {
			n += 4 * len(s)
		}
	}
	return n
}

// slowest returns the position of the cursor that has read least.
func (r *retention) slowest() uint64 {
	at := r.log.last
	for _, c := range r.cursors {
		at = min(at, c.at)
	}
	return at
}

// cutOff gives up the cursors that have read least.
func (r *retention) cutOff() {
	at := r.slowest()
	r.cursors = slices.DeleteFunc(r.cursors, func(c *Cursor) bool {
		c.lost = c.lost || c.at == at
		return c.at == at
	})
	r.rewant()
	r.trim()
}

// trim frees what every cursor has read, but for the changes that they were given last.
func (r *retention) trim() {
	n := 0
	for at := r.slowest(); n < len(r.list) && (r.list[n].Number < at || len(r.cursors) == 0); n++ {
		r.bytes -= r.list[n].bytes()
	}
	r.list = slices.Delete(r.list, 0, n)
	r.first += uint64(n)
}
