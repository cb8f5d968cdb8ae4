package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows/api"
	"bellows/core/visits"
	"bellows/internal/require"
	"bellows/node"
	"bellows/node/archive"
	"bellows/port/blob/mem"
	"bellows/train"
)

// TestCheckpointIntervalMinimisesCost: by the formula between its bounds, and never so short that cuts take more than 2 %.
func TestCheckpointIntervalMinimisesCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cut   time.Duration
		nodes int
		want  time.Duration
	}{
		{0, 1, 10 * time.Second},
		{5 * time.Millisecond, 1, 10 * time.Second}, // sqrt(2 * 0.005 * 9000) = 9.5
		{500 * time.Millisecond, 1, 94868 * time.Millisecond},
		{500 * time.Millisecond, 4, 47434 * time.Millisecond},
		{500 * time.Millisecond, 100, 25 * time.Second},
		{10 * time.Second, 1, 500 * time.Second},
		{20 * time.Second, 4, 1000 * time.Second},
		{time.Second, 0, 134164 * time.Millisecond},
	} {
		if got := node.Interval(c.cut, c.nodes); got.Truncate(time.Millisecond) != c.want {
			t.Errorf("a cut of %v on %d nodes: each %v, want %v", c.cut, c.nodes, got, c.want)
		}
	}
}

// TestAJobIsSavedWhileItRuns interrupts a job when it has a cut, removes what the interruption saved, and resumes from
// the cut: the result is that of a job that ran through, bit for bit. A later failure to write costs neither the job
// nor that cut.
func TestAJobIsSavedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	open := func() *archive.Archive {
		a, err := archive.Open(s, archive.ID{1}, job(1, drift).Tables)
		require.NoError(t, err)
		return a
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	gone := false // nothing is written any more
	s.Fail = func(op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if gone && (op == "create" || op == "delete") {
			return errors.New("the process is gone")
		}
		return nil
	}
	_, err := node.Train(ctx, job(1<<20, drift), node.Options{Slots: 2, Lanes: 3, Era: 3, Checkpoints: &node.Checkpoints{Archive: open(), Every: time.Millisecond,
		Note: func(node.Spent) json.RawMessage { return json.RawMessage(`"so"`) },
		OnCut: func(c node.Checkpoint) {
			if c.Commit == 0 || c.Written == 0 || c.Every != time.Millisecond {
				t.Errorf("%+v", c)
			}
			mu.Lock()
			gone = true
			mu.Unlock()
			stop()
		}}})
	require.NoError(t, err)
	a := open()
	m, passed, err := a.Latest(t.Context())
	if err != nil || len(passed) > 0 || m == nil || m.Era != 3 || string(m.Run) != `"so"` {
		t.Fatalf("%+v, %v, %v", m, passed, err)
	}
	rounds := int(slices.Max(m.State().Complete)) + 7
	whole := runAlone(t, job(rounds, drift), node.Options{Slots: 2, Lanes: 3})
	r, err := node.Train(t.Context(), job(rounds, drift), node.Options{Slots: 1, Lanes: 2, Resume: a.Saved(t.Context(), m)})
	if err != nil || !slices.Equal(r.Tables[0], whole.Tables[0]) || r.Commits >= whole.Commits {
		t.Errorf("after %d rounds it has %v by %d records, and %v by %d without: %v", rounds, r.Tables, r.Commits, whole.Tables, whole.Commits, err)
	}
}

// TestLastCheckpointIsVisible checks its age and the work since, in virtual time, where each task takes a millisecond
// and nothing else any; the result has the same.
func TestLastCheckpointIsVisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(t *train.Task) error {
			<-time.After(time.Millisecond)
			return drift(t)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var watch node.Watch
		var last node.Checkpoint
		cuts := 0
		r, err := node.Train(ctx, job(1<<20, slow), node.Options{Lanes: 2, Watch: &watch, Era: 3, Checkpoints: &node.Checkpoints{Archive: archiveOf(t, mem.New("a"), job(1, drift)), Every: 100 * time.Millisecond,
			OnCut: func(c node.Checkpoint) {
				last = c
				if cuts++; cuts == 3 {
					defer stop()
				}
				at, err := watch.Look(t.Context())
				<-time.After(50 * time.Millisecond)
				later, wrong := watch.Look(t.Context())
				if err != nil || wrong != nil {
					t.Error(err, wrong)
					return
				}
				for _, p := range []*api.Checkpoint{at.Checkpoint, later.Checkpoint} {
					if p.Commit != uint64(c.Commit) || p.Bytes != c.Written || p.Bytes == 0 || p.Era != 3 {
						t.Errorf("it is %+v, of %+v", p, c)
					}
				}
				if a, b := at.Checkpoint, later.Checkpoint; a.Age != 0 || a.Units > 4 || b.Age != 0.05 || b.Units-a.Units < 48 || b.Units-a.Units > 52 || b.Seconds-a.Seconds != 0.05 {
					t.Errorf("50 ms make %+v of %+v", b, a)
				}
			}}})
		if s := r.Since; err != nil || s.Commit != last.Commit || s.Units < 48 || s.Units > 60 || s.Trained < 50*time.Millisecond || s.Trained > 60*time.Millisecond {
			t.Errorf("behind its end it is %+v since %+v, %v", r.Since, last, err)
		}
	})
}

// TestACheckpointWaitsForTheLog blocks the first report of commits up to a checkpoint for a second of virtual time, in
// which the job runs. The checkpoint is published after that: a job that resumes from it finds the commits in the log.
func TestACheckpointWaitsForTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(t *train.Task) error {
			<-time.After(time.Millisecond)
			return drift(t)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := mem.New("a")
		blocked, cuts := false, 0
		_, err := node.Train(ctx, job(1<<20, slow), node.Options{Lanes: 2,
			OnVisits: func(b visits.Batch) {
				if !b.Stop || blocked {
					return
				}
				blocked = true
				<-time.After(time.Second)
				if m, _, err := archiveOf(t, s, job(1, drift)).Latest(t.Context()); m != nil || err != nil {
					t.Errorf("%+v, %v: a checkpoint is there before the log has what counts up to record %d", m, err, b.Last)
				}
			},
			Checkpoints: &node.Checkpoints{Archive: archiveOf(t, s, job(1, drift)), Every: 10 * time.Millisecond, OnCut: func(node.Checkpoint) {
				cuts++
				stop()
			}}})
		if err != nil || !blocked || cuts == 0 {
			t.Errorf("%v; blocked %t, %d checkpoints", err, blocked, cuts)
		}
	})
}
