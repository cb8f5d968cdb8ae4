package linear

import (
	"fmt"
	"math"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
)

// TestFiguresAreThoseOfTheKeptModel ends runs at many places, the last epoch now better and now worse than one before it: the figures of the model are those that its weights
// have, by each solver that keeps the best epoch.
func TestFiguresAreThoseOfTheKeptModel(t *testing.T) {
	t.Parallel()
	earlier := map[string]int{}
	for _, solver := range []string{"newton", "dual", "sgd"} {
		for last := 8; last < 24; last++ {
			set, test := made(300, 4, 1, true), made(200, 4, 2, true)
			in := app.Input{Data: apptest.Examples(set), Test: apptest.Examples(test), Seed: 4, Epochs: last, Settings: map[string]string{"loss": "hinge", "solver": solver, "l2": "0.001"}}
			run, tables, epochs := trained(t, in, 2)
			m := apptest.Model(t, run, tables)
			answers, err := openModel(m)
			if err != nil {
				t.Fatal(err)
			}
			p := problemOf(t, in)
			loss, right := 0.0, 0.0
			for r := range test.Rows() {
				score := answers.raw(p.Test, r)
				loss += p.loss.Value(score, float64(p.testOf[r])) / float64(test.Rows())
				right += p.judge(score, float64(p.testOf[r])) / float64(test.Rows())
			}
			if got := m.Metrics["test_loss"]; math.Abs(got-loss) > 1e-4*loss || math.Abs(m.Metrics["test_accuracy"]-right) > 1e-9 {
				t.Errorf("%s, %d epochs: the test loss of the model is %v and its accuracy %v, and it says %v", solver, last, loss, right, m.Metrics)
			}
			if fmt.Sprint(m.Metrics["test_loss"]) != fmt.Sprint(apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_loss")) {
				earlier[solver]++
			}
		}
	}
	if earlier["newton"] == 0 || earlier["dual"] == 0 {
		t.Errorf("no run has kept an epoch before the last: %v", earlier)
	}
}
