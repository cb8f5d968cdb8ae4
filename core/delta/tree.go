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
//
// If the clock of a split is divided into units, the sum of the split is that of its units, added one
// after the other in the order of their items: ((u0 + u1) + u2) + u3. So a client may add a unit to the
// sum of all units before it (Extends), and a lane adds the rest: units of one clock may come from several
// nodes, in any order. Rejected: a tree over units, since items can be divided in many ways and only
// the sum from the first unit on is the same for each.

// Leaf returns the subtree of one split.
func Leaf(s bellows.SplitID) wire.Subtree { return wire.Subtree{Index: uint32(s)} }

// UnitLeaf returns the place of a unit in the sum of its clock with the items all: below the leaf of its split if the
// clock is divided.
func UnitLeaf(u bellows.Unit, all bellows.Range) wire.Subtree {
	t := Leaf(u.Split)
	if u.Items != all {
		t.Items = u.Items
	}
	return t
}

// Extends returns the place of the sum of two parts of a clock with the items all, and reports whether they may be
// added: next follows part, and part begins with the clock.
func Extends(part, next wire.Subtree, all bellows.Range) (sum wire.Subtree, ok bool) {
	begins := part.Items.Begin == all.Begin || planted.On("units-folded-anyhow")
	if part.Index != next.Index || !part.Part() || !next.Part() || part.Items.End != next.Items.Begin || !begins {
		return next, false
	}
	return UnitLeaf(bellows.Unit{Split: bellows.SplitID(part.Index),
		Items: bellows.Range{Begin: part.Items.Begin, End: next.Items.End}}, all), true
}

// Sibling returns the subtree that shares a parent with t.
func Sibling(t wire.Subtree) wire.Subtree { return wire.Subtree{Level: t.Level, Index: t.Index ^ 1} }

// Parent returns the subtree that t and its sibling make up.
func Parent(t wire.Subtree) wire.Subtree {
	return wire.Subtree{Level: t.Level + 1, Index: t.Index >> 1}
}

// LowerChild returns the sibling with the lower half of a parent's splits: t or its sibling.
func LowerChild(t wire.Subtree) wire.Subtree {
	return wire.Subtree{Level: t.Level, Index: t.Index &^ 1}
}

// Empty reports whether no split of a job with that many splits is in the subtree.
func Empty(t wire.Subtree, splits int) bool { return first(t) >= uint64(splits) }

// first returns the first split of a subtree, and end the one after its last.
func first(t wire.Subtree) uint64 { return uint64(t.Index) << t.Level }

func end(t wire.Subtree) uint64 { return uint64(t.Index+1) << t.Level }

// overlap reports whether two chunks contain the same items. They are sorted by their first split and item.
func overlap(a, b wire.Subtree) bool {
	if a.Part() && b.Part() && a.Index == b.Index {
		return a.Items.End > b.Items.Begin && !planted.On("units-by-arrival")
	}
	return end(a) > first(b)
}

// inOrder compares chunks by their first split and, within the clock of one, by their first item.
func inOrder(a, b wire.Chunk) int {
	order := cmp.Compare(first(a.Subtree), first(b.Subtree))
	if planted.On("units-by-arrival") {
		return order
	}
	return cmp.Or(order, cmp.Compare(a.Subtree.Items.Begin, b.Subtree.Items.Begin))
}

// Overlap is the error of Sum: two of its chunks contain the same items of a split.
type Overlap struct{ Split bellows.SplitID }

func (o *Overlap) Error() string { return fmt.Sprintf("two sums contain split %d", o.Split) }

// Sum adds disjoint chunks of one partition along the tree and returns a buffer with the result:
// the same bits for the same splits, however they were grouped into subtrees on the way. The
// chunks' order does not matter (TestSumDoesNotDependOnGrouping). get gives an empty buffer of the
// partition, put takes one back. The list is sorted in place. leaf, if any, is shown each chunk
// in a buffer of its own, and must leave it as it is; without it half of the chunks are added from
// where they lie. It fails where two chunks contain the same items of a split: a client merged what are no
// siblings, or a unit counts twice (TestSumsThatOverlapAreRefused).
func Sum(chunks []wire.Chunk, get func() *Buffer, put, leaf func(*Buffer)) (*Buffer, *Overlap) {
	if planted.On("sum-by-arrival") {
		return sumByArrival(chunks, get, put, leaf), nil
	}
	slices.SortFunc(chunks, inOrder)
	for i := range chunks[1:] {
		if overlap(chunks[i].Subtree, chunks[i+1].Subtree) {
			return nil, &Overlap{bellows.SplitID(first(chunks[i+1].Subtree))}
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
	if t.Level == 0 {
		return sumUnits(chunks, get, put, leaf)
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

// sumUnits adds parts of one split's clock, which are sorted by their items, one after the other.
func sumUnits(chunks []wire.Chunk, get func() *Buffer, put, leaf func(*Buffer)) *Buffer {
	if planted.On("half-forgotten") {
		chunks = chunks[len(chunks)-1:]
	}
	a := sum(wire.Subtree{}, chunks[:1], get, put, leaf)
	for i := range chunks[1:] {
		if leaf == nil {
			a.MergeChunk(chunks[1+i].Rows, chunks[1+i].Values)
			continue
		}
		b := sum(wire.Subtree{}, chunks[1+i:2+i], get, put, leaf)
		a.Merge(b)
		put(b)
	}
	return a
}

// sumByArrival adds in the order of arrival: the planted bug.
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
