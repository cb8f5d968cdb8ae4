package node_test

import (
	"context"
	"slices"
	"testing"

	"bellows"
	"bellows/node"
	"bellows/train"
)

// itemByItem changes a row for each item, by what that row is, with what the task has added.
func itemByItem(t *train.Task) error {
	for i := t.Items().Begin; i < t.Items().End; i++ {
		row := bellows.RowID(i % 8)
		v := t.PullRow(0, row)
		t.PushRow(0, row, []float32{v[0]*0.01*float32(t.Split()+1) + float32(i)*0.37, v[1]*0.1 - float32(t.Clock())*1e-3})
	}
	t.SignalTaskCompletion(float64(t.Items().Len()))
	return nil
}

// TestDividedClocksRepeatOnAnyNodes divides the clocks of a job into units, of any number, on one node and on several:
// the model has the same bits, and the driver receives each unit.
func TestDividedClocksRepeatOnAnyNodes(t *testing.T) {
	t.Parallel()
	divided := func() train.Job {
		j := job(6, itemByItem)
		j.Units = func(s bellows.SplitID, c bellows.Clock) int { return (int(s) + 3*int(c)) % 12 }
		each := j.Driver.(*train.Rounds).Each
		j.Driver = &train.Rounds{Splits: 4, Each: func(round int, results [][]float64, to *train.Dispatcher) bool {
			for s, r := range results {
				items := 0.0
				for _, x := range r {
					items += x
				}
				if units := max(1, min(10, (s+3*round)%12)); len(r) != units || items != 10 {
					t.Errorf("round %d: split %d has signalled %v; it has %d units", round, s, r, units)
				}
			}
			return each(round, results, to)
		}}
		return j
	}
	one, err := node.Train(context.Background(), divided(), node.Options{})
	if err != nil || one.Audit.Disagreements(true) != nil {
		t.Fatalf("on one node: %v, audit %+v", err, one.Audit)
	}
	for name, members := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gang{members: members, job: func(bellows.NodeID) train.Job { return divided() }}.done(t)
			if !slices.Equal(r.Tables[0], one.Tables[0]) || r.Audit.Disagreements(true) != nil {
				t.Errorf("ends at %v, on one node at %v; audit %+v", r.Tables[0], one.Tables[0], r.Audit)
			}
		})
	}
}

// TestOneUnitIsUndivided states that each clock is one unit: the model has the bits of a job that
// does not divide its clocks.
func TestOneUnitIsUndivided(t *testing.T) {
	t.Parallel()
	j := job(6, itemByItem)
	j.Units = func(bellows.SplitID, bellows.Clock) int { return 1 }
	one, whole := runAlone(t, j, node.Options{}), runAlone(t, job(6, itemByItem), node.Options{})
	if !slices.Equal(one.Tables[0], whole.Tables[0]) {
		t.Errorf("ends at %v, undivided at %v", one.Tables[0], whole.Tables[0])
	}
}
