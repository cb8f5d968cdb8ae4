package delta

import (
	"math/bits"
	"slices"
	"sync"
)

// slab is the memory of a list of rows and of their deltas.
type slab struct {
	ids    []uint32
	values []float32
}

// rows returns how many rows of a width have room.
func (s *slab) rows(width int) int { return min(cap(s.ids), cap(s.values)/width) }

// Classes of slabs: classStep for each doubling of the number of rows, so that a list leaves at most a quarter of its
// slab empty.
const (
	classBits  = 2
	classStep  = 1 << classBits
	classCount = 32 * classStep
)

// classRoom returns the number of rows that the slabs of a class have at least.
func classRoom(class int) int {
	return (classStep + class%classStep) << (class / classStep)
}

// classBelow returns the largest class of slabs for at most so many rows, or -1.
func classBelow(rows int) int {
	doubled := bits.Len(uint(rows)) - 1 - classBits
	if doubled < 0 {
		return -1
	}
	return min(doubled*classStep+rows>>doubled-classStep, classCount-1)
}

// slabs keep the free memory of lists of one width, by size. All partitions of the tables of that width share them.
//
// A sum over many splits has many times the rows of one split. If each buffer kept its own memory, all of a job's
// buffers would come to have that of the largest sum, since any of them may become one. They are safe for concurrent
// use.
type slabs struct {
	width   int
	wipe    bool                  // in tests: put overwrites the slab, so that a later read of it is seen
	classes [classCount]sync.Pool // of *slab
}

// get returns an empty slab for so many rows.
func (f *slabs) get(rows int) *slab {
	class := max(0, classBelow(rows))
	if classRoom(class) < rows {
		class++
	}
	if s, ok := f.classes[class].Get().(*slab); ok {
		return s
	}
	n := classRoom(class)
	return &slab{make([]uint32, 0, n), make([]float32, 0, n*f.width)}
}

// put takes back a slab.
func (f *slabs) put(s *slab) {
	if class := classBelow(s.rows(f.width)); class >= 0 {
		s.ids, s.values = s.ids[:0], s.values[:0]
		if f.wipe {
			clear(s.ids[:cap(s.ids)])
			clear(s.values[:cap(s.values)])
		}
		f.classes[class].Put(s)
	}
}

// pooled reports whether the memory of the buffer's list comes from slabs and returns to them: lists of large
// partitions, if the buffer belongs to pools.
func (b *Buffer) pooled() bool { return b.slabs != nil && b.places.hash > 0 }

// reserve makes room for so many rows in all, and keeps the content.
func (b *Buffer) reserve(rows int) {
	if rows <= min(cap(b.ids), cap(b.values)/b.width) {
		return
	}
	if !b.pooled() {
		b.ids = slices.Grow(b.ids, rows-len(b.ids))
		b.values = slices.Grow(b.values, rows*b.width-len(b.values))
		return
	}
	old := b.move(rows)
	b.ids, b.values = append(b.ids, old.ids...), append(b.values, old.values...)
	b.slabs.put(old)
}

// move gives the buffer an empty slab for so many rows. It returns the slab with the content, which the caller puts
// back.
func (b *Buffer) move(rows int) *slab {
	old := b.memory
	if old == nil {
		old = &slab{}
	}
	old.ids, old.values = b.ids, b.values
	b.memory = b.slabs.get(rows)
	b.ids, b.values = b.memory.ids, b.memory.values
	return old
}

// releaseMemory puts back the slab of an empty buffer. A buffer without one keeps its memory: a whole sum has the same
// size in all buffers of its partition.
func (b *Buffer) releaseMemory() {
	if b.memory == nil {
		return
	}
	b.memory.ids, b.memory.values = b.ids, b.values
	b.slabs.put(b.memory)
	b.memory, b.ids, b.values = nil, nil, nil
}
