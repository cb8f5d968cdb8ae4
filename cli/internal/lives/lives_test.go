package lives

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/cli/internal/cluster"
	"bellows/cli/internal/lead"
	"bellows/cli/internal/run"
	"bellows/node"
	"bellows/node/archive"
)

// led is the side of a job that a process takes over in its second term.
func led(t *testing.T, dir string) *lead.Lead {
	t.Helper()
	return &lead.Lead{Assignment: lead.Assignment{Job: 7, Order: "ABC", Term: 2, Run: dir, InRow: 1, Checkpoint: &cluster.Checkpoint{Era: 1, Commit: 9},
		Died: &cluster.Recovery{Died: "who led it", NoticedBy: "the manager", TookOver: "this", Units: 12, Seconds: 1.5, InRow: 1}}}
}

// TestARunIsTheJobsByItsOrder: what a job has begun it goes on with though it says --fresh, and where another has led it, in that folder; what it has finished is over. A run of the same command that is
// another job's is given up by --fresh.
func TestARunIsTheJobsByItsOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	claim := func(order string) *run.Folder {
		t.Helper()
		v := &Lives{Lead: &lead.Lead{Assignment: lead.Assignment{Order: order, Term: 2, Run: dir}}}
		req := run.Request{Config: run.Config{App: "mf"}, Out: "elsewhere", Fresh: true}
		v.Order(&req)
		f, err := run.Claim(req)
		if err == nil {
			err = f.Begin()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if claim("ABC").Resumed {
		t.Error("it goes on with nothing")
	}
	if !claim("ABC").Resumed {
		t.Error("the job does not go on with its own run")
	}
	if claim("DEF").Resumed {
		t.Error("another job goes on, though it is to begin")
	}
	l := led(t, dir)
	if Over(l) {
		t.Error("a run that goes on is over")
	}
	f, err := run.Claim(run.Request{Config: run.Config{App: "mf"}, Out: dir, Order: "ABC"})
	if err == nil {
		err = f.Done(run.Progress{})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	first, other := led(t, dir), led(t, dir)
	first.Term, other.Order = 1, "DEF"
	if !Over(l) || Over(first) || Over(other) {
		t.Errorf("it has finished: %v; to who leads first %v, to another job %v", Over(l), Over(first), Over(other))
	}
	if err := os.RemoveAll(dir); err != nil || Over(l) {
		t.Errorf("without a folder: %v", err)
	}
}

// TestARunThatHasGoneIsNamed where there was more of it, and who keeps no checkpoints ends.
func TestARunThatHasGoneIsNamed(t *testing.T) {
	v := &Lives{Lead: led(t, "runs/x")}
	if err := v.There(&run.Folder{}, true); bellows.KindOf(err) != bellows.NoInput || err.Error() != "go on with job 7: its run is not in runs/x any more, and had a checkpoint at record 9; bring the folder back and give the command again, or submit it again to start over" {
		t.Error(err)
	}
	if err := v.There(&run.Folder{}, false); bellows.KindOf(err) != bellows.Lost {
		t.Error(err)
	}
	saved := &run.Folder{Saved: &archive.Manifest{}}
	if err := v.There(saved, true); err != nil {
		t.Error(err)
	}
	v.Lead.Checkpoint = nil
	if err := v.There(&run.Folder{}, true); err != nil {
		t.Errorf("it had come to nothing: %v", err)
	}
	v.Lead.Died = nil
	if err := v.There(&run.Folder{}, false); err != nil {
		t.Errorf("the first: %v", err)
	}
}

// TestWhatATakeoverCostsIsTold, and an interruption at a safe point costs nothing.
func TestWhatATakeoverCostsIsTold(t *testing.T) {
	v := &Lives{Lead: led(t, "runs/x"), InRow: 1}
	f := &run.Folder{Dir: "runs/x", Life: 4, Saved: &archive.Manifest{At: archive.At{Era: 3, Commit: 9}}}
	e, ok := v.TookOver(f)
	want := "who led it; lost is what was done since the last checkpoint: 12 units, 1.50 s: the run goes on from the checkpoint at record 9 of era 3, in era 4, with this (1 of at most 5 times in a row without a new checkpoint)"
	if !ok || e.Sentence != want || e.Units != 0 && e.Rollback.Units != 12 || e.NoticedBy != "the manager" || len(v.Recoveries) != 1 {
		t.Errorf("%v %+v", ok, e)
	}
	v.Lead.Died.Units, v.Lead.Died.Seconds = -1, -1 // the manager died, too, and there is no log
	if e, _ := v.TookOver(f); !strings.Contains(e.Sentence, "who led it; lost is what was done since the last checkpoint: how much that is nobody knows any more: the run goes on") || e.Rollback.Units != -1 || e.Rollback.Lost != -1 {
		t.Errorf("%+v", e)
	}
	v.Recoveries = v.Recoveries[:1]
	v.lostAt = time.Now()
	v.GoesOn()
	if v.Recoveries[0].Seconds <= 0 {
		t.Error("the time until it went on is not noted")
	}
	f.Orderly = true
	if _, ok := v.TookOver(f); ok {
		t.Error("an orderly end is told as a loss")
	}
}

// TestARunIsRolledBackSoOften, and no more without a new checkpoint.
func TestARunIsRolledBackSoOften(t *testing.T) {
	v := &Lives{}
	for i := range cluster.InRowMost {
		if !v.May(node.Since{}) || v.InRow != i+1 {
			t.Fatalf("%d: %+v", i, v)
		}
	}
	if v.May(node.Since{}) || !v.May(node.Since{Commit: 1}) || v.InRow != 1 {
		t.Errorf("%+v", v)
	}
	if e := v.Rolled(&run.Folder{Dir: "x", Life: 1}, "node 3 ended", "others", node.Since{Units: 2, Trained: time.Second}); e.Rollback.ToCommit != 0 || e.Rollback.InRow != 1 || e.Rollback.Lost != 1 {
		t.Errorf("%+v", e)
	}
}
