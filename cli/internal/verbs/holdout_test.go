package verbs

import (
	"slices"
	"testing"

	"bellows/data"
)

// TestStratifiedHoldsOutOfEachLabel counts labels among what is held out, and finds each row once.
func TestStratifiedHoldsOutOfEachLabel(t *testing.T) {
	t.Parallel()
	set := &data.ExampleSet{}
	for r := range 1000 {
		y := float32(0)
		if r%10 == 0 {
			y = 1
		}
		set.Label = append(set.Label, y)
	}
	set.Label = append(set.Label, 2) // too rare
	train, held := stratified(7, set, 10)
	count := map[float32]int{}
	for _, r := range held {
		count[set.Label[r]]++
	}
	if count[0] != 90 || count[1] != 10 || count[2] != 0 {
		t.Error(count)
	}
	all := append(slices.Clone(train), held...)
	slices.Sort(all)
	if len(all) != set.Rows() || len(slices.Compact(all)) != len(all) || !slices.IsSorted(train) || !slices.IsSorted(held) {
		t.Error("rows are lost, or there twice")
	}
	if _, again := stratified(8, set, 10); slices.Equal(held, again) {
		t.Error("the seed does not matter")
	}
	if train, held := lastRows(25, 10); len(train) != 23 || !slices.Equal(held, []int32{23, 24}) {
		t.Error(train, held)
	}
}
