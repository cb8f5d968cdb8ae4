package data

import "testing"

// TestDigestsTellSetsApart changes one thing of each column, near its end where a sample could miss it.
func TestDigestsTellSetsApart(t *testing.T) {
	t.Parallel()
	const rows = 1<<15 + 3
	ratings := func() *RatingSet {
		r := &RatingSet{Users: []string{"a", "b"}, Items: []string{"x"}}
		for i := range rows {
			r.User, r.Item, r.Rating = append(r.User, int32(i%2)), append(r.Item, 0), append(r.Rating, float32(i%5))
		}
		return r
	}
	examples := func() *ExampleSet {
		return &ExampleSet{Label: []float32{1, 0}, Features: 3, Offset: []int64{0, 1, 2}, Index: []int32{0, 2},
			Value: []float32{1, -1}}
	}
	documents := func() *DocumentSet {
		return &DocumentSet{Offset: []int64{0, 1, 3}, Word: []int32{0, 0, 1}, Count: []int32{1, 2, 3},
			Vocab: []string{"so", "it"}}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(r *RatingSet, e *ExampleSet, d *DocumentSet){
		"as it was":   func(*RatingSet, *ExampleSet, *DocumentSet) {},
		"a user":      func(r *RatingSet, _ *ExampleSet, _ *DocumentSet) { r.User[rows-2] ^= 1 },
		"an item":     func(r *RatingSet, _ *ExampleSet, _ *DocumentSet) { r.Item[1] = 1 },
		"a rating":    func(r *RatingSet, _ *ExampleSet, _ *DocumentSet) { r.Rating[rows-1] += 0.5 },
		"a user's id": func(r *RatingSet, _ *ExampleSet, _ *DocumentSet) { r.Users[1] = "c" },
		"fewer rows": func(r *RatingSet, _ *ExampleSet, _ *DocumentSet) {
			r.User, r.Item, r.Rating = r.User[:rows-1], r.Item[:rows-1], r.Rating[:rows-1]
		},
		"a label":      func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Label[1] = 1 },
		"a feature":    func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Index[1] = 1 },
		"a weight":     func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Weight = []float32{1, 2} },
		"weights of 1": func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Weight = []float32{1, 1} },
		"a value":      func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Value[1] = 1 },
		"a row's end":  func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Offset[1] = 2 },
		"the width":    func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) { e.Features = 4 },
		"dense": func(_ *RatingSet, e *ExampleSet, _ *DocumentSet) {
			e.Offset, e.Dense = nil, []float32{1, 2, 3, 4, 5, 6}
		},
		"a word":     func(_ *RatingSet, _ *ExampleSet, d *DocumentSet) { d.Word[2] = 0 },
		"a count":    func(_ *RatingSet, _ *ExampleSet, d *DocumentSet) { d.Count[2] = 1 },
		"a document": func(_ *RatingSet, _ *ExampleSet, d *DocumentSet) { d.Offset[1] = 2 },
		"a spelling": func(_ *RatingSet, _ *ExampleSet, d *DocumentSet) { d.Vocab[0] = "no" },
	} {
		r, e, d := ratings(), examples(), documents()
		change(r, e, d)
		digest := func() (line string) {
			for _, s := range []Set{{Kind: Ratings, Ratings: r}, {Kind: Examples, Examples: e},
				{Kind: Documents, Documents: d}} {
				line += s.Digest() + "; "
			}
			return line
		}
		line := digest()
		if again := digest(); again != line {
			t.Errorf("%s: %q, and then %q", name, line, again)
		}
		if other := seen[line]; other != "" {
			t.Errorf("%s and %s have one digest, %q", name, other, line)
		}
		seen[line] = name
	}
}
