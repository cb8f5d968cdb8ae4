package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// TestStepsComeClose trains every loss by every solver that steps, on dense rows, on sparse ones with whole tables and on sparse ones with rows of their own, with
// and without l1, and holds the objective of the model against the least one.
func TestStepsComeClose(t *testing.T) {
	t.Parallel()
	for _, name := range []string{lossLogistic, lossHinge, lossSquaredHinge, lossSquared, lossHuber, lossInsensitive} {
		classes := name == lossLogistic || strings.Contains(name, "hinge")
		for form, set := range map[string]*data.ExampleSet{"dense": made(400, 5, 1, classes), "whole": rarely(400, 60, 1, classes), "own": rarely(400, 1500, 1, classes)} {
			for _, l1 := range []string{"0", "0.003"} {
				t.Run(strings.Join([]string{name, form, l1}, " "), func(t *testing.T) {
					t.Parallel()
					const l2 = 0.02
					in := app.Input{Data: apptest.Examples(set), Seed: 3, Settings: map[string]string{"loss": name, "l1": l1, "l2": fmt.Sprint(l2), "gap": "1e-3", "solver": "sgd", "clocks": "20"}}
					p := problemOf(t, in)
					if p.Dense != (form == "dense") || !p.Dense && p.whole != (form == "whole") {
						t.Fatalf("dense %v, whole %v", p.Dense, p.whole)
					}
					want := optimum(t, p, l2, p.l1)
					for _, solver := range []string{"sgd", "adagrad", "adam", "ftrl"} {
						in.Settings["solver"] = solver
						run, tables, epochs := trained(t, in, 2)
						got := objective(p, weightsOf(t, p, run, tables), l2, p.l1)
						if got < want*(1-1e-5) || got > want*1.03+1e-4 {
							t.Errorf("%s: objective %.6f after %d epochs; the least is %.6f", solver, got, len(epochs), want)
						}
					}
				})
			}
		}
	}
}

// TestStaleStepsComeClose: with tables that lag behind, and with none that wait, too.
func TestStaleStepsComeClose(t *testing.T) {
	t.Parallel()
	for _, staleness := range []int{2, -1} {
		for form, set := range map[string]*data.ExampleSet{"dense": made(400, 5, 1, true), "own": rarely(400, 1500, 1, true)} {
			for _, solver := range []string{"sgd", "adagrad", "adam", "ftrl"} {
				in := app.Input{Data: apptest.Examples(set), Seed: 3, Staleness: &staleness, Settings: map[string]string{"l2": "0.02", "l1": "0.001", "solver": solver}}
				p := problemOf(t, in)
				run, tables, epochs := trained(t, in, 2)
				got, want := objective(p, weightsOf(t, p, run, tables), 0.02, 0.001), optimum(t, p, 0.02, 0.001)
				if got > want*1.05 {
					t.Errorf("staleness %d, %s, %s: objective %.6f after %d epochs; the least is %.6f", staleness, form, solver, got, len(epochs), want)
				}
			}
		}
	}
}

// TestStepsMakeZeros: weights that l1 makes zero are so exactly, and by ftrl and adam they are those of dual ascent, which goes to the same best. The last
// gradients of sgd and adagrad throw some of them off again (Lee and Wright 2012, "Manifold identification in dual averaging").
func TestStepsMakeZeros(t *testing.T) {
	t.Parallel()
	zeros := map[string][]bool{}
	for _, solver := range []string{"dual", "sgd", "adagrad", "adam", "ftrl"} {
		in := app.Input{Data: apptest.Examples(rarely(500, 60, 1, true)), Seed: 3, Settings: map[string]string{"l2": "0.02", "l1": "0.004", "gap": "1e-4", "clocks": "20", "solver": solver}}
		run, tables, _ := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		for _, w := range m.Tensor("weights").Floats {
			zeros[solver] = append(zeros[solver], w == 0)
		}
		differ, none := 0, 0
		for j, zero := range zeros[solver] {
			if zero != zeros["dual"][j] {
				differ++
			}
			if zero {
				none++
			}
		}
		if noisy := solver == "sgd" || solver == "adagrad"; !noisy && (differ > 4 || none < 5) || none == 0 {
			t.Errorf("%s: %d weights are zero, and %d are where those of dual ascent are not, or not where they are", solver, none, differ)
		}
	}
}

// TestChargesOfAnEpoch: each weight that an epoch uses is charged for all its clocks, by the splits that use it together.
func TestChargesOfAnEpoch(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(rarely(300, 9000, 1, true)), Seed: 2, Settings: map[string]string{"solver": "sgd", "splits": "7", "clocks": "3"}})
	apptest.LayOut(t, p.Splits, p.prepare)
	charged := map[bellows.RowID]float64{}
	for _, u := range p.blocks {
		for k, j := range u.rows {
			charged[j] += float64(u.due[k])
		}
	}
	if len(charged) < 1000 {
		t.Fatalf("%d weights are charged", len(charged))
	}
	for j, sum := range charged {
		if math.Abs(sum-3) > 1e-5 {
			t.Errorf("weight %d is charged for %v clocks of 3", j, sum)
		}
	}
	if len(p.blocks[0].due) != len(p.blocks[0].rows) || !slices.Contains(p.blocks[0].due, 3) {
		t.Errorf("no weight of the first block is used once an epoch: %v", p.blocks[0].due)
	}
}
