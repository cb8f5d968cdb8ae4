package app

import (
	"slices"
	"strings"
	"testing"
)

// TestPlaces finds names, also those that are there several times.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names, model string
		want         []int32
		news         int
	}{
		{"a b c", "c a", []int32{1, -1, 0}, 1}, {"", "a", nil, 0}, {"a", "", []int32{-1}, 1},
		{"a b a a", "a b a", []int32{0, 1, 2, -1}, 1}, {"a a b", "b a", []int32{1, -1, 0}, 1},
	} {
		at := Places(strings.Fields(c.names), strings.Fields(c.model))
		if !slices.Equal(at, c.want) || (Known{At: at}).New() != c.news {
			t.Errorf("%q in %q: %v, want %v", c.names, c.model, at, c.want)
		}
	}
	if got := FromModel(Known{"users", []int32{0, -1}}, Known{"items", nil}); got != "from a model, 1 users and 0 items are new" {
		t.Error(got)
	}
}

// TestInherit: a setting that a model has already may be given again, and not otherwise.
func TestInherit(t *testing.T) {
	t.Parallel()
	about := Description{Name: "x", Settings: []Setting{{Name: "rank", Default: "32"}}}
	for given, want := range map[string]string{"": "", "8": "", "9": "rank=9: the model that the run begins with has 8"} {
		settings := map[string]string{"rank": given}
		if given == "" {
			settings = nil
		}
		v, err := Resolve(about, settings)
		if err != nil {
			t.Fatal(err)
		}
		got := v.Inherit("rank", 8)
		if err := v.Err(); got != 8 || v.Map()["rank"] != "8" || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %d, %v", given, got, err)
		}
	}
}
