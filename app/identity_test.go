package app_test

import (
	"testing"

	"bellows/app"
	"bellows/data"
)

// TestIdentitiesTellJobsApart changes what a node may have made otherwise.
func TestIdentitiesTellJobsApart(t *testing.T) {
	t.Parallel()
	set := func(rating float32) *data.Set {
		return &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{User: []int32{0}, Item: []int32{0}, Rating: []float32{rating},
			Users: []string{"u"}, Items: []string{"i"}}}
	}
	two := 2
	settings := map[string]string{"rank": "8", "l2": "auto"}
	seen := map[string]string{}
	for name, in := range map[string]app.Input{
		"as it was":       {Data: set(1)},
		"other data":      {Data: set(2)},
		"a test set":      {Data: set(1), Test: set(1)},
		"another test":    {Data: set(1), Test: set(2)},
		"another seed":    {Data: set(1), Seed: 1},
		"other staleness": {Data: set(1), Staleness: &two},
	} {
		line := in.Identity(settings)
		if other := seen[line]; other != "" {
			t.Errorf("%s and %s are the same: %q", name, other, line)
		}
		seen[line] = name
	}
	in := app.Input{Data: set(1), Epochs: 5, Goal: &app.Goal{Metric: "rmse"}, Slots: 3}
	if seen[in.Identity(settings)] != "as it was" {
		t.Error("where a run ends, or how wide this node is, makes another job")
	}
	if seen[in.Identity(map[string]string{"rank": "9", "l2": "auto"})] != "" {
		t.Error("another setting makes no other job")
	}
}
