package mf_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/mf"
	"bellows/data"
	"bellows/model"
	"bellows/node"
	"bellows/train"
)

// outcome is a trained model and what the run told.
type outcome struct {
	model  *model.Model
	epochs []train.Epoch
	audit  node.Audit
	run    *app.Run
}

// fit trains in this process on some compute slots.
func fit(t *testing.T, in app.Input, slots int) outcome {
	t.Helper()
	run := apptest.NewRun(t, mf.New(), in)
	var o outcome
	res, err := node.Train(context.Background(), run.Job, node.Options{Slots: slots,
		OnEpoch: func(e train.Epoch, _ node.Spent) { o.epochs = append(o.epochs, e) }})
	if err != nil {
		t.Fatal(err)
	}
	o.run, o.audit = run, res.Audit
	if o.model, err = run.Model(res.Tables); err != nil {
		t.Fatal(err)
	}
	return o
}

// rmse returns the model's error on a set.
func (o outcome) rmse(t *testing.T, set *data.Set) float64 {
	t.Helper()
	p := apptest.Open(t, mf.New(), o.model)
	metrics := apptest.Evaluate(t, p, set)
	return metrics[0].Value
}

func (o outcome) sameAs(t *testing.T, other outcome, what string) {
	t.Helper()
	for i, tensor := range o.model.Tensors {
		same := slices.EqualFunc(tensor.Floats, other.model.Tensors[i].Floats, func(a, b float32) bool {
			return math.Float32bits(a) == math.Float32bits(b)
		})
		if !same {
			t.Errorf("%s: tensor %s differs", what, tensor.Name)
		}
	}
	if len(o.epochs) != len(other.epochs) {
		t.Fatalf("%s: %d epochs, then %d", what, len(o.epochs), len(other.epochs))
	}
	for i, e := range o.epochs {
		if !slices.Equal(e.Metrics, other.epochs[i].Metrics) {
			t.Errorf("%s: epoch %d is %v, then %v", what, i+1, e.Metrics, other.epochs[i].Metrics)
		}
	}
}

func TestRecoversAPlantedMatrix(t *testing.T) {
	all := []map[string]string{nil, {"schedule": "ssp"}, {"rank": "8", "splits": "7"}, {"splits": "50"}}
	if testing.Short() {
		all = all[:2]
	}
	for _, m := range []mf.Made{
		{Users: 400, Items: 300, Rank: 3, Each: 60, Noise: 0.3, Mean: 3, Unit: 1, Seed: 1},
		{Users: 300, Items: 400, Rank: 2, Each: 60, Noise: 0.3, Mean: -5000, Unit: 1000, Seed: 2},
	} {
		training, test := m.Sets()
		for _, settings := range all {
			o := fit(t, app.Input{Data: training, Test: test, Seed: 1, Settings: settings}, 2)
			got, noise := o.rmse(t, test)/m.Unit, m.Noise
			if got > 1.25*noise {
				t.Errorf("%+v, %v: test error %.3f units after %d epochs; the noise is %.3f", m, settings, got, len(o.epochs), noise)
			}
			if base := o.run.Baseline.Value / m.Unit; base < 1 {
				t.Errorf("predicting the mean errs by %.3f units: the truth is too easy for this test", base)
			}
			if o.audit.Disagreements(true) != nil {
				t.Errorf("audit: %q", o.audit.Disagreements(true))
			}
		}
	}
}

func TestSlotsDoNotChangeTheResult(t *testing.T) {
	training, _ := mf.Made{Users: 120, Items: 90, Rank: 2, Each: 30, Noise: 0.3, Mean: 3, Unit: 1, Seed: 4}.Sets()
	for _, settings := range []map[string]string{
		{"splits": "6"}, {"splits": "5", "biases": "off"}, {"splits": "20", "clocks": "3"}, {"splits": "2", "clocks": "5"}, {"schedule": "ssp", "splits": "5", "clocks": "4"},
	} {
		in := app.Input{Data: training, Seed: 7, Epochs: 6, Settings: settings}
		one := fit(t, in, 1)
		for slots := 2; slots <= 3; slots++ {
			one.sameAs(t, fit(t, in, slots), fmt.Sprintf("%v on %d slots", settings, slots))
		}
		in.Seed++
		if other := fit(t, in, 1); slices.Equal(one.model.Tensors[0].Floats, other.model.Tensors[0].Floats) {
			t.Errorf("%v: another seed gives the same model", settings)
		}
	}
}

func TestStaleReadsConverge(t *testing.T) {
	m := mf.Made{Users: 200, Items: 100, Rank: 2, Each: 40, Noise: 0.3, Mean: 3, Unit: 1, Seed: 5}
	training, test := m.Sets()
	for _, s := range []int{1, 3, -1} {
		o := fit(t, app.Input{Data: training, Test: test, Seed: 1, Staleness: &s,
			Settings: map[string]string{"schedule": "ssp", "splits": "6", "clocks": "5"}}, 2)
		if got := o.rmse(t, test); got > 1.4*m.Noise {
			t.Errorf("staleness %d: test error %.3f with noise %.3f", s, got, m.Noise)
		}
	}
}

func TestTheTestFileDecidesNothing(t *testing.T) {
	training, test := mf.Made{Users: 100, Items: 80, Rank: 2, Each: 30, Noise: 0.3, Mean: 3, Unit: 1, Seed: 6}.Sets()
	in := app.Input{Data: training, Test: test, Seed: 1}
	first := fit(t, in, 2)
	for i := range test.Ratings.Rating {
		test.Ratings.Rating[i] = -test.Ratings.Rating[i]
	}
	second := fit(t, in, 2)
	if !slices.Equal(first.model.Tensors[0].Floats, second.model.Tensors[0].Floats) {
		t.Error("other test ratings give another model")
	}
	if a, b := first.epochs[0].Metrics[1], second.epochs[0].Metrics[1]; a.Name != "test_rmse" || a.Value == b.Value {
		t.Errorf("the test ratings are not what is scored: %v, %v", a, b)
	}
}

func TestTheReportIsWhatTheModelDoes(t *testing.T) {
	training, test := mf.Made{Users: 100, Items: 80, Rank: 2, Each: 30, Noise: 0.3, Mean: 3, Unit: 2, Seed: 8}.Sets()
	test.Ratings.Users = append(slices.Clone(test.Ratings.Users), "stranger")
	test.Ratings.Items = append(slices.Clone(test.Ratings.Items), "novelty")
	stranger, novelty := int32(len(test.Ratings.Users)-1), int32(len(test.Ratings.Items)-1)
	test.Ratings.User = append(test.Ratings.User, stranger, 0, stranger)
	test.Ratings.Item = append(test.Ratings.Item, 0, novelty, novelty)
	test.Ratings.Rating = append(test.Ratings.Rating, 9, -9, 9)
	for _, schedule := range []string{"strata", "ssp"} {
		// Held-out error falls in the first epochs, so that the last is the one that is kept.
		o := fit(t, app.Input{Data: training, Test: test, Seed: 1, Epochs: 3, Settings: map[string]string{"schedule": schedule}}, 2)
		last := o.epochs[len(o.epochs)-1].Metrics[1].Value
		if got := o.rmse(t, test); math.Abs(got-last) > 1e-5 {
			t.Errorf("%s: the last epoch reports a test error of %v, the model has %v", schedule, last, got)
		}
	}
}

func TestTooLargeStepIsDetected(t *testing.T) {
	m := mf.Made{Users: 200, Items: 150, Rank: 2, Each: 40, Noise: 0.3, Mean: 3, Unit: 1, Seed: 9}
	training, test := m.Sets()
	// A few wild ratings blow up any factor that a large step lets grow.
	for i := 0; i < len(training.Ratings.Rating); i += 500 {
		training.Ratings.Rating[i] = 1e4
	}
	o := fit(t, app.Input{Data: training, Test: test, Seed: 1, Epochs: 3, Settings: map[string]string{"lr": "1"}}, 2)
	if got := o.rmse(t, test); math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("test error %v", got)
	}
	if o.epochs[0].Items <= o.run.Items {
		t.Errorf("%d items after the first epoch reported: nothing was repeated", o.epochs[0].Items)
	}
}

func TestEveryRatingHeldOutOrNone(t *testing.T) {
	training, _ := mf.Made{Users: 4, Items: 4, Rank: 1, Each: 3, Noise: 0.3, Mean: 3, Unit: 1, Seed: 3}.Sets()
	held := func(seed uint64) int {
		n := 0
		for r := range training.Rows() {
			if data.HeldOut(seed, int64(r), 10) {
				n++
			}
		}
		return n
	}
	var seed uint64
	for held(seed) > 0 {
		seed++
	}
	o := fit(t, app.Input{Data: training, Seed: seed, Epochs: 2}, 1)
	if last := o.epochs[1].Metrics; len(last) != 1 || last[0].Name != "train_rmse" {
		t.Errorf("without held-out ratings the metrics are %v", last)
	}
}
