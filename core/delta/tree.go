package delta

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Floating-point addition does not associate, so that a sum has the bits of its order. The order
// here is that of one binary tree over split ids, whatever the nodes: a client adds what it has of
// aligned subtrees (Sibling, Parent), and a lane adds what clients send along the rest of the tree
// (Sum). Under BSP a run so has the same bits on one node or many. Sums in order of arrival would
// have bits of the network (planted: sum-by-arrival), and of sums in the order of splits nodes
// could not send theirs.

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
func Empty(t wire.Subtree, splits int) bool { return first(t) >= uint64(splits) }

// first is the first split of a subtree, and end the one behind its last.
func first(t wire.Subtree) uint64 { return uint64(t.Index) << t.Level }

func end(t wire.Subtree) uint64 { return uint64(t.Index+1) << t.Level }

// Overlap is the error of Sum: two of its chunks contain the same split.
type Overlap struct{ Split bellows.SplitID }

func (o *Overlap) Error() string { return fmt.Sprintf("two sums contain split %d", o.Split) }

// Sum adds disjoint chunks of one partition along the tree and returns a buffer with the result:
// the same bits for the same splits, however they were grouped into subtrees on the way. The
// chunks' order does not matter (TestSumDoesNotDependOnGrouping). get gives an empty buffer of the
// partition, put takes one back. The list is sorted in place. leaf, if any, is shown each chunk
// in a buffer of its own, and must leave it as it is; without it half of the chunks are added from
// where they lie. It fails where two chunks contain the same split: a client merged what are no
// siblings (TestSumsThatOverlapAreRefused).
func Sum(chunks []wire.Chunk, get func() *Buffer, put, leaf func(*Buffer)) (*Buffer, *Overlap) {
	if planted.On("sum-by-arrival") {
		return sumByArrival(chunks, get, put, leaf), nil
	}
	slices.SortFunc(chunks, func(a, b wire.Chunk) int { return cmp.Compare(first(a.Subtree), first(b.Subtree)) })
	for i := range chunks[1:] {
		if next := first(chunks[i+1].Subtree); end(chunks[i].Subtree) > next {
			return nil, &Overlap{bellows.SplitID(next)}
		}
	}
	top := wire.Subtree{}
	for end(top) < end(chunks[len(chunks)-1].Subtree) {
		top = wire.Subtree{Level: top.Level + 1}
	}
	return sum(top, chunks, get, put, leaf), nil
}

// sum adds the chunks, all within subtree t, disjoint and sorted by their first split.
func sum(t wire.Subtree, chunks []wire.Chunk, get func() *Buffer, put, leaf func(*Buffer)) *Buffer {
	if len(chunks) == 1 {
		b := get()
		b.MergeChunk(chunks[0].Rows, chunks[0].Values)
		if leaf != nil {
			leaf(b)
		}
		return b
	}
	right := wire.Subtree{Level: t.Level - 1, Index: t.Index<<1 + 1}
	n, _ := slices.BinarySearchFunc(chunks, first(right), func(c wire.Chunk, at uint64) int { return cmp.Compare(first(c.Subtree), at) })
	switch n {
	case 0:
		return sum(right, chunks, get, put, leaf)
	case len(chunks):
		return sum(Sibling(right), chunks, get, put, leaf)
	}
	a := sum(Sibling(right), chunks[:n], get, put, leaf)
	if rest := chunks[n:]; len(rest) == 1 && leaf == nil && !planted.On("sum-lost") {
		a.MergeChunk(rest[0].Rows, rest[0].Values)
		return a
	}
	b := sum(right, chunks[n:], get, put, leaf)
	if !planted.On("sum-lost") {
		a.Merge(b)
	}
	put(b)
	return a
}

// sumByArrival is Sum of the planted bug.
func sumByArrival(chunks []wire.Chunk, get func() *Buffer, put, leaf func(*Buffer)) *Buffer {
	b := get()
	for _, c := range chunks {
		one := get()
		one.MergeChunk(c.Rows, c.Values)
		if leaf != nil {
			leaf(one)
		}
		b.Merge(one)
		put(one)
	}
	return b
}
