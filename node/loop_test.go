package node_test

import (
	"math"
	"testing"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// TestLoopShowsEpochs: a job of worker functions shows each clock with metrics of the numbers that they signalled, under every consistency, and can end early.
func TestLoopShowsEpochs(t *testing.T) {
	t.Parallel()
	const splits, clocks, rows = 4, 12, 25
	for name, c := range map[string]table.Consistency{"bsp": table.BSP, "ssp": table.SSP(2), "async": table.Async} {
		for _, last := range []int{3, clocks} {
			job := train.Job{
				Tables: []table.Schema{{Name: "sum", Rows: 1, Width: 1, Consistency: c}},
				Splits: splits,
				Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: rows} },
			}
			train.Loop(&job, clocks, func(w *train.Worker) error {
				for range clocks {
					w.PullRow(0, 0)
					w.PushRow(0, 0, []float32{1})
					w.SignalTaskCompletion(float64(w.Split()), float64(w.CurrentClock()))
					w.Clock()
				}
				return nil
			}).Each = func(clock int, results [][]float64) ([]train.Metric, bool) {
				sum := 0.0
				for s, r := range results {
					if len(r) != 2 || r[0] != float64(s) || r[1] != float64(clock) {
						t.Errorf("%s: split %d signalled %v in clock %d", name, s, r, clock)
					}
					sum += r[1]
				}
				return []train.Metric{{Name: "train_rmse", Value: sum / splits}}, clock+1 < last
			}
			var shown []train.Epoch
			res, err := node.Train(t.Context(), job, node.Options{Slots: 2, OnEpoch: func(e train.Epoch, _ node.Spent) { shown = append(shown, e) }})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			done := math.Round(float64(res.Tables[0][0]) / splits)
			if len(shown) != int(done) || len(shown) < last || c == table.BSP && len(shown) > last+1 {
				t.Errorf("%s: %d epochs are shown of %v clocks, which were to be %d", name, len(shown), done, last)
			}
			for i, e := range shown {
				if e.Number != i+1 || len(e.Metrics) != 1 || e.Metrics[0].Value != float64(i) || e.Items < int64(splits*rows*(i+1)) || i+1 == len(shown) && e.Items != int64(splits*rows)*int64(done) {
					t.Errorf("%s: epoch %d is %+v", name, i+1, e)
				}
			}
		}
	}
}
