package jobs

import (
	"testing"

	"bellows/node"
	"bellows/train"
)

// TestPacedJobHasAnEpochAClock trains a job without times. In each clock all splits change the same rows.
func TestPacedJobHasAnEpochAClock(t *testing.T) {
	t.Parallel()
	p := &Paced{Rows: 20, Touched: 5, Partitions: 2, Items: []int{3, 1}}
	m, err := Order{App: PacedApp, Epochs: 4, Paced: p}.Make()
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Job.Items(0, 2).Len(); n != 3 {
		t.Errorf("split 0 has %d items", n)
	}
	epochs := 0
	r, err := node.Train(t.Context(), m.Job, node.Options{OnEpoch: func(train.Epoch, node.Spent) { epochs++ }})
	if err != nil || epochs != 4 {
		t.Fatalf("%d epochs, %v", epochs, err)
	}
	if touched, other := r.Tables[0][0], r.Tables[0][5*clockWidth]; touched != 8 || other != 0 {
		t.Errorf("two splits change a row %v times in 4 clocks, and another one %v times", touched, other)
	}
}
