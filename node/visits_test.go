package node_test

import (
	"context"
	"testing"

	"bellows"
	"bellows/core/visits"
	"bellows/internal/require"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// visitsSeen checks commits against what the job states. Only the reporter calls it.
type visitsSeen struct {
	proof  *visits.Proof
	items  int64 // of an epoch
	epochs int   // reported
	fault  error
}

func watchVisits(t *testing.T, job train.Job) *visitsSeen {
	t.Helper()
	opens, clocks := job.Driver.(visits.Cycler).Cycle()
	say, err := visits.State(job.Splits, opens, clocks, job.Items)
	require.NoError(t, err)
	p, err := visits.NewProof(say)
	require.NoError(t, err)
	return &visitsSeen{proof: p, items: visits.Items(say.Epoch)}
}

func (v *visitsSeen) take(b visits.Batch) {
	if v.fault == nil {
		v.fault = v.proof.Take(b)
	}
}

// epoch runs after all that the epoch visited.
func (v *visitsSeen) epoch(e train.Epoch, _ node.Spent) {
	v.epochs = e.Number
	if v.fault == nil {
		v.fault = v.proof.EpochsOver(e.Number)
	}
}

func (v *visitsSeen) goesOn(t *testing.T, im *train.Image) {
	t.Helper()
	v.proof.Stop()
	if err := v.proof.Resume(im.State.Complete, im.State.Open); err != nil {
		t.Error(err)
	}
}

// ended fails the test unless each item was visited once in each epoch, and there was one.
func (v *visitsSeen) ended(t *testing.T) {
	t.Helper()
	if v.fault == nil {
		v.fault = v.proof.EpochsOver(v.epochs)
	}
	if a := v.proof.Account(); v.fault != nil || a.Epochs != v.epochs || a.Begun > 0 || a.Visited-a.Before != int64(a.Epochs)*v.items || v.items == 0 {
		t.Errorf("%v, %+v", v.fault, a)
	}
}

// TestVisitsReportCountedItems in one process and in several, with units of several to a clock, and clocks that drift apart.
func TestVisitsReportCountedItems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		epochs int
		job    func(bellows.NodeID) train.Job
	}{
		"rounds": {9, func(bellows.NodeID) train.Job { return job(9, drift) }},
		"units": {9, func(bellows.NodeID) train.Job {
			j := job(9, drift)
			j.Units = func(s bellows.SplitID, c bellows.Clock) int { return 1 + (int(s)+int(c))%3 }
			j.Tables[0].Consistency = table.Async
			return j
		}},
		"drift": {300, func(bellows.NodeID) train.Job { // more than a batch has
			j := job(0, drift)
			j.Tables[0].Consistency = table.SSP(2)
			j.Driver = &train.Clocks{Splits: j.Splits, Count: 300}
			return j
		}},
	} {
		for where, members := range map[string][]node.Member{"one process": nil, "several": shapes["leader leads"]} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				seen := watchVisits(t, c.job(0))
				opt := node.Options{OnVisits: seen.take, Slots: 2}
				if members != nil {
					gang{members: members, job: c.job, lead: opt}.done(t)
				} else if _, err := node.Train(context.Background(), c.job(0), opt); err != nil {
					t.Fatal(err)
				}
				seen.epochs = c.epochs
				seen.ended(t)
			})
		}
	}
}
