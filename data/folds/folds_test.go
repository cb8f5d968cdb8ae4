package folds

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"bellows/data"
	"bellows/progress"
	"bellows/random"
)

// TestRowsAreDealtEvenly: each row is in one fold, no fold has two rows more than another, neither in all nor of a
// class, and the seed decides.
func TestRowsAreDealtEvenly(t *testing.T) {
	t.Parallel()
	classes := &data.ExampleSet{}
	for r := range 203 {
		label := random.Derive(3, uint64(r))%5*random.Derive(4, uint64(r))%2*4 + random.Derive(5, uint64(r))%3
		classes.Label = append(classes.Label, float32(label))
	}
	values := &data.ExampleSet{}
	for r := range 203 {
		values.Label = append(values.Label, float32(r)/7)
	}
	ratings := &data.RatingSet{User: make([]int32, 203), Item: make([]int32, 203), Rating: make([]float32, 203)}
	rated := &data.Set{Kind: data.Ratings, Ratings: ratings}
	for _, set := range []*data.Set{
		{Kind: data.Examples, Examples: classes}, {Kind: data.Examples, Examples: values}, rated,
	} {
		for _, folds := range []int{2, 5, 7, 203} {
			d, err := New(1, folds, set, nil)
			if err != nil || d.Stratified != (set.Examples == classes) {
				t.Fatal(err, d.Stratified)
			}
			sizes, of := make([]int, folds), map[float32][]int{}
			for r, f := range d.fold {
				sizes[f]++
				if d.Stratified {
					y := classes.Label[r]
					if of[y] == nil {
						of[y] = make([]int, folds)
					}
					of[y][f]++
				}
			}
			for y, count := range of {
				if slices.Max(count)-slices.Min(count) > 1 {
					t.Errorf("%d folds have %v rows of class %g", folds, count, y)
				}
			}
			if slices.Max(sizes)-slices.Min(sizes) > 1 {
				t.Errorf("%d folds have %v rows", folds, sizes)
			}
			seen := make([]int, 203)
			for f := range folds {
				training, held := d.Divide(f)
				if len(training)+len(held) != 203 || !slices.IsSorted(training) || !slices.IsSorted(held) {
					t.Errorf("fold %d of %d has %d and %d rows", f, folds, len(training), len(held))
				}
				for _, r := range held {
					seen[r]++
				}
			}
			if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
				t.Errorf("of %d folds some rows are in none or in two", folds)
			}
			if other, _ := New(2, folds, set, nil); slices.Equal(other.fold, d.fold) {
				t.Errorf("the seed says nothing of %d folds", folds)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(1, 5, rated, progress.New(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("dealing ends with %v", err)
	}
}

// TestSpread compares with figures made by hand, and leaves out what a fold lacks.
func TestSpread(t *testing.T) {
	t.Parallel()
	means, deviations := Spread([]Result{
		{Metrics: map[string]float64{"a": 1, "b": 2}},
		{Metrics: map[string]float64{"a": 2}},
		{Metrics: map[string]float64{"a": 6, "b": 1}},
	})
	want := map[string]float64{"a": 3}
	if !maps.Equal(means, want) || len(deviations) != 1 || math.Abs(deviations["a"]-math.Sqrt(7)) > 1e-15 {
		t.Error(means, deviations)
	}
	means, deviations = Spread([]Result{{Metrics: map[string]float64{"a": 4}}})
	if means["a"] != 4 || len(deviations) != 0 {
		t.Error(means, deviations)
	}
}
