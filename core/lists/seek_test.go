package lists_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/core/lists"
)

// TestSeekFindsWhatBinarySearchFinds looks for everything from everywhere.
func TestSeekFindsWhatBinarySearchFinds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 70 {
		list := make([]int, n)
		for i := range list {
			list[i] = random.IntN(2*n + 1)
		}
		slices.Sort(list)
		list = slices.Compact(list)
		for from := range n + 3 {
			for x := -1; x <= 2*n+1; x++ {
				want, _ := slices.BinarySearch(list, x)
				if got := lists.Seek(list, from, x); got != want {
					t.Fatalf("%d in %v from %d: at %d, not %d", x, list, from, got, want)
				}
			}
		}
	}
}
