package verbs

import (
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/data"
)

// TestWeightsAreRefused by applications that count all rows alike, and by no others; also those of test rows.
func TestWeightsAreRefused(t *testing.T) {
	t.Parallel()
	alike := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Label: []float32{1}, Features: 1, Dense: []float32{2}}}
	heavy := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Label: []float32{1}, Features: 1, Dense: []float32{2}, Weight: []float32{3}}, Detected: data.Detection{Weight: `"w"`}}
	weighs, counts := app.Description{Name: "linear", Weighs: true}, app.Description{Name: "kmeans"}
	for _, err := range []error{checkWeights(weighs, heavy, heavy), checkWeights(weighs, alike, nil), checkWeights(counts, alike, nil)} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{checkWeights(counts, heavy, nil), checkWeights(counts, alike, heavy)} {
		if err == nil || !strings.Contains(err.Error(), `rows have weights ("w"), and kmeans counts all alike`) || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%v", err)
		}
	}
	if _, err := newOrder(counter{}, nil, &trainOptions{reading: readOptions{weight: "w"}}); err == nil || !strings.Contains(err.Error(), "kmeans counts all rows alike") {
		t.Errorf("the flag: %v", err)
	}
}

// counter is an application that counts all rows alike.
type counter struct{ app.Application }

func (counter) Describe() app.Description {
	return app.Description{Name: "kmeans", Data: data.Examples}
}
