package lists_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/core/lists"
)

// TestListsAgainstMaps merges ascending lists, counts what one lacks, and writes rows over others, and holds it against maps.
func TestListsAgainstMaps(t *testing.T) {
	t.Parallel()
	const width = 2
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		draw := func(salt float32) (list []int, values []float32, byID map[int]float32) {
			byID = map[int]float32{}
			for range random.IntN(1 << random.IntN(8)) {
				list = append(list, random.IntN(1+random.IntN(200)))
			}
			slices.Sort(list)
			list = slices.Compact(list)
			for _, x := range list {
				byID[x] = float32(x) + salt
				values = append(values, byID[x], byID[x])
			}
			return list, values, byID
		}
		a, values, was := draw(0)
		b, fresh, is := draw(0.5)
		lacks, union := 0, slices.Clone(a)
		for _, x := range b {
			if _, there := was[x]; !there {
				lacks++
				union = append(union, x)
			}
		}
		slices.Sort(union)
		if got := lists.Lacking(a, b); got != lacks {
			t.Fatalf("seed %d: %v lacks %d of %v, not %d", seed, a, got, b, lacks)
		}
		if got := lists.Merged(a, b, []int{-1}); !slices.Equal(got[1:], union) || got[0] != -1 {
			t.Fatalf("seed %d: %v and %v are merged to %v", seed, a, b, got)
		}
		lists.Replace(a, b, values, fresh, width)
		for i, x := range a {
			want, newer := is[x]
			if !newer {
				want = was[x]
			}
			if got := values[i*width : (i+1)*width]; got[0] != want || got[1] != want {
				t.Fatalf("seed %d: row %d of %v is %v after %v were written, not %v", seed, x, a, got, b, want)
			}
		}
	}
}

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
