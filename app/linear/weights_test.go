package linear

import (
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// TestBalancedFindsARareClass: of two classes, one of which has few rows that overlap the other's.
func TestBalancedFindsARareClass(t *testing.T) {
	t.Parallel()
	lopsided := func(seed uint64, keep int) *data.ExampleSet {
		e, out, seen := made(8000, 3, seed, true), &data.ExampleSet{Features: 3}, 0
		for r, y := range e.Label {
			if y == 7 {
				if seen++; seen%keep != 0 {
					continue
				}
			}
			out.Label = append(out.Label, y)
			out.Dense = append(out.Dense, e.Dense[r*3:r*3+3]...)
		}
		return out
	}
	test := apptest.Examples(lopsided(2, 40))
	recall := map[string]float64{}
	for weights, said := range map[string]string{"none": "", "balanced": "class weights 3 0.", "7:40": "class weights 3 1, 7 40"} {
		in := app.Input{Data: apptest.Examples(lopsided(1, 40)), Test: test, Seed: 1, Settings: map[string]string{"class_weights": weights}}
		run, tables, _ := trained(t, in, 2)
		if !strings.Contains(run.Headline, said) || said != "" && (run.Settings["solver"] != "newton" || run.Baseline != nil) {
			t.Errorf("%s: %q with %v", weights, run.Headline, run.Settings)
		}
		m := apptest.Model(t, run, tables)
		p := apptest.Open(t, New(), m)
		x := apptest.Examine(t, p, test)
		recall[weights] = x.Classes[1].Recall
	}
	if recall["balanced"] < 0.85 || recall["7:40"] < 0.85 || recall["none"] > recall["balanced"]-0.2 {
		t.Errorf("of the rare class is found %v", recall)
	}
	for settings, want := range map[string]string{
		"class_weights=5:2":                 "class_weights=5:2: DATA has no label 5; it has 3, 7",
		"class_weights=balanced loss=ridge": "class_weights=balanced: loss=squared predicts numbers",
	} {
		in := app.Input{Data: test, Settings: apptest.Settings(settings)}
		if _, err := New().NewRun(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}
