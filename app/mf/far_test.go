package mf_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/mf"
	"bellows/data"
)

// TestOffsetsOfRatingsDoNotMatter: ratings far from 0 give the score of the same ratings less the offset, and predictions of their size.
func TestOffsetsOfRatingsDoNotMatter(t *testing.T) {
	t.Parallel()
	learn := func(offset float64) (measured, evaluated float64, predicted []string) {
		made, _ := mf.Made{Users: 40, Items: 30, Rank: 2, Each: 15, Noise: 0.2, Mean: 0.5, Unit: 1, Seed: 5}.Sets()
		var text strings.Builder
		for r, rating := range made.Ratings.Rating {
			fmt.Fprintf(&text, "%s\t%s\t%.4f\n", made.Ratings.Users[made.Ratings.User[r]], made.Ratings.Items[made.Ratings.Item[r]], offset+float64(rating))
		}
		read := func(opt data.Options) *data.Set {
			opt.Stdin = strings.NewReader(text.String())
			set, err := data.Read(context.Background(), []string{"-"}, data.Ratings, opt)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		set := read(data.Options{})
		o := fit(t, app.Input{Data: set, Test: read(data.Options{}.ForTest(set)), Seed: 1, Epochs: 8, Settings: map[string]string{"rank": "2"}}, 1)
		for _, m := range o.epochs[len(o.epochs)-1].Metrics {
			if m.Name == "test_rmse" {
				measured = m.Value
			}
		}
		p := apptest.Open(t, mf.New(), o.model)
		var out bytes.Buffer
		if err := p.Predict(set, &out); err != nil {
			t.Fatal(err)
		}
		return measured, o.rmse(t, read(data.Options{})), strings.Fields(out.String())
	}
	near, nearAgain, nearPredicted := learn(0)
	for _, offset := range []float64{1e6, 1e8, -25_000_000} {
		far, farAgain, predicted := learn(offset)
		if math.Abs(far-near) > 1e-6*near || math.Abs(farAgain-nearAgain) > 1e-6*near {
			t.Errorf("ratings at %g have the errors %v and %v, those at 0 %v and %v", offset, far, farAgain, near, nearAgain)
		}
		for i := range predicted {
			y, _ := strconv.ParseFloat(predicted[i], 64)
			want, _ := strconv.ParseFloat(nearPredicted[i], 64)
			if math.Abs(y-offset-want) > 1e-5 {
				t.Fatalf("rating %d at %g is predicted as %s, at 0 as %s", i, offset, predicted[i], nearPredicted[i])
			}
		}
	}
}
