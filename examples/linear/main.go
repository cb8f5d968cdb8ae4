// Command linear is an example of linear regression written with the calls of Bösen: a loop per split that reads,
// increments and says Clock. A function per split reads the weights, computes on its rows, and increments the weights.
// The weights are read up to two clocks stale (SSP), so that no split waits for the slowest.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

const (
	features     = 4
	rows, splits = 4000, 8
	clocks       = 120
	step         = 0.1
	weights      = train.Table(0)
)

// data makes the rows of one split from a seed: y = 3 x0 - 2 x1 + 0.5 x2 + 1 with noise, where the
// last feature is the constant 1.
func data(split bellows.SplitID) (x [][features]float32, y []float32) {
	truth := [features]float32{3, -2, 0.5, 1}
	random := rand.New(rand.NewPCG(7, uint64(split)))
	for range rows / splits {
		row := [features]float32{features - 1: 1}
		target := truth[features-1] + float32(random.NormFloat64())*0.1
		for j := range features - 1 {
			row[j] = float32(random.NormFloat64())
			target += truth[j] * row[j]
		}
		x, y = append(x, row), append(y, target)
	}
	return x, y
}

func work(w *train.Worker) error {
	x, y := data(w.Split())
	for range clocks {
		row := w.PullRow(weights, 0)
		var delta [features]float32
		for i := w.Items().Begin; i < w.Items().End; i++ {
			residual := y[i]
			for j, v := range x[i] {
				residual -= row[j] * v
			}
			for j, v := range x[i] {
				delta[j] += step * residual * v / rows
			}
		}
		w.PushRow(weights, 0, delta[:])
		w.Clock()
	}
	return nil
}

func main() {
	job := train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: 1, Width: features, Consistency: table.SSP(2)}},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: rows / splits} },
	}
	train.Loop(&job, clocks, work)
	result, err := node.Train(context.Background(), job, node.Options{Slots: 2})
	if err != nil {
		log.Fatal(err)
	}
	for j, v := range result.Tables[weights] {
		fmt.Printf("weight %d  %.1f\n", j, v)
	}
	fmt.Printf("updates sent = applied: %v\n", result.Audit.Disagreements(true) == nil)
}
