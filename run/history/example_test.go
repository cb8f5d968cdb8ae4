package history_test

import (
	"fmt"

	"bellows/run"
	"bellows/run/event"
	"bellows/run/history"
)

// A program other than the command reads a run folder: its configuration, its events, and what the event log proves.
func Example() {
	const folder = "testdata/mlr-1"
	past, err := run.Look(folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s with seed %d, finished: %v\n", past.Config.App, past.Config.Seed, past.Finished)

	r, err := history.Open(folder, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	var verifier history.Verifier
	for {
		line, err := r.Next()
		if err != nil || line == nil {
			break
		}
		e, err := history.Decode(line)
		if err == nil && e.Kind == event.Epoch {
			fmt.Printf("epoch %d: test accuracy %.2f\n", *e.Epoch, e.Metrics["test_accuracy"])
		}
		if err := verifier.Take(line); err != nil {
			fmt.Println(r.Unproved(err))
			return
		}
	}
	proved, err := verifier.Conclude(r.Busy())
	if err != nil {
		fmt.Println(r.Unproved(err))
		return
	}
	fmt.Println(proved.Proofs[0].Sentence())
	// Output:
	// mlr with seed 1, finished: true
	// epoch 1: test accuracy 0.81
	// epoch 2: test accuracy 0.82
	// proved: each of the 18 018 items of 16 splits that an epoch visits was visited once in each of 2 epochs: 36 036 visits count
}
