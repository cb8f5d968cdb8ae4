package mlr

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/data"
)

// lopsided returns a set without most rows of all classes but the first.
func lopsided(e *data.ExampleSet, keep int) *data.ExampleSet {
	out, seen := &data.ExampleSet{Features: e.Features}, 0
	for r, y := range e.Label {
		if y != 0 {
			if seen++; seen%keep != 0 {
				continue
			}
		}
		out.Label = append(out.Label, y)
		out.Dense = append(out.Dense, e.Dense[r*e.Features:(r+1)*e.Features]...)
	}
	return out
}

// recallOf returns the part of a class's rows that a model finds.
func recallOf(t *testing.T, run *app.Run, tables [][]float32, set *data.Set, class int) float64 {
	t.Helper()
	m := apptest.Model(t, run, tables)
	x := apptest.Examine(t, apptest.Open(t, New(), m), set)
	return x.Classes[class].Recall
}

// TestBalancedFindsARareClass: on dense and on sparse rows, with the rule of the splits and with one of the server.
func TestBalancedFindsARareClass(t *testing.T) {
	t.Parallel()
	dense, test := lopsided(made(6000, 8, 2, 1, 0, 1), 40), made(1000, 8, 2, 2, 0, 1)
	for name, c := range map[string]struct {
		set, test *data.ExampleSet
		rule      string
	}{
		"dense": {dense, test, ruleAverage}, "sparse": {sparsely(dense), sparsely(test), ruleAverage}, "server": {dense, test, ruleAdaGrad},
	} {
		recall := map[string]float64{}
		for _, weights := range []string{examples.WeightsNone, examples.WeightsBalanced} {
			in := app.Input{Data: apptest.Examples(c.set), Seed: 1, Epochs: 20, Settings: map[string]string{"class_weights": weights, "rule": c.rule}}
			run, tables, _ := trained(t, in, 2)
			recall[weights] = recallOf(t, run, tables, apptest.Examples(c.test), 1)
			if told := run.Settings["class_weights"]; told != weights {
				t.Errorf("%s: the settings say %q, want %q", name, told, weights)
			}
			if asked := strings.Contains(run.Headline, "test figures leave these out"); asked != (weights != examples.WeightsNone) || asked != (run.Baseline == nil) {
				t.Errorf("%s: headline %q, baseline %v", name, run.Headline, run.Baseline)
			}
		}
		if recall[examples.WeightsBalanced] < 0.8 || recall[examples.WeightsBalanced] < recall[examples.WeightsNone]+0.2 {
			t.Errorf("%s: recall of the rare class %v", name, recall)
		}
	}
}

// TestStoppingFollowsTheWeights: an epoch is kept for the weighted loss of held-out rows, and the figures that are shown of them are not weighted.
func TestStoppingFollowsTheWeights(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(lopsided(made(4000, 8, 2, 1, 0, 1), 40)), Seed: 1, Settings: map[string]string{"class_weights": examples.WeightsBalanced, "l2": "0.01"}})
	k := newPolicy(p)
	progress := epochs.Progress{Best: math.Inf(1), Marked: math.Inf(1)}
	rows, weight := float64(len(p.Held)), p.Weight.Sum(p.Held)
	if rows == weight {
		t.Fatal("held-out rows weigh as much as they are many: the test says nothing")
	}
	for epoch, loss := range []struct{ shown, weighed float64 }{{0.3, 0.6}, {0.5, 0.4}, {0.2, 0.7}} {
		scores := make([]float64, gotScore+heldBlocks)
		scores[gotHeldLoss], scores[gotHeldWeighed] = loss.shown*rows, loss.weighed*weight
		progress.Epoch++
		v := k.End(&progress, make([]float64, gotSpread+p.width), scores)
		if want := epoch < 2; v.Keep != want {
			t.Errorf("epoch %d: keep is %v", epoch+1, v.Keep)
		}
		if got := apptest.Metric(t, v.Metrics, "test_logloss"); math.Abs(got-loss.shown) > 1e-12 {
			t.Errorf("epoch %d: the test log-loss is said to be %v, want %v", epoch+1, got, loss.shown)
		}
	}
}

// TestHeldOutFiguresAreUnweighted: those of the last epoch are what the model's are, where a run takes all its epochs.
func TestHeldOutFiguresAreUnweighted(t *testing.T) {
	t.Parallel()
	set := lopsided(made(4000, 8, 2, 1, 0, 1), 40)
	for _, e := range []*data.ExampleSet{set, sparsely(set)} {
		run, tables, list := trained(t, app.Input{Data: apptest.Examples(e), Seed: 1, Epochs: 3, Settings: map[string]string{"class_weights": examples.WeightsBalanced}}, 2)
		m := apptest.Model(t, run, tables)
		figures := apptest.Evaluate(t, apptest.Open(t, New(), m), apptest.Examples(e).Select(data.HeldRows(1, e.Rows(), data.HeldAlone)))
		for _, name := range []string{"logloss", "accuracy"} {
			if got, want := apptest.Metric(t, list[2].Metrics, "test_"+name), apptest.Metric(t, figures, name); math.Abs(got-want) > 1e-4 {
				t.Errorf("test %s is %v, the model's is %v", name, got, want)
			}
		}
	}
}

// TestOnlyRatiosOfWeightsMatter: twice the weights give the same bits.
func TestOnlyRatiosOfWeightsMatter(t *testing.T) {
	t.Parallel()
	set := apptest.Examples(made(400, 5, 3, 1, 0, 1))
	var want [][]float32
	for _, weights := range []string{"0:2,1:6,2:4", "2:8,0:4,1:12"} {
		_, tables, _ := trained(t, app.Input{Data: set, Seed: 1, Epochs: 3, Settings: map[string]string{"class_weights": weights}}, 2)
		if want == nil {
			want = tables
		} else if !slices.Equal(want[0], tables[0]) {
			t.Errorf("%s gives other weights", weights)
		}
	}
}

func TestClassWeightsAreRead(t *testing.T) {
	t.Parallel()
	set := made(400, 3, 4, 1, 0, 1)
	text := *set
	text.LabelNames = []string{"a,b", "c:1", "no", "yes"}
	for given, want := range map[string][]float64{
		"no:2": {1, 1, 2, 1}, "yes:3, no:0.5": {1, 1, 0.5, 3}, "a,b:4,c:1:8": {4, 8, 1, 1}, "no:1e2": {1, 1, 100, 1},
	} {
		p := problemOf(t, app.Input{Data: apptest.Examples(&text), Seed: 1, Settings: map[string]string{"class_weights": given}})
		for c := range want {
			if ratio := float64(p.Classed[c] / p.Classed[0] * float32(want[0])); math.Abs(ratio-want[c]) > 1e-5*want[c] {
				t.Errorf("%s: weights %v, want them as %v", given, p.Classed, want)
			}
		}
		if sum := p.Weight.Sum(p.Rows); math.Abs(sum/float64(len(p.Rows))-1) > 1e-6 {
			t.Errorf("%s: the mean weight of a row is %v", given, sum/float64(len(p.Rows)))
		}
	}
	p := problemOf(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: map[string]string{"class_weights": examples.WeightsBalanced}})
	count := make([]float64, p.width)
	for _, r := range p.Rows {
		count[p.class[r]]++
	}
	for c, n := range count {
		if want := float64(len(p.Rows)) / (4 * n); math.Abs(float64(p.Classed[c])-want) > 1e-6*want {
			t.Errorf("balanced: class %d weighs %v, want %v", c, p.Classed[c], want)
		}
	}
	if q := problemOf(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: map[string]string{"class_weights": "1.0:2,3:5"}}); q.Classed[1]/q.Classed[0] != 2 {
		t.Errorf("labels that are numbers: %v", q.Classed)
	}
}

func TestClassWeightsAreRefused(t *testing.T) {
	t.Parallel()
	set := made(400, 3, 3, 1, 0, 1)
	set.LabelNames = []string{"cat", "dog", "fish"}
	for given, want := range map[string]string{
		"dgo:2":         "DATA has no label dgo; did you mean dog?",
		"elephant:2":    "DATA has no label elephant; it has cat, dog, fish",
		"dog:-1":        "the weight of the label dog must be a number from 1e-06 to 1e+06",
		"dog:0":         "the weight of the label dog must be a number from 1e-06 to 1e+06",
		"dog:NaN":       "the weight of the label dog must be a number from 1e-06 to 1e+06",
		"dog:2,dog:3":   "the label dog is there twice",
		"dog":           `must be none, balanced, or label:weight for some labels, such as fish:2; "dog" has no weight`,
		"ballanced":     `must be none, balanced, or label:weight for some labels, such as fish:2; "ballanced" has no weight`,
		"dog:2,cat:":    `must be none, balanced, or label:weight for some labels, such as fish:2; "cat:" has no weight`,
		"cat,dog:2":     "DATA has no label cat,dog",
		"dog:x2,fish:1": "DATA has no label dog:x2,fish",
	} {
		_, err := New().NewRun(app.Input{Data: apptest.Examples(set), Settings: map[string]string{"class_weights": given}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("class_weights=%s: %s", given, want)) || bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v", given, err)
		}
	}
}
