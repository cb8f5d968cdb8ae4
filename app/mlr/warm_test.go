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
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
)

// weightsByName returns the weights of a model by label and feature, and the biases by label.
func weightsByName(t *testing.T, m *model.Model) map[string]float32 {
	t.Helper()
	out := map[string]float32{}
	columns, labels := m.Names(examples.ColumnsFile), m.Names(examples.LabelsFile)
	w := m.Tensor("weights")
	for c, label := range labels {
		for j, v := range w.Floats[c*w.Shape[1] : (c+1)*w.Shape[1]] {
			feature := fmt.Sprint(j)
			if columns != nil {
				feature = columns[j]
			} else if features := m.Names(examples.FeaturesFile); features != nil {
				feature = features[j]
			}
			out[label+"·"+feature] = v
		}
		out[label] = m.Tensor("bias").Floats[c]
	}
	return out
}

// named gives features names.
func named(e *data.ExampleSet, names ...string) *data.ExampleSet {
	e.FeatureNames = names
	return e
}

// TestAStartScoresAsItsModel: the model of the first weights has what the model had, wherever features and classes stand now, and zeros for what is new.
func TestAStartScoresAsItsModel(t *testing.T) {
	t.Parallel()
	shifted := made(300, 4, 3, 2, 0, 1)
	for i := range shifted.Dense {
		if shifted.Dense[i] += 7; i%4 == 2 {
			shifted.Dense[i] = 3 // the same in all rows
		}
	}
	wide, other := wideAndNarrow()
	further := *wide
	further.Index = slices.Clone(wide.Index)
	for i := range further.Index {
		further.Index[i] += 1000
	}
	for name, c := range map[string]struct {
		old, new  *data.ExampleSet
		news      int // of weights and biases
		features  int
		narrowing bool
	}{
		"dense":             {made(300, 4, 3, 1, 0, 1), shifted, 0, 4, false},
		"new labels":        {made(300, 4, 2, 1, 1, 1), made(300, 4, 4, 2, 0, 1), 2 * 5, 4, false},
		"columns":           {named(made(300, 4, 2, 1, 0, 1), "a", "b", "c", "d"), named(made(300, 6, 2, 2, 0, 1), "x", "d", "b", "y", "a", "c"), 2 * 2, 6, false},
		"columns of text":   {named(sparsely(made(300, 4, 2, 1, 0, 1)), "a", "b=u", "b=v", "c"), named(sparsely(made(300, 5, 2, 2, 0, 1)), "a", "b=t", "b=u", "b=v", "c"), 2, 5, false},
		"dense becomes not": {named(made(300, 3, 2, 1, 0, 1), "a", "b", "c"), named(rarely(300, 50, 2, 2), append([]string{"b", "a", "c"}, slices.Repeat([]string{"z"}, 47)...)...), 2 * 47, 50, false},
		"more features":     {rarely(300, 30, 2, 1), rarely(300, 50, 2, 2), 2 * 20, 50, false},
		"fewer features":    {rarely(300, 50, 2, 1), rarely(300, 30, 3, 2), 51, 50, false},
		"wide":              {wide, &further, 0, 0, true},
		"becomes wide":      {other, wide, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := modelOf(t, c.old)
			p := problemOf(t, app.Input{Data: apptest.Examples(c.new), Seed: 3, From: old})
			m, err := newModel(p, [][]float32{p.warm.first}, details{})
			if err != nil {
				t.Fatal(err)
			}
			apptest.Open(t, New(), m)
			if c.features > 0 && p.Features != c.features || (p.Narrow != nil) != c.narrowing {
				t.Errorf("%d features, want %d", p.Features, c.features)
			}
			want, got, news := weightsByName(t, old), weightsByName(t, m), 0
			for name, v := range got {
				w, known := want[name]
				if !known {
					news++
				}
				if math.Abs(float64(v-w)) > 2e-5*(1+math.Abs(float64(w))) {
					t.Errorf("%s is %v, want %v", name, v, w)
				}
				delete(want, name)
			}
			for name, w := range want {
				t.Errorf("%s, %v in the model, is gone", name, w)
			}
			if !c.narrowing && name != "dense becomes not" && news != c.news {
				t.Errorf("%d values are new, want %d", news, c.news)
			}
			if !slices.Equal(m.Names(examples.LabelsFile)[:len(old.Names(examples.LabelsFile))], old.Names(examples.LabelsFile)) {
				t.Errorf("labels %v, of the model %v", m.Names(examples.LabelsFile), old.Names(examples.LabelsFile))
			}
		})
	}
}

// TestMoreEpochsGoOn: on the rows of the model a run goes on where it ended, and does not repeat its noise; whatever the number of slots and the consistency.
func TestMoreEpochsGoOn(t *testing.T) {
	t.Parallel()
	stale := 2
	for name, c := range map[string]struct {
		set       *data.ExampleSet
		staleness *int
	}{"dense": {made(2000, 9, 3, 1, 0, 1), nil}, "sparse": {rarely(3000, 400, 3, 1), nil}, "stale": {made(2000, 9, 3, 1, 0, 1), &stale}} {
		in := app.Input{Data: apptest.Examples(c.set), Seed: 5, Staleness: c.staleness, Epochs: 15} // all of which are kept
		run, tables, before := trained(t, in, 2)
		old := apptest.Model(t, run, tables)
		in.From, in.Epochs = old, 2
		run, want, epochs := trained(t, in, 1)
		if !strings.Contains(run.Headline, "from a model, 0 features and 0 classes are new") {
			t.Errorf("%s: headline %q", name, run.Headline)
		}
		last, first := apptest.Metric(t, before[len(before)-1].Metrics, "train_logloss"), apptest.Metric(t, epochs[0].Metrics, "train_logloss")
		if first > 1.01*last {
			t.Errorf("%s: training log-loss %v after %d epochs, then %v", name, last, len(before), first)
		}
		for slots := 2; slots <= 3 && c.staleness == nil; slots++ {
			if _, got, _ := trained(t, in, slots); !slices.Equal(got[0], want[0]) {
				t.Errorf("%s: %d slots give other weights", name, slots)
			}
		}
	}
}

// TestNewRowsAreLearned: from a model of other rows, a run takes the steps of any run.
func TestNewRowsAreLearned(t *testing.T) {
	t.Parallel()
	old := modelOf(t, made(300, 5, 2, 1, 0, 1))
	in := app.Input{Data: apptest.Examples(made(2000, 5, 3, 2, 0, 1)), Seed: 1, Epochs: 8, From: old}
	p := problemOf(t, in)
	if k := newPolicy(p); k.pace != 1 || p.warm.same {
		t.Errorf("it begins with a pace of %v", k.pace)
	}
	_, _, list := trained(t, in, 2)
	in.From = nil
	_, _, cold := trained(t, in, 2)
	if got, want := apptest.Metric(t, list[7].Metrics, "train_logloss"), apptest.Metric(t, cold[7].Metrics, "train_logloss"); got > 1.02*want {
		t.Errorf("log-loss %v, without a model to begin with %v", got, want)
	}
}

// TestClassesWithoutRowsAreTold: they stay, and somebody hears of it.
func TestClassesWithoutRowsAreTold(t *testing.T) {
	t.Parallel()
	old := modelOf(t, made(300, 3, 4, 1, 0, 1))
	p := problemOf(t, app.Input{Data: apptest.Examples(made(300, 3, 2, 2, 1, 1)), Seed: 1, From: old})
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "no row has the labels 0, 3, which the model knows: they stay in the model") || p.width != 4 {
		t.Errorf("%d classes, warnings %q", p.width, p.Warnings)
	}
}

// TestStartsAreRefused says what is not a model for the data.
func TestStartsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new *data.ExampleSet
		settings map[string]string
		kind     bellows.Kind
		want     string
	}{
		"rule":     {made(90, 3, 2, 1, 0, 1), made(90, 3, 2, 1, 0, 1), map[string]string{"rule": "adam"}, bellows.Config, "rule=adam: only rule=average begins with a model"},
		"width":    {made(90, 3, 2, 1, 0, 1), made(90, 4, 2, 1, 0, 1), nil, bellows.BadData, "rows have 4 features, those of the model that the run begins with had 3"},
		"lacking":  {named(made(90, 3, 2, 1, 0, 1), "a", "b", "c"), named(made(90, 3, 2, 1, 0, 1), "b", "d", "e"), nil, bellows.BadData, "has the columns a, c, and the data has not"},
		"no names": {named(made(90, 3, 2, 1, 0, 1), "a", "b", "c"), rarely(90, 20, 2, 1), nil, bellows.BadData, "have names, and those of the data are numbers"},
		"names":    {rarely(90, 3*5, 2, 1), named(rarely(90, 15, 2, 1), slices.Repeat([]string{"a"}, 15)...), nil, bellows.BadData, "are numbers, and those of the data have names"},
	} {
		old := modelOf(t, c.old)
		if _, err := New().NewRun(app.Input{Data: apptest.Examples(c.new), Seed: 1, Settings: c.settings, From: old}); err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeldOutRowsAreScoredAsPredicted includes features that training rows lack, and held-out rows have.
func TestHeldOutRowsAreScoredAsPredicted(t *testing.T) {
	t.Parallel()
	held := func(e *data.ExampleSet, r int) bool { return data.HeldOut(1, int64(r), data.HeldAlone) }
	sparse, dense := rarely(600, 60, 2, 2), made(600, 5, 2, 2, 0, 1)
	for r := range sparse.Rows() {
		for i := sparse.Offset[r]; i < sparse.Offset[r+1]; i++ {
			if sparse.Index[i]%3 == 1 && !held(sparse, r) {
				sparse.Index[i]-- // twice in the row, which is no matter
			}
		}
		if !held(dense, r) {
			dense.Dense[r*5+3] = 2
		}
	}
	for name, c := range map[string]struct{ old, new *data.ExampleSet }{
		"sparse": {rarely(600, 60, 2, 1), sparse}, "dense": {made(600, 5, 2, 1, 0, 1), dense},
	} {
		in := app.Input{Data: apptest.Examples(c.new), Seed: 1, Epochs: 3, From: modelOf(t, c.old)}
		run, tables, list := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		figures := apptest.Evaluate(t, apptest.Open(t, New(), m), in.Data.Select(data.HeldRows(1, c.new.Rows(), data.HeldAlone)))
		if got, want := apptest.Metric(t, list[2].Metrics, "test_logloss"), apptest.Metric(t, figures, "logloss"); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: test log-loss %v, the model's is %v", name, got, want)
		}
	}
}
