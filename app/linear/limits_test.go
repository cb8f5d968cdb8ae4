package linear

import (
	"errors"
	"math"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// scaledBy returns made with the first feature times a number.
func scaledBy(factor float32) *data.Set {
	e := made(200, 3, 1, true)
	for r := range e.Rows() {
		e.Dense[3*r] *= factor
	}
	e.FeatureNames = []string{"a", "b", "c"}
	return apptest.Examples(e)
}

// TestFeaturesBeyond32Bits refuses columns that numbers of 32 bits cannot scale, or whose weights they cannot hold, by name and
// with what to do: by every solver, softmax included.
func TestFeaturesBeyond32Bits(t *testing.T) {
	t.Parallel()
	const small = "train linear: the values of column a are too small for numbers of 32 bits; " +
		"multiply that column, such as by 1e30, or leave it out"
	for _, settings := range []string{"", "solver=dual", "solver=adagrad", "loss=softmax", "scale=standard"} {
		_, err := New().NewRun(app.Input{Data: scaledBy(1e-40), Seed: 1, Settings: apptest.Settings(settings)})
		if err == nil || err.Error() != small {
			t.Errorf("%s: %v", settings, err)
		}
	}
	far := scaledBy(1)
	for r := range far.Rows() {
		far.Examples.Dense[3*r] = 3e38
		if r%8 == 0 {
			far.Examples.Dense[3*r] = -3e38
		}
	}
	const large = "train linear: the values of column a are too far from each other for numbers of 32 bits; " +
		"divide that column, such as by 1e10, or leave it out"
	for _, settings := range []string{"", "loss=softmax"} {
		_, err := New().NewRun(app.Input{Data: far, Seed: 1, Settings: apptest.Settings(settings)})
		if err == nil || err.Error() != large {
			t.Errorf("%s: %v", settings, err)
		}
	}
	apptest.NewRun(t, New(), app.Input{Data: scaledBy(1e-40), Seed: 1, Settings: apptest.Settings("scale=none")})

	p := problemOf(t, app.Input{Data: scaledBy(1), Seed: 1})
	const weight = "train linear: the values of column a are so small that its weight is too large for a number of 32 bits; " +
		"multiply that column, such as by 1e30, or leave it out"
	if err := p.CheckWeight(0, 2, 1e39); err == nil || err.Error() != weight {
		t.Errorf("a weight beyond 32 bits: %v", err)
	}
	if err := errors.Join(p.CheckWeight(0, 2, 1e38), p.CheckWeight(0, math.Inf(1), math.Inf(1))); err != nil {
		t.Errorf("weights that are no fault of the column: %v", err)
	}
}

// TestRunsSayThatTheyHaveNotConverged: a run that ends at the limit of epochs says so, unless its number was given; one that
// converges has nothing to say.
func TestRunsSayThatTheyHaveNotConverged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings string
		epochs   int
		want     string
	}{
		{"loss=hinge solver=dual l2=1e-12 gap=1e-7 clocks=1 splits=2", 0, "training ended at its limit of 200 epochs and had not converged (gap "},
		{"loss=hinge solver=dual l2=1e-12 gap=1e-7 clocks=1 splits=2", 3, ""},
		{"loss=hinge solver=dual l2=0.1", 0, ""},
		{"loss=logistic", 0, ""},
		{"loss=softmax patience=1000", 0, "training ended at its limit of 100 epochs and had not converged; give more with --epochs"},
		{"loss=softmax patience=1000 early_stop=false", 0, ""},
	} {
		in := app.Input{Data: apptest.Examples(rarely(200, 300, 1, true)), Seed: 1, Epochs: c.epochs, Settings: apptest.Settings(c.settings)}
		run, _, epochs := trained(t, in, 2)
		got := run.Doubts()
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s, %d epochs: %q", c.settings, len(epochs), got)
		}
	}
}
