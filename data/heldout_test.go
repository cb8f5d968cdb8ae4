package data

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"bellows/progress"
	"bellows/random"
)

// TestLatest compares the latest rows with those of a sort, for times of few and of many values.
func TestLatest(t *testing.T) {
	t.Parallel()
	for rows := range 60 {
		for _, values := range []uint64{1, 3, 1 << 40} {
			times, order := make([]float64, rows), make([]int, rows)
			for r := range times {
				draw := random.Derive(7, uint64(rows), uint64(r)) % values
				times[r], order[r] = float64(draw)/3-0.5*float64(values/3), r
			}
			slices.SortFunc(order, func(a, b int) int {
				return cmp.Or(cmp.Compare(times[a], times[b]),
					cmp.Compare(a, b))
			})
			last := order[rows-rows*20/100:]
			training, held, from := Latest(times, 20)
			if len(last) > 0 && from != times[last[0]] {
				t.Errorf("%d rows: held out from %v, not %v", rows, from, times[last[0]])
			}
			slices.Sort(last)
			if len(held) != len(last) || len(training)+len(held) != rows || !slices.IsSorted(training) {
				t.Fatalf("%d rows of %d values: %d and %d", rows, values, len(training), len(held))
			}
			for i, r := range held {
				if int(r) != last[i] {
					t.Fatalf("%d rows of %d values: held out %v, not %v", rows, values, held, last)
				}
			}
		}
	}
}

// TestDivideForgetsStrangers: the rows to train on know no user and no item of the others alone.
func TestDivideForgetsStrangers(t *testing.T) {
	t.Parallel()
	whole := &Set{Kind: Ratings, Ratings: &RatingSet{User: []int32{0, 1, 2, 1}, Item: []int32{0, 1, 1, 2},
		Rating: []float32{1, 2, 3, 4},
		Users:  []string{"a", "b", "c"}, Items: []string{"x", "y", "z"}}}
	first, second, err := whole.Divide([]int32{1, 2}, []int32{0, 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, s := first.Ratings, second.Ratings
	if !slices.Equal(f.Users, []string{"b", "c"}) || !slices.Equal(f.Items, []string{"y"}) ||
		!slices.Equal(f.User, []int32{0, 1}) || !slices.Equal(f.Item, []int32{0, 0}) {
		t.Errorf("%+v", f)
	}
	if user, item := s.IndicesIn(f); !slices.Equal(user, []int32{-1, 0}) || !slices.Equal(item, []int32{-1, -1}) {
		t.Error(user, item)
	}
	if r := whole.Ratings; !slices.Equal(r.User, []int32{0, 1, 2, 1}) || len(r.Users) != 3 {
		t.Errorf("the whole is now %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := whole.Divide([]int32{1, 2}, []int32{0, 3}, progress.New(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// TestStratifiedHoldsOutOfEachLabel counts labels among what is held out, and finds each row once.
func TestStratifiedHoldsOutOfEachLabel(t *testing.T) {
	t.Parallel()
	set := &ExampleSet{}
	for r := range 1000 {
		y := float32(0)
		if r%10 == 0 {
			y = 1
		}
		set.Label = append(set.Label, y)
	}
	set.Label = append(set.Label, 2) // too rare
	train, held := Stratified(7, set, 10)
	count := map[float32]int{}
	for _, r := range held {
		count[set.Label[r]]++
	}
	if count[0] != 90 || count[1] != 10 || count[2] != 0 {
		t.Error(count)
	}
	all := append(slices.Clone(train), held...)
	slices.Sort(all)
	if len(all) != set.Rows() || len(slices.Compact(all)) != len(all) || !slices.IsSorted(train) ||
		!slices.IsSorted(held) {
		t.Error("rows are lost, or there twice")
	}
	if _, again := Stratified(8, set, 10); slices.Equal(held, again) {
		t.Error("the seed does not matter")
	}
	if train, held := Last(25, 10); len(train) != 23 || !slices.Equal(held, []int32{23, 24}) {
		t.Error(train, held)
	}
}
