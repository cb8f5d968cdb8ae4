package node_test

import (
	"context"
	"fmt"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// words are counted: four splits of a text.
var words = [][]string{{"a", "rose"}, {"is", "a"}, {"rose", "is"}, {"a", "rose"}}

// A whole job in Bösen's form: one function a split, which adds to a table of counts and says Clock.
func ExampleTrain() {
	row := map[string]bellows.RowID{"a": 0, "rose": 1, "is": 2}
	job := train.Job{
		Tables: []table.Schema{{Name: "counts", Rows: len(row), Width: 1}},
		Splits: len(words),
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} },
	}
	train.Loop(&job, 1, func(w *train.Worker) error {
		for _, word := range words[w.Split()] {
			w.PushValue(0, row[word], 0, 1)
		}
		w.Clock()
		return nil
	})
	result, err := node.Train(context.Background(), job, node.Options{Slots: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a", result.Tables[0][0], "rose", result.Tables[0][1], "is", result.Tables[0][2])
	// Output: a 3 rose 3 is 2
}

// summing is an executor in Litz's form: it is called for each task, and signals what its driver is to know.
type summing struct{}

func (summing) RunTask(t *train.Task) error {
	sum := 0.0
	for i := t.Items().Begin; i < t.Items().End; i++ {
		sum += float64(i)
	}
	t.SignalTaskCompletion(sum)
	return nil
}

// The same with a driver and executors: in each of three rounds every split sums its items; the driver ends the job.
func ExampleTrain_driver() {
	job := train.Job{
		Tables: []table.Schema{{Name: "unused", Rows: 1, Width: 1}},
		Splits: 2,
		Items: func(s bellows.SplitID, _ bellows.Clock) bellows.Range {
			return bellows.Range{Begin: int(s) * 10, End: int(s)*10 + 10}
		},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return summing{}, nil },
		Driver: &train.Rounds{Splits: 2, Each: func(round int, results [][]float64, _ *train.Dispatcher) bool {
			fmt.Println("round", round, "sums", results[0][0], results[1][0])
			return round < 2
		}},
	}
	if _, err := node.Train(context.Background(), job, node.Options{Slots: 2}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// round 0 sums 45 145
	// round 1 sums 45 145
	// round 2 sums 45 145
}
