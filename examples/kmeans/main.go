// Command kmeans is an application in under 100 lines on the Litz model: a driver, an executor and
// two tables. Every clock each split assigns its points to the nearest centre and pushes how the sums
// of its clusters changed; what it contributed last is its lasting state, rows of a second table.
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
	centres, dims  = 3, 2
	width          = dims + 1 // of a row: the sum of a cluster's points, and their number
	splits, clocks = 8, 6
	sums, mine     = train.Table(0), train.Table(1)
)

// round prints the cost of a clock, summed over the splits, and says whether there is another.
func round(clock int, results [][]float64, _ *train.Dispatcher) bool {
	total := 0.0
	for _, r := range results {
		total += r[0]
	}
	fmt.Printf("clock %d  cost %.1f\n", clock+1, total)
	return clock+1 < clocks
}

// executor holds the points of one split.
type executor [][dims]float32

func (points executor) RunTask(t *train.Task) error {
	seen := t.PullRange(sums, 0, centres)
	home := bellows.RowID(t.Split()) * centres
	last := t.PullRange(mine, home, home+centres)
	var next [centres * width]float32
	cost := 0.0
	for _, p := range points[t.Items().Begin:t.Items().End] {
		best, least := 0, float32(1e30)
		for k := range centres {
			row := seen[k*width:]
			x, y := row[0]/max(row[dims], 1), row[1]/max(row[dims], 1)
			if row[dims] == 0 { // before the first clock: three corners
				x, y = float32(k%2)*10, float32(k/2)*10
			}
			if d := (p[0]-x)*(p[0]-x) + (p[1]-y)*(p[1]-y); d < least {
				best, least = k, d
			}
		}
		next[best*width] += p[0]
		next[best*width+1] += p[1]
		next[best*width+dims]++
		cost += float64(least)
	}
	for i := range next {
		next[i] -= last[i] // only the change travels
	}
	t.PushRange(sums, 0, next[:])
	t.PushRange(mine, home, next[:])
	t.SignalTaskCompletion(cost)
	return nil
}

func main() {
	job := train.Job{
		Tables: []table.Schema{
			{Name: "sums", Rows: centres, Width: width},
			{Name: "mine", Rows: splits * centres, Width: width, Partitions: splits},
		},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 500} },
		Driver: &train.Rounds{Splits: splits, Each: round},
		NewExecutor: func(s bellows.SplitID) (train.Executor, error) {
			random := rand.New(rand.NewPCG(1, uint64(s)))
			points := make(executor, 500)
			for i := range points {
				k := random.IntN(centres)
				points[i] = [dims]float32{float32(2+6*(k%2)) + float32(random.NormFloat64()), float32(3+5*(k/2)) + float32(random.NormFloat64())}
			}
			return points, nil
		},
	}
	result, err := node.Train(context.Background(), job, node.Options{Slots: 2})
	if err != nil {
		log.Fatal(err)
	}
	for k := range centres {
		row := result.Tables[sums][k*width:]
		fmt.Printf("centre %d at (%.2f, %.2f) with %.0f points\n", k, row[0]/row[dims], row[1]/row[dims], row[dims])
	}
}
