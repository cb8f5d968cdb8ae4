package examples

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
)

// TestRenumber: numbers lead back to the features, rows ascend to the bias, all of them are used, and the scratch can be used again.
func TestRenumber(t *testing.T) {
	t.Parallel()
	const features = 5000
	random, n := rand.New(rand.NewPCG(1, 2)), NewRenumberer(features)
	for _, entries := range []int{0, 1, 7, 400} {
		index := make([]int32, entries)
		for i := range index {
			index[i] = int32(random.IntN(features))
		}
		was := slices.Clone(index)
		rows := n.Renumber(index)
		used := make([]bool, len(rows)-1)
		for i, k := range index {
			if rows[k] != bellows.RowID(was[i]) {
				t.Fatalf("entry %d is of feature %d, and was of %d", i, rows[k], was[i])
			}
			used[k] = true
		}
		if !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) || rows[len(rows)-1] != features {
			t.Errorf("rows %v", rows)
		}
		if slices.Contains(used, false) {
			t.Errorf("of %v some are not used", rows)
		}
		if slices.Max(n.words) != 0 || slices.Max(n.summary) != 0 {
			t.Error("the scratch is not empty")
		}
	}
}
