package mlr

import (
	"reflect"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
)

// TestSplitsApartLieAlike lays splits out one by one and some at a time, lets them go, and lays them out again: each lies as where all are laid out together, the
// rows that it leads included, and of one that is not here nothing lies there.
func TestSplitsApartLieAlike(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]app.Input{
		"rows of their own": {Data: apptest.Examples(rarely(400, 3000, 3, 1)), Test: apptest.Examples(rarely(50, 3000, 3, 2)), Settings: map[string]string{"clocks": "6"}},
		"charged":           {Data: apptest.Examples(rarely(400, 3000, 3, 1)), Settings: map[string]string{"clocks": "6", "l1": "0.01"}},
		"one clock":         {Data: apptest.Examples(rarely(400, 3000, 3, 1)), Settings: map[string]string{"clocks": "1", "splits": "60"}},
		"whole tables":      {Data: apptest.Examples(rarely(2000, 300, 3, 1)), Settings: map[string]string{"splits": "6"}},
		"dense":             {Data: apptest.Examples(made(400, 5, 3, 1, 0, 1)), Settings: map[string]string{"splits": "6"}},
	} {
		in.Seed = 4
		want, got := problemOf(t, in), problemOf(t, in)
		apptest.LayOut(t, want.Splits, want.prepare)
		if want.full != (name == "whole tables" || name == "dense") || want.Dense != (name == "dense") {
			t.Fatalf("%s: full %v, dense %v", name, want.full, want.Dense)
		}
		if err := got.prepare(nil); err != nil {
			t.Fatal(err)
		}
		apptest.ComeAndGo(t, got.Splits, got.prepare, got.release, func(s int, here bool) { liesAs(t, name, got, want, s, here) })
	}
}

// liesAs holds what lies there of a split against a problem that has all.
func liesAs(t *testing.T, name string, got, want *problem, s int, here bool) {
	t.Helper()
	scored := want.scored[s]
	if !here {
		scored = [2]scoreUnit{}
	}
	for i, u := range got.scored[s] {
		if w := scored[i]; !reflect.DeepEqual(u.rows, w.rows) || !reflect.DeepEqual(u.dense, w.dense) || !reflect.DeepEqual(u.sparse, w.sparse) {
			t.Fatalf("%s: split %d, here: %v, scores something else", name, s, here)
		}
	}
	for at := range got.Clocks {
		unit := s*got.Clocks + at
		if got.Dense {
			w := want.denseUnits[unit]
			if !here {
				w = denseUnit{}
			}
			if len(got.denseUnits) > 0 && !reflect.DeepEqual(got.denseUnits[unit], w) {
				t.Fatalf("%s: split %d clock %d, here: %v, is laid out in another way", name, s, at, here)
			}
			continue
		}
		w := want.sparseUnits[unit]
		if !here {
			w = sparseUnit{}
		}
		if !reflect.DeepEqual(got.sparseUnits[unit], w) {
			t.Fatalf("%s: split %d clock %d, here: %v, is laid out in another way", name, s, at, here)
		}
	}
}

// TestOneProcessKeepsSparseRowsOnce trains on the same sparse rows in one process and as one of several: the models are
// equal. In one process the rows are given back before training, and the data may be released.
func TestOneProcessKeepsSparseRowsOnce(t *testing.T) {
	t.Parallel()
	train := func(shared bool) []float32 {
		set := apptest.Examples(rarely(400, 3000, 3, 1))
		in := app.Input{Data: set, Seed: 4, Epochs: 2, Shared: shared, Settings: map[string]string{"clocks": "6"}}
		run := apptest.NewRun(t, New(), in)
		if run.Copied == shared {
			t.Fatalf("shared: %v, copied: %v", shared, run.Copied)
		}
		if run.Copied {
			entries := len(set.Examples.Index)
			if err := set.Release(); err != nil {
				t.Fatal(err)
			}
			if set.Examples.Released != entries || set.Examples.Rows() > 0 {
				t.Fatalf("%d entries were released, want %d", set.Examples.Released, entries)
			}
		}
		tables, _ := apptest.Play(t, run, 2)
		return apptest.Model(t, run, tables).Tensors[0].Floats
	}
	if !reflect.DeepEqual(train(false), train(true)) {
		t.Error("the models differ")
	}
}
