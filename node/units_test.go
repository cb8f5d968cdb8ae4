package node_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/port/blob/mem"
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

// TestResumeFromHalfAClock keeps the second unit of a split from its end until a checkpoint has been written in which
// only the first one counts. From then on nothing is stored any more, as if all processes had been killed. The job
// resumes from that checkpoint, on one node and on several: it has the bits of a run that was never stopped, and visits
// each item once.
func TestResumeFromHalfAClock(t *testing.T) {
	t.Parallel()
	const rounds = 3
	half := make(chan struct{})
	divided := func(run func(*train.Task) error) train.Job {
		j := job(rounds, run)
		j.Units = func(bellows.SplitID, bellows.Clock) int { return 2 }
		return j
	}
	whole := runAlone(t, divided(itemByItem), node.Options{})
	// Rows are read from lanes of another node. The first unit leaves when the second one waits for a row.
	waits := func(t *train.Task) error {
		err := itemByItem(t)
		if t.Split() == 0 && t.Clock() == 1 && t.Items().Begin > 0 {
			<-half
		}
		return err
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var gone atomic.Bool
	s := mem.New("a")
	s.Fail = func(op, _ string) error {
		if gone.Load() && (op == "create" || op == "delete") {
			return errors.New("the process is gone")
		}
		return nil
	}
	seen := watchVisits(t, divided(waits))
	workers := gang{members: []node.Member{{Lanes: 2}, {Node: 1, Slots: 1}, {Node: 2, Slots: 1}, {Node: 3, Slots: 1},
		{Node: 4, Slots: 1}}, job: func(bellows.NodeID) train.Job { return divided(waits) }}
	a := archiveOf(t, s, divided(waits))
	first := workers
	first.lead = node.Options{OnVisits: seen.take, Era: 1, Checkpoints: &node.Checkpoints{Archive: a, Every: time.Millisecond,
		OnCut: func(node.Checkpoint) {
			m, _, err := a.Latest(t.Context())
			if err != nil || gone.Load() || !slices.ContainsFunc(m.State().Open, func(u bellows.Unit) bool { return u.Split == 0 }) {
				return
			}
			gone.Store(true)
			stop()
			close(half)
		}}}
	_, _, err := first.run(ctx, t)
	require.NoError(t, err)
	m, _, err := a.Latest(t.Context())
	require.NoError(t, err)
	state, gathered := m.State(), 0
	for p := range bellows.PartitionID(4) {
		live, _, err := a.Partition(t.Context(), m, bellows.PartitionRef{Partition: p})
		require.NoError(t, err)
		gathered += len(live.Gathered)
	}
	if len(state.Open) == 0 || gathered == 0 {
		t.Fatalf("%v count, and %d sums are gathered", state.Open, gathered)
	}
	require.NoError(t, seen.proof.Resume(state.Complete, state.Open))
	one := runAlone(t, divided(waits), node.Options{Slots: 2, Lanes: 3, Resume: a.Saved(t.Context(), m), OnVisits: seen.take})
	seen.epochs = rounds
	seen.ended(t)
	next := workers
	next.resume = a.Saved(t.Context(), m)
	for name, r := range map[string]*node.Result{"one node": one, "several": next.done(t)} {
		if !slices.Equal(r.Tables[0], whole.Tables[0]) || r.Audit.Disagreements(true) != nil {
			t.Errorf("on %s it ends at %v, and without a stop at %v; audit %+v", name, r.Tables[0], whole.Tables[0], r.Audit)
		}
	}
}
