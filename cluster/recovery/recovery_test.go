package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/api"
	"bellows/cluster"
	"bellows/cluster/clustertest"
	"bellows/cluster/lead"
	"bellows/link/secure"
	"bellows/node"
	"bellows/node/archive"
	"bellows/run"
	"bellows/run/board"
	"bellows/vec"
)

// led returns the side of a job that a process takes over in its second term.
func led(t *testing.T, dir string) *lead.Lead {
	t.Helper()
	return &lead.Lead{Assignment: lead.Assignment{Job: 7, Order: "ABC", Term: 2, Run: dir, InRow: 1, Checkpoint: &cluster.Checkpoint{Era: 1, Commit: 9},
		Died: &cluster.Recovery{Died: "who led it", NoticedBy: "the manager", TookOver: "this", Units: 12, Seconds: 1.5, InRow: 1}}}
}

// TestOrderIdentifiesRun checks that a job resumes its own run despite --fresh, and in the folder of an earlier leader;
// a finished run is over. --fresh gives up a run of the same command that belongs to another job.
func TestOrderIdentifiesRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	claim := func(order string) *run.Folder {
		t.Helper()
		v := &Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: order, Term: 2, Run: dir}}}
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
		t.Error("the job does not resume its own run")
	}
	if claim("DEF").Resumed {
		t.Error("another job resumes, though it should begin")
	}
	l := led(t, dir)
	if Finished(l) {
		t.Error("a resumed run is over")
	}
	f, err := run.Claim(run.Request{Config: run.Config{App: "mf"}, Out: dir, Order: "ABC"})
	if err == nil {
		err = f.Done(run.Progress{}, run.End{})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	first, other := led(t, dir), led(t, dir)
	first.Term, other.Order = 1, "DEF"
	if !Finished(l) || Finished(first) || Finished(other) {
		t.Errorf("it has finished: %v; to the first leader %v, to another job %v", Finished(l), Finished(first), Finished(other))
	}
	if err := os.RemoveAll(dir); err != nil || Finished(l) {
		t.Errorf("without a folder: %v", err)
	}
}

// TestMissingRunIsNamed if more of it was there before; a run without checkpoints ends.
func TestMissingRunIsNamed(t *testing.T) {
	v := &Recovery{Lead: led(t, "runs/x")}
	if err := v.CheckRunExists(&run.Folder{}, true); bellows.KindOf(err) != bellows.NoInput || err.Error() != "resume job 7: its run is no longer in runs/x, and had a checkpoint at record 9; bring the folder back and give the command again, or submit it again to start over" {
		t.Error(err)
	}
	if err := v.CheckRunExists(&run.Folder{}, false); bellows.KindOf(err) != bellows.Lost {
		t.Error(err)
	}
	saved := &run.Folder{Saved: &archive.Manifest{}}
	if err := v.CheckRunExists(saved, true); err != nil {
		t.Error(err)
	}
	v.Lead.Checkpoint = nil
	if err := v.CheckRunExists(&run.Folder{}, true); err != nil {
		t.Errorf("it had come to nothing: %v", err)
	}
	v.Lead.Died = nil
	if err := v.CheckRunExists(&run.Folder{}, false); err != nil {
		t.Errorf("the first: %v", err)
	}
}

// TestTakeoverCostIsReported, and an interruption at a safe point costs nothing.
func TestTakeoverCostIsReported(t *testing.T) {
	v := &Recovery{Lead: led(t, "runs/x"), InRow: 1}
	f := &run.Folder{Dir: "runs/x", Life: 4, Saved: &archive.Manifest{At: archive.At{Era: 3, Commit: 9}}}
	e, ok := v.Takeover(f)
	want := "who led it; work since the last checkpoint is lost: 12 units, 1.50 s: the run resumes from the checkpoint at record 9 of era 3, in era 4, with this (1 of at most 5 times in a row without a new checkpoint)"
	if !ok || e.Sentence != want || e.Units != 0 && e.Rollback.Units != 12 || e.NoticedBy != "the manager" || len(v.Recoveries) != 1 {
		t.Errorf("%v %+v", ok, e)
	}
	v.Lead.Died.Units, v.Lead.Died.Seconds = -1, -1 // the manager also died, and the log is missing
	if e, _ := v.Takeover(f); !strings.Contains(e.Sentence, "who led it; work since the last checkpoint is lost, the amount is unknown: the run resumes") || e.Rollback.Units != -1 || e.Rollback.Lost != -1 {
		t.Errorf("%+v", e)
	}
	v.Recoveries = v.Recoveries[:1]
	v.lostAt = time.Now()
	v.Resumed()
	if v.Recoveries[0].Seconds <= 0 {
		t.Error("the time until it resumed is not noted")
	}
	f.Orderly = true
	if _, ok := v.Takeover(f); ok {
		t.Error("an orderly end is reported as a loss")
	}
}

// TestARunIsRolledBackSoOften, and no more without a new checkpoint.
func TestARunIsRolledBackSoOften(t *testing.T) {
	v := &Recovery{}
	for i := range cluster.InRowMost {
		if !v.CanRollBack(node.Since{}) || v.InRow != i+1 {
			t.Fatalf("%d: %+v", i, v)
		}
	}
	if v.CanRollBack(node.Since{}) || !v.CanRollBack(node.Since{Commit: 1}) || v.InRow != 1 {
		t.Errorf("%+v", v)
	}
	if e := v.RolledBack(&run.Folder{Dir: "x", Life: 1}, "node 3 ended", "others", node.Since{Units: 2, Trained: time.Second}); e.Rollback.ToCommit != 0 || e.Rollback.InRow != 1 || e.Rollback.Lost != 1 {
		t.Errorf("%+v", e)
	}
}

// TestFollowerRequestsRun once the run is known; a first leader begins where it is asked to.
func TestFollowerRequestsRun(t *testing.T) {
	for _, c := range []struct {
		term      int
		run, want string
	}{{1, "", "mine"}, {1, "runs/x", "mine"}, {2, "", "mine"}, {2, "runs/x", "runs/x"}} {
		v := &Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: "ABC", Term: c.term, Run: c.run, InRow: 3}}}
		req := run.Request{Out: "mine"}
		if v.Order(&req); req.Out != c.want || req.Order != "ABC" || v.InRow != 3 {
			t.Errorf("term %d, run %q: it asks for %+v, %d in a row", c.term, c.run, req, v.InRow)
		}
	}
	req := run.Request{Out: "mine"}
	if (&Recovery{}).Order(&req); req.Out != "mine" || req.Order != "" {
		t.Errorf("no job of a cluster asks for %+v", req)
	}
}

// TestProgressIsReportedToManager once a second, and for a checkpoint without delay, while the job runs; not if it is
// unknown.
func TestProgressIsReportedToManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // of what follows, up to told
		var shown *api.Checkpoint
		var failed error
		var told []cluster.Progress
		show := func(c *api.Checkpoint, err error) {
			mu.Lock()
			defer mu.Unlock()
			shown, failed = c, err
		}
		b := board.New(api.Status{}, 0, func(context.Context) (api.Progress, error) {
			mu.Lock()
			defer mu.Unlock()
			return api.Progress{Checkpoint: shown}, failed
		})
		v := &Recovery{}
		v.Order(&run.Request{})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan bool)
		go func() {
			v.notify(ctx, b, func(p cluster.Progress) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, p)
			})
			close(over)
		}()
		expect := func(when string, want ...cluster.Progress) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !reflect.DeepEqual(told, want) {
				t.Errorf("%s it receives %+v, want %+v", when, told, want)
			}
			told = nil
		}
		<-time.After(tellEvery + time.Millisecond)
		expect("of a job that keeps no checkpoints")
		show(&api.Checkpoint{Units: 5, Seconds: 2}, nil)
		expect("before a second is over")
		<-time.After(tellEvery)
		expect("before the first checkpoint", cluster.Progress{Units: 5, Seconds: 2})
		show(nil, errors.New("the job is closing"))
		v.ReportCheckpoint()
		expect("while the progress is unknown")
		show(&api.Checkpoint{Era: 2, Commit: 9, Bytes: 70, Age: 0.25, Units: 1, Seconds: 0.5}, nil)
		v.ReportCheckpoint()
		expect("at a checkpoint", cluster.Progress{Units: 1, Seconds: 0.5, Checkpoint: &cluster.Checkpoint{Era: 2, Commit: 9, Bytes: 70, At: time.Now().Add(-250 * time.Millisecond)}})
		v.ReportCheckpoint()
		v.ReportCheckpoint() // it is being told
		cancel()
		<-over
		told = nil
		<-time.After(2 * tellEvery)
		expect("behind its end")
	})
}

// TestAManagerHearsOfACheckpoint of a job that it has started.
func TestAManagerHearsOfACheckpoint(t *testing.T) {
	t.Parallel()
	called := make(chan *cluster.Session, 1)
	server := clustertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", cluster.Upgrade)
		s := cluster.NewSession(conn, strings.NewReader(""))
		_, err = s.Receive() // its hello
		if err == nil {
			err = s.Send(cluster.Message{Welcome: &cluster.Welcome{Node: "node-0"}})
		}
		if err != nil {
			t.Error(err)
		}
		called <- s
	})
	defer server.Close()
	line, err := json.Marshal(lead.Assignment{Address: server.Address, Identity: server.Member(t, secure.Controller, "job-7"), Job: 7, Places: []cluster.Place{{Node: "node-1", Slots: 1, Kernels: []string{vec.Kernels()}}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lead.Take(t.Context(), bytes.NewReader(append(line, '\n')), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := <-called
	defer s.Close()
	v := &Recovery{Lead: l}
	v.Order(&run.Request{})
	v.ReportCheckpoint() // so that it waits for no second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		v.NotifyManager(ctx, board.New(api.Status{}, 0, func(context.Context) (api.Progress, error) {
			return api.Progress{Checkpoint: &api.Checkpoint{Era: 2, Commit: 9, Units: 4}}, nil
		}))
		s.Close() // without a report
		close(ended)
	}()
	if m, err := s.Receive(); err != nil || m.Progress == nil || m.Progress.Units != 4 || m.Progress.Checkpoint == nil || m.Progress.Checkpoint.Commit != 9 {
		t.Errorf("the manager hears %+v, %v", m, err)
	}
	cancel()
	<-ended
}

// TestStandaloneJobReportsNothing checks that it does not wait either.
func TestStandaloneJobReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		(&Recovery{}).NotifyManager(ctx, board.New(api.Status{}, 0, nil))
		(&Recovery{}).ReportCheckpoint()
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waits %v", waited)
		}
	})
}

// TestClaimWaitsForPreviousLeader until it has left the run's folder, for a minute at most; a first leader does not
// wait.
func TestClaimWaitsForPreviousLeader(t *testing.T) {
	for _, c := range []struct {
		name        string
		lives       Recovery
		free, ended time.Duration // when the folder is left, and the command interrupted; 0: never
		want        bellows.Kind  // of the error; 0: none
		least, most time.Duration
		says        bool
	}{
		{"it leaves", Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: "ABC", Job: 7, Term: 2}}}, 3100 * time.Millisecond, 0, 0, 3100 * time.Millisecond, 3100*time.Millisecond + tryEvery, true},
		{"it stays", Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: "ABC", Job: 7, Term: 2}}}, 0, 0, bellows.Refused, leavesWithin, leavesWithin, true},
		{"the command is interrupted", Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: "ABC", Job: 7, Term: 2}}}, 0, time.Second, bellows.Interrupted, time.Second, time.Second, true},
		{"it leads first", Recovery{Lead: &lead.Lead{Assignment: lead.Assignment{Order: "ABC", Job: 7, Term: 1}}}, 0, 0, bellows.Refused, 0, 0, false},
		{"it is no job of a cluster", Recovery{}, 0, 0, bellows.Refused, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req := run.Request{Config: run.Config{App: "mf"}, Out: filepath.Join(t.TempDir(), "run"), Order: "ABC"}
				folder := req.Out
				before, err := run.Claim(req)
				if err != nil {
					t.Fatal(err)
				}
				if l := c.lives.Lead; l != nil && l.Term > 1 { // the manager's word for it counts
					req.Out, req.Order, l.Run = filepath.Join(t.TempDir(), "other"), "", folder
				}
				leave := sync.OnceFunc(func() {
					if before.Close() != nil {
						t.Error("it cannot leave")
					}
				})
				if c.free > 0 {
					time.AfterFunc(c.free, leave)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.ended > 0 {
					time.AfterFunc(c.ended, cancel)
				}
				said := ""
				began := time.Now()
				f, err := c.lives.Claim(ctx, req, func(format string, args ...any) { said = fmt.Sprintf(format, args...) })
				if waited := time.Since(began); (err != nil || c.want != 0) && bellows.KindOf(err) != c.want || waited < c.least || waited > c.most {
					t.Errorf("after %v: %v", waited, err)
				}
				if want := fmt.Sprintf("the process that led job 7 before is in %s still: it is waited for, 1m0s at most", folder); c.says && said != want || !c.says && said != "" {
					t.Errorf("it says %q", said)
				}
				if f != nil {
					f.Close()
				}
				leave()
			})
		})
	}
}
