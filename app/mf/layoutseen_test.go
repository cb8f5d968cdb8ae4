package mf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/app/mf/internal/seen"
	"bellows/data"
)

// TestTheLayoutKnowsWhatUsersHaveSeen: ratings that are held out, alone with their user or item among them, and given twice.
func TestTheLayoutKnowsWhatUsersHaveSeen(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []config{
		{schedule: strata, splits: 3, clocks: 2, rank: 7, biases: true, step: 0.02},
		{schedule: strata, rank: 1, step: 0.02},
		{schedule: ssp, splits: 3, clocks: 4, rank: 7, step: 0.02},
	} {
		for _, items := range []int{20, 3000} {
			set := &data.RatingSet{}
			for u := range 400 {
				set.Users = append(set.Users, fmt.Sprint(u))
			}
			for i := range items {
				set.Items = append(set.Items, fmt.Sprint(i))
			}
			for u := range set.Users { // some have one rating, and may have it held out
				for range 1 + r.IntN(1+u/40) {
					set.User, set.Item = append(set.User, int32(u)), append(set.Item, int32(r.IntN(items)))
					set.Rating = append(set.Rating, float32(r.IntN(5)))
				}
			}
			p, err := newProblem(c, set, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := p.encodeSeen(), seen.Encode(set, seen.RowsMost); !slices.Equal(got, want) {
				t.Errorf("%s, %d items: %d bytes are not the %d of the data", c.schedule, items, len(got), len(want))
			}
		}
	}
}
