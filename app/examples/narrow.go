package examples

import (
	"math/bits"
	"strconv"

	"bellows"
	"bellows/data"
)

// FeaturesFile lists the features of a narrow model: line j is the index, from 0, that column j of the weights has in the data.
const FeaturesFile = "features.txt"

// Rows of more than wideLeast features are trained on the occurring ones if at most one in wideShare occurs: the
// weights of the others would all be 0. Below, the tables are small anyway, and the model is unchanged.
const (
	wideLeast = 1 << 20
	wideShare = 2
)

// Narrowing renumbers the features that occur in training data, in their order. nil renumbers nothing.
//
// It is a set of bits, with the number of bits before each word: 12 bits for 64 features, most of them absent.
// Rejected: a map, which takes longer than training on rows of millions of features.
type Narrowing struct {
	words  []uint64
	before []int32
	Count  int // of those that occur
}

// NarrowingOf returns that of so wide a set, or nil if all features are to be trained. Features that a model knows are
// trained whether they occur or not.
func NarrowingOf(set *data.ExampleSet, wide int, known []int32) *Narrowing {
	if !set.Sparse() || wide <= wideLeast {
		return nil
	}
	if n := NewNarrowing(set.Index, known); n.Count > 0 && n.Count <= wide/wideShare {
		return n
	}
	return nil
}

// NewNarrowing numbers the features that are listed.
func NewNarrowing(lists ...[]int32) *Narrowing {
	top := int32(-1)
	for _, index := range lists {
		for _, j := range index {
			top = max(top, j)
		}
	}
	n := &Narrowing{words: make([]uint64, top/64+1), before: make([]int32, top/64+1)}
	for _, index := range lists {
		for _, j := range index {
			n.words[j/64] |= 1 << (j % 64)
		}
	}
	for i, w := range n.words {
		n.before[i] = int32(n.Count)
		n.Count += bits.OnesCount64(w)
	}
	return n
}

// Number returns the new number of a feature, or Count when it does not occur.
func (n *Narrowing) Number(j int32) int32 {
	at := int(j / 64)
	if at >= len(n.words) || n.words[at]&(1<<(j%64)) == 0 {
		return int32(n.Count)
	}
	return n.before[at] + int32(bits.OnesCount64(n.words[at]&(1<<(j%64)-1)))
}

// List returns the old numbers, in the order of the new.
func (n *Narrowing) List() []int32 {
	list := make([]int32, 0, n.Count)
	for i, w := range n.words {
		for ; w != 0; w &= w - 1 {
			list = append(list, int32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return list
}

// Features returns List, written out.
func (n *Narrowing) Features() []string {
	names := make([]string, 0, n.Count)
	for _, j := range n.List() {
		names = append(names, strconv.Itoa(int(j)))
	}
	return names
}

// Apply returns a set with its features renumbered. Features that do not occur in training follow the others of their
// row, as features that the model does not know (Source).
func (n *Narrowing) Apply(set *data.ExampleSet) *data.ExampleSet {
	if n == nil || !set.Sparse() {
		return set
	}
	out := *set
	out.Features, out.Origins = n.Count+1, nil
	for _, o := range set.Origins {
		if o.Feature = n.Number(o.Feature); int(o.Feature) < n.Count {
			out.Origins = append(out.Origins, o)
		}
	}
	out.Index, out.Value = make([]int32, 0, len(set.Index)), make([]float32, 0, len(set.Value))
	for r := range set.Rows() {
		lo, hi := set.Offset[r], set.Offset[r+1]
		strange := 0
		for i, j := range set.Index[lo:hi] {
			k := n.Number(j)
			if int(k) == n.Count {
				strange++
				continue
			}
			out.Index, out.Value = append(out.Index, k), append(out.Value, set.Value[lo+int64(i)])
		}
		for range strange {
			out.Index, out.Value = append(out.Index, int32(n.Count)), append(out.Value, 0)
		}
	}
	return &out
}

// ParseFeatures returns the way back from Features: nil of a model that has them all.
func ParseFeatures(lines []string) (*Narrowing, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	index := make([]int32, len(lines))
	for i, s := range lines {
		j, err := strconv.ParseInt(s, 10, 32)
		if err != nil || j < 0 || i > 0 && int32(j) <= index[i-1] {
			return nil, bellows.Errorf(bellows.BadData, "open model", FeaturesFile, "line %d, %q, is not a number above its predecessor", i+1, s)
		}
		index[i] = int32(j)
	}
	return NewNarrowing(index), nil
}
