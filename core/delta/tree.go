package delta

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Leaf is the subtree of one split.
func Leaf(s bellows.SplitID) wire.Subtree { return wire.Subtree{Index: uint32(s)} }

// Sibling is the subtree that shares a parent with t, and Parent that parent.
func Sibling(t wire.Subtree) wire.Subtree { return wire.Subtree{Level: t.Level, Index: t.Index ^ 1} }

// Parent is the subtree that t and its sibling make up.
func Parent(t wire.Subtree) wire.Subtree {
	return wire.Subtree{Level: t.Level + 1, Index: t.Index >> 1}
}

// Left is the subtree of the lower half of a parent's splits.
func Left(t wire.Subtree) wire.Subtree { return wire.Subtree{Level: t.Level, Index: t.Index &^ 1} }

// Empty reports whether no split of a job with that many splits is in the subtree.
func Empty(t wire.Subtree, splits int) bool { return uint64(t.Index)<<t.Level >= uint64(splits) }

// Overlap is the error of Sum: two of its chunks contain the same split.
type Overlap struct{ Split bellows.SplitID }

func (o *Overlap) Error() string { return fmt.Sprintf("two sums contain split %d", o.Split) }

// Sum adds disjoint chunks of one partition along the tree and returns a buffer with the result:
// the same bits for the same splits, however they were grouped into subtrees on the way. The chunks'
// order does not matter. take gives an empty buffer of the partition, give takes one back. The list
// is sorted in place. leaf is shown each chunk as the buffer holds it that begins with it, and must leave it as it is. It
// fails where two chunks contain the same split: a client merged what are no siblings.
func Sum(chunks []wire.Chunk, take func() *Buffer, give, leaf func(*Buffer)) (*Buffer, *Overlap) {
	if !planted.On("sum-by-arrival") {
		slices.SortFunc(chunks, func(a, b wire.Chunk) int {
			return int(int64(a.Subtree.Index)<<a.Subtree.Level - int64(b.Subtree.Index)<<b.Subtree.Level)
		})
	} else {
		return sumByArrival(chunks, take, give, leaf), nil
	}
	for i := range chunks[1:] {
		a, b := chunks[i].Subtree, chunks[i+1].Subtree
		if first := uint64(b.Index) << b.Level; uint64(a.Index+1)<<a.Level > first {
			return nil, &Overlap{bellows.SplitID(first)}
		}
	}
	top := wire.Subtree{}
	last := chunks[len(chunks)-1].Subtree
	for uint64(top.Index+1)<<top.Level < uint64(last.Index+1)<<last.Level {
		top = wire.Subtree{Level: top.Level + 1}
	}
	return sum(top, chunks, take, give, leaf), nil
}

// sum adds the chunks, all within subtree t, disjoint and sorted by their first split.
func sum(t wire.Subtree, chunks []wire.Chunk, take func() *Buffer, give, leaf func(*Buffer)) *Buffer {
	if len(chunks) == 1 {
		b := take()
		b.MergeChunk(chunks[0].Rows, chunks[0].Values)
		leaf(b)
		return b
	}
	half := wire.Subtree{Level: t.Level - 1, Index: t.Index<<1 + 1}
	mid := uint64(half.Index) << half.Level
	n, _ := slices.BinarySearchFunc(chunks, mid, func(c wire.Chunk, at uint64) int {
		return int(int64(c.Subtree.Index)<<c.Subtree.Level - int64(at))
	})
	switch n {
	case 0:
		return sum(half, chunks, take, give, leaf)
	case len(chunks):
		return sum(wire.Subtree{Level: half.Level, Index: half.Index - 1}, chunks, take, give, leaf)
	}
	left := sum(wire.Subtree{Level: half.Level, Index: half.Index - 1}, chunks[:n], take, give, leaf)
	right := sum(half, chunks[n:], take, give, leaf)
	if !planted.On("sum-lost") {
		left.Merge(right)
	}
	give(right)
	return left
}

func sumByArrival(chunks []wire.Chunk, take func() *Buffer, give, leaf func(*Buffer)) *Buffer {
	b := take()
	for _, c := range chunks {
		one := take()
		one.MergeChunk(c.Rows, c.Values)
		leaf(one)
		b.Merge(one)
		give(one)
	}
	return b
}
