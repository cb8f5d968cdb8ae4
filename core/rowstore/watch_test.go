package rowstore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
)

// TestAWatchAgainstAMap drives a watch at random and holds what it takes against a map of the keys that it has.
func TestAWatchAgainstAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		var w Watch
		changed := map[bellows.Key]bool{} // of those
		for range 60 {
			var list []bellows.Key
			for range random.IntN(1 << random.IntN(9)) {
				list = append(list, bellows.Key(random.IntN(300))<<random.IntN(50))
			}
			slices.Sort(list)
			switch random.IntN(4) {
			case 0:
				for _, k := range list {
					if _, there := changed[k]; !there {
						changed[k] = false
					}
				}
				if n := w.Lacks(slices.Compact(slices.Clone(list))); w.Len()+n != len(changed) {
					t.Fatalf("seed %d: of %v %d are new to %d; there should be %d", seed, list, n, w.Len(), len(changed))
				}
				w.Add(list)
			case 1, 2:
				for _, k := range list {
					w.Mark(k)
					if _, there := changed[k]; there {
						changed[k] = true
					}
				}
			default:
				var want []bellows.Key
				for k, due := range changed {
					if changed[k] = false; due {
						want = append(want, k)
					}
				}
				slices.Sort(want)
				if got := w.Take(nil); !slices.Equal(got, want) {
					t.Fatalf("seed %d: takes %v, not %v", seed, got, want)
				}
			}
			if !slices.IsSorted(w.index.Keys()) || w.Len() != len(changed) {
				t.Fatalf("seed %d: has %v", seed, w.index.Keys())
			}
		}
	}
}
