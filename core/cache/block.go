package cache

import (
	"slices"

	"bellows"
	"bellows/core/lists"
	"bellows/link/wire"
	"bellows/vec"
)

// block is rows of one partition, each at least as new as the block's version, and none with an update that the
// version lacks and a split of this node may still lay over it (changedBetween).
//
// A task that has pinned it looks at it without a lock, so it does not change while readers is more than 1, the
// cache's own (TestRereadKeysAreSubscribed, the oracle of the simulation). Newer rows are then written
// to a copy, which replaces it in the cache (renew, then lift). A block gives its memory back after the last task
// that looks at it has finished. If its values are memory of a message, the message is kept while any block uses it
// (Answer).
type block struct {
	commit   bellows.CommitNumber // its version: every commit up to this
	complete bellows.Clock        // and every clock up to this, of all splits
	rows     []uint32             // ascending; nil: all
	values   []float32            // row after row
	readers  int                  // pins of tasks, and 1 for the cache, or for the step that makes it
	source   *Answer              // the owner of the memory of values; nil: this block
	keys     []bellows.Key        // of a sparse table, in place of rows
	own      []float32            // memory for values that are joined or copied
}

// Answer is a Rows message whose memory blocks use. It is freed after the last of them.
type Answer struct {
	rows *wire.Rows
	uses int // blocks, and the step that takes the message
}

// memory keeps blocks and answers for their next use: a block after its last reader, and an answer after its last
// block.
type memory struct {
	blocks  lists.Spare[block]
	answers lists.Spare[Answer]
}

// Open begins to take a message of rows.
func (m *memory) Open(rows *wire.Rows) *Answer {
	a := m.answers.Get()
	*a = Answer{rows: rows, uses: 1}
	return a
}

// Close ends a message of rows. The memory that no block uses is freed.
func (m *memory) Close(a *Answer) {
	if a.uses--; a.uses == 0 {
		wire.Free(a.rows)
		m.answers.Put(a)
	}
}

// unpin removes a reader of a block. The last one gives its memory back.
func (m *memory) unpin(b *block) {
	if b.readers--; b.readers > 0 {
		return
	}
	if b.source != nil {
		m.Close(b.source)
	}
	*b = block{keys: b.keys[:0], own: b.own[:0]}
	m.blocks.Put(b)
}

// view returns the rows [first, end) in place.
func (b *block) view(first, end, width int) []float32 {
	at := first
	if b.rows != nil {
		at, _ = slices.BinarySearch(b.rows, uint32(first))
	}
	return b.values[at*width : (at+end-first)*width : (at+end-first)*width]
}

// gather copies the named rows, counted from the row first, to dst, one after the other.
func (b *block) gather(rows []bellows.RowID, first bellows.RowID, width int, dst []float32) {
	near := 0
	for i, r := range rows {
		at := int(r - first)
		if b.rows != nil {
			at = lists.Seek(b.rows, near, uint32(at))
			near = at
		}
		vec.CopyRow(dst[i*width:(i+1)*width], b.values[at*width:])
	}
}

// rowSet names rows of one partition in one of three ways: an ascending list, consecutive ones, or ascending keys.
type rowSet struct {
	list       []uint32
	keys       []bellows.Key
	first, end int
}

func (w rowSet) len() int {
	if w.list != nil {
		return len(w.list)
	}
	return w.end - w.first
}

// coveredBy reports whether a set of rows (ascending; nil: all) or of keys contains these.
func (w rowSet) coveredBy(rows []uint32, keys []bellows.Key) bool {
	if w.keys != nil {
		return lists.Contains(keys, w.keys)
	}
	if rows == nil {
		return true
	}
	if w.list == nil {
		i, ok := slices.BinarySearch(rows, uint32(w.first))
		last := i + w.end - w.first - 1
		return ok && last < len(rows) && rows[last] == uint32(w.end-1)
	}
	return lists.Contains(rows, w.list)
}

// join adds the rows of an older block that b lacks, and takes its version: rows that are newer than their block says
// do no harm.
func (b *block) join(old *block, width int) {
	n := len(old.rows) + len(b.rows)
	ids, values := make([]uint32, 0, n), make([]float32, 0, n*width)
	b.rows, b.values = lists.Joined(old.rows, b.rows, old.values, b.values, width, ids, values)
	b.commit, b.complete = old.commit, old.complete
}

// joinKeys works like join, for the rows of a list of keys, into the block's own memory.
func (b *block) joinKeys(old *block, list []bellows.Key, width int) {
	n := len(old.keys) + len(list)
	keys, own := slices.Grow(b.keys, n), slices.Grow(b.own, n*width)
	b.keys, b.own = lists.Joined(old.keys, list, old.values, b.values, width, keys, own)
	b.commit, b.complete, b.values = old.commit, old.complete, b.own
}

// renew replaces a partition's block, which tasks look at, by a copy.
func (m *memory) renew(p *partition) {
	old, b := p.block, m.blocks.Get()
	b.commit, b.complete, b.readers = old.commit, old.complete, 1
	b.keys, b.own = append(b.keys, old.keys...), append(b.own, old.values...) // which may be memory of a message's
	b.rows, b.values = slices.Clone(old.rows), b.own
	m.unpin(old)
	p.block = b
}

// lift writes newer rows over a block that no task looks at, and takes their version. Rows that it does not hold are
// left out.
func (b *block) lift(r *wire.RowsPart, width int) {
	b.commit, b.complete = r.Commit, r.Complete
	switch {
	case r.Keys != nil:
		lists.Replace(b.keys, r.Keys, b.values, r.Values, width)
	case b.rows != nil:
		lists.Replace(b.rows, r.Rows, b.values, r.Values, width)
	default:
		for i, row := range r.Rows {
			copy(b.values[int(row)*width:(int(row)+1)*width], r.Values[i*width:])
		}
	}
}
