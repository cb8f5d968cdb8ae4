// Package delta adds up a split's updates for rows of one partition before they leave a node, and sums splits in a
// fixed order.
//
// A Buffer belongs to one split until its clock's work is done; then it changes hands to the flush.
// Sums follow the binary tree over split ids (Sum), so that the same splits give the same bits
// whichever nodes they ran on. A row that a split did not touch is absent, not zero: adding 0 to -0
// would change its bits, and a rule with a memory would take a step.
//
// A client's buffer for a sparse table holds rows by their keys (NewKeyed); a lane, which numbers
// them, sums by number like any rows. A buffer is used in one of the two ways.
package delta

import (
	"slices"

	"bellows"
	"bellows/core/keys"
	"bellows/table"
	"bellows/vec"
)

// Buffer is a sum of deltas for some rows of one partition. Rows are counted from the partition's
// first, or have keys. The zero Buffer is not ready: use NewBuffer or NewKeyed.
//
// It has one of three forms: a list of rows, in the order of first touch or ascending (merge.go); whole, every row in
// order, from the first time that all are added at once; or keyed. Each is compared with a map: TestBufferAgainstMap,
// TestLargeBuffersAgainstMap, TestKeyedBuffersAgainstMap. A first delta is taken as it is, and not added
// to zero (TestAFirstDeltaKeepsItsSign).
type Buffer struct {
	rows, width int
	counts      bool   // values are 32-bit counts
	whole       bool   // every row is present, in order; ids and places are unused
	places      places // of the rows in ids
	ascends     bool   // ids ascends, and places is unused
	ids         []uint32
	keys        *keys.Index // of a keyed buffer, in place of places and ids
	values      []float32
	slabs       *slabs // gives the memory of ids and values; nil: it is the buffer's own
	memory      *slab  // that memory; nil: it is the buffer's own
	joined      int    // rows of deltas that were added to rows present: where the audit's rows go in a sum
}

// NewBuffer makes an empty buffer for a partition of that many rows of a table. Single rows beyond,
// which a partition got since, may be added too. A partition of more than direct rows is large: its lists
// of rows are merged, or looked up by hash. 0 is DirectMax.
func NewBuffer(s *table.Schema, rows, direct int) *Buffer {
	return &Buffer{rows: rows, width: s.Width, counts: s.DType == table.Int32, places: newPlaces(rows, direct)}
}

// NewKeyed makes an empty buffer for a partition of a sparse table: rows are added with AddKey and
// found with FindKey. The seed is that of its keys.Index.
func NewKeyed(s *table.Schema, seed uint64) *Buffer {
	b := &Buffer{width: s.Width, counts: s.DType == table.Int32, keys: &keys.Index{}}
	b.keys.Seed(seed)
	return b
}

// Len returns the number of rows present.
func (b *Buffer) Len() int {
	switch {
	case b.whole:
		return b.rows
	case b.keys != nil:
		return b.keys.Len()
	}
	return len(b.ids)
}

// Joined returns how many rows of deltas have been added to rows that were present, here and in the buffers that were
// merged: with Len, all that came.
func (b *Buffer) Joined() int { return b.joined }

// Keys returns the keys of the rows present, in the order of their deltas in Chunk, if the buffer is keyed; else nil.
// The buffer still owns them.
func (b *Buffer) Keys() []bellows.Key {
	if b.keys == nil {
		return nil
	}
	return b.keys.Keys()
}

// Chunk returns the content: the rows present (nil: all, in order) and their deltas, row after row. The buffer still
// owns both. A keyed buffer has no list of rows but Keys.
func (b *Buffer) Chunk() (rows []uint32, values []float32) {
	if b.whole {
		return nil, b.values
	}
	return b.ids, b.values
}

// Reset makes the buffer empty and keeps its memory.
func (b *Buffer) Reset() {
	if b.keys != nil {
		b.keys.Reset()
	}
	b.unindex()
	b.ids, b.values, b.whole, b.joined = b.ids[:0], b.values[:0], false, 0
}

// Find returns the delta of a row, or nil if it is absent.
func (b *Buffer) Find(row int) []float32 {
	if b.whole {
		return b.values[row*b.width : (row+1)*b.width]
	}
	if len(b.ids) == 0 {
		return nil
	}
	var n int
	if b.ascends {
		at, there := slices.BinarySearch(b.ids, uint32(row))
		if n = at; !there {
			return nil
		}
	} else if n = b.places.find(b.ids, uint32(row)); n < 0 {
		return nil
	}
	return b.values[n*b.width : (n+1)*b.width]
}

// AddRow adds a delta to one row. The first delta of a row is taken as it is.
func (b *Buffer) AddRow(row int, d []float32) {
	if b.whole {
		b.join(1, d, b.values[row*b.width:(row+1)*b.width])
		return
	}
	b.addRow(uint32(row), d)
}

// AddRows adds a delta to each of a list of rows, counted from the row first.
func (b *Buffer) AddRows(rows []bellows.RowID, first bellows.RowID, d []float32) {
	addRows(b, rows, first, d)
}

// addRows adds a delta to each of a list of rows, counted from the row first, as AddRow does. Lists that ascend are
// merged, since looking up each row would take longer than copying it.
func addRows[R ~uint32](b *Buffer, rows []R, first R, d []float32) {
	w := b.width
	if b.whole {
		for i, r := range rows {
			b.AddRow(int(r-first), d[i*w:(i+1)*w])
		}
		return
	}
	if len(b.ids) == 0 {
		b.reserve(len(rows))
		b.ascends = b.places.hash > 0
	}
	if b.ascends && mergeMost*len(rows) >= len(b.ids) && ascend(rows) {
		mergeRows(b, rows, first, d)
		return
	}
	for i, r := range rows {
		b.addRow(uint32(r-first), d[i*w:(i+1)*w])
	}
}

// addRow adds a delta to one row of a list of rows.
func (b *Buffer) addRow(row uint32, d []float32) {
	last := len(b.ids) - 1
	switch {
	case last < 0:
		b.ascends = b.places.hash > 0
	case b.ascends && row <= b.ids[last]:
		b.index()
	}
	if !b.ascends {
		if n := b.places.find(b.ids, row); n >= 0 {
			b.join(1, d, b.values[n*b.width:(n+1)*b.width])
			return
		}
	}
	b.ids, b.values = append(b.ids, row), append(b.values, d...)
	if !b.ascends {
		b.places.add(b.ids)
	}
}

// AddKey adds a delta to the row of a key. The first delta of a row is taken as it is.
func (b *Buffer) AddKey(key bellows.Key, d []float32) {
	n, added := b.keys.Add(key)
	if added {
		b.values = append(b.values, d...)
		return
	}
	b.join(1, d, b.values[n*b.width:(n+1)*b.width])
}

// FindKey returns the delta of the row of a key, or nil if it is absent.
func (b *Buffer) FindKey(key bellows.Key) []float32 {
	n := b.keys.Find(key)
	if n < 0 {
		return nil
	}
	return b.values[n*b.width : (n+1)*b.width]
}

// AddRange adds deltas to consecutive rows from first.
func (b *Buffer) AddRange(first int, d []float32) {
	switch {
	case b.whole:
		b.join(len(d)/b.width, d, b.values[first*b.width:first*b.width+len(d)])
	case len(d) == b.rows*b.width:
		b.addWhole(d)
	default:
		for w := b.width; len(d) > 0; d = d[w:] {
			b.AddRow(first, d[:w])
			first++
		}
	}
}

// addWhole adds a delta for every row, after which every row is present. Addition commutes bit for
// bit, so that the order of the two operands is free.
func (b *Buffer) addWhole(d []float32) {
	if len(b.ids) == 0 {
		b.values, b.whole = append(b.values[:0], d...), true
		return
	}
	ids, old := b.ids, b.values
	b.values = append(make([]float32, 0, len(d)), d...)
	b.unindex()
	for i, r := range ids {
		b.join(1, old[i*b.width:(i+1)*b.width], b.values[int(r)*b.width:(int(r)+1)*b.width])
	}
	b.ids, b.whole = ids[:0], true
}

// Fill makes every row present and returns the memory of their deltas, row after row. The caller writes all of it
// before anything reads it, and so needs no copy. Fill returns nil if the buffer is not empty, or has keys.
func (b *Buffer) Fill() []float32 {
	if b.whole || len(b.ids) > 0 || b.keys != nil {
		return nil
	}
	n := b.rows * b.width
	b.values, b.whole = slices.Grow(b.values[:0], n)[:n], true
	return b.values
}

// Merge adds another buffer of the same partition, keyed like this one or not.
func (b *Buffer) Merge(o *Buffer) {
	b.joined += o.joined
	if b.keys == nil {
		b.MergeChunk(o.Chunk())
		return
	}
	for i, k := range o.keys.Keys() {
		b.AddKey(k, o.values[i*b.width:(i+1)*b.width])
	}
}

// MergeThree adds three more buffers of the same partition, which it may change: o to b, q to p, and their sum to b.
// The bits are those of two Merges of siblings and of that of their parents.
func (b *Buffer) MergeThree(o, p, q *Buffer) {
	if canMergeFour(b, o, p, q) {
		mergeFour(b, o, p, q)
		return
	}
	if !(b.whole && o.whole && p.whole && q.whole) || b.counts {
		b.Merge(o)
		p.Merge(q)
		b.Merge(p)
		return
	}
	vec.AddThree(o.values, p.values, q.values, b.values)
	b.joined += o.joined + p.joined + q.joined + 3*b.rows
}

// MergeChunk adds the content of another buffer of the same partition.
func (b *Buffer) MergeChunk(rows []uint32, values []float32) {
	if rows == nil {
		b.AddRange(0, values)
		return
	}
	addRows(b, rows, 0, values)
}

// Overlay adds to dst, which holds the rows [first, end) of the partition, what the buffer has of
// them.
func (b *Buffer) Overlay(first, end int, dst []float32) {
	if b.whole {
		b.add(b.values[first*b.width:end*b.width], dst)
		return
	}
	for r := first; r < end; r++ {
		if d := b.Find(r); d != nil {
			b.add(d, dst[(r-first)*b.width:(r-first+1)*b.width])
		}
	}
}

// OverlayKey adds to dst, the row of a key, what the buffer has of it.
func (b *Buffer) OverlayKey(key bellows.Key, dst []float32) {
	if d := b.FindKey(key); d != nil {
		b.add(d, dst)
	}
}

// join adds deltas of some rows to those that are there.
func (b *Buffer) join(rows int, d, to []float32) {
	b.add(d, to)
	b.joined += rows
}
