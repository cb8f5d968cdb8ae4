//go:build unix

package manager

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/internal/jobstore"
	"bellows/port/registry/mem"
)

// TestAnotherProcessTakesOver kills a job's leader. The successor knows the job, its progress and the loss, and
// followers of the output miss nothing. The old leader's processes at nodes have ended by then.
func TestAnotherProcessTakesOver(t *testing.T) {
	store := mem.New("test")
	u := bringUpAt(t, store, 1, 0)
	job := u.submit("run=runs/one", "start", "cut", "awaits", "die=2", "led", "say=done")
	behind := u.submit("say=behind")
	out, talk, code := u.output(job.Job)
	if code != 0 || strings.Count(out, "dies in term") != 2 || !strings.HasSuffix(out, "done\n") || !strings.Contains(out, "term 3, in runs/one from 5, lost 1 in a row: the process that leads job 1 (") {
		t.Errorf("%q, %d", out, code)
	}
	if strings.Count(talk, "work since the last checkpoint is lost: 12 units, 1.50 s; another process, the ") != 2 || !strings.Contains(talk, "the 3rd that leads the job takes over (1 of at most 5 times in a row without a new checkpoint)") {
		t.Errorf("it is said %q", talk)
	}
	if out, _, code := u.output(behind.Job); out != "behind\n" || code != 0 {
		t.Errorf("the next: %q, %d", out, code)
	}
	s, err := u.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := s.Jobs[0]
	if j.Term != 3 || j.State != cluster.Ended || j.Checkpoint == nil || j.Checkpoint.Era != 3 || len(j.Recoveries) != 2 || s.Jobs[1].Began.Before(*j.Ended) {
		t.Fatalf("%+v", j)
	}
	if r := j.Recoveries[1]; r.Units != 12 || r.Seconds != 1.5 || r.NoticedBy != "the cluster's manager" || r.InRow != 1 || !strings.HasSuffix(r.Died, "signal: killed") {
		t.Errorf("%+v", r)
	}
}

// TestNodesContinueAfterLeaderDeath kills a leader that has reported what a successor needs: the successor gets the
// running processes, and nothing is lost. The limit of five times in a row also applies.
func TestNodesContinueAfterLeaderDeath(t *testing.T) {
	u := bringUpAt(t, mem.New("test"), 1, 0)
	job := u.submit("run=runs/one", "start", "cut", "succeed", "followed", "die=3", "say=done")
	out, talk, code := u.output(job.Job)
	if code != 0 || strings.Count(out, "dies in term") != 3 || strings.Count(out, "follows with 2 numbers and 1 processes, the first node 1 at node-1, behind 12 units") != 3 || !strings.HasSuffix(out, "done\n") {
		t.Errorf("%q, %d", out, code)
	}
	if strings.Count(talk, " takes its place, with what the job has at 1 node (1 of at most 5 times in a row without a new checkpoint)") != 3 || strings.Contains(talk, "lost is") {
		t.Errorf("it is said %q", talk)
	}
	s, err := u.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := s.Jobs[0]
	if j.Term != 4 || j.State != cluster.Ended || len(j.Recoveries) != 3 {
		t.Fatalf("%+v", j)
	}
	if r := j.Recoveries[2]; r.Units != 0 || r.Seconds != 0 || r.TookOver != "another process, the 4th that leads the job; its nodes continue" || r.InRow != 1 {
		t.Errorf("%+v", r)
	}
	job = u.submit("start", "succeed", "die=always")
	if out, _, code := u.output(job.Job); code != bellows.Lost.ExitCode() || strings.Count(out, "dies in term") != 1+cluster.InRowMost {
		t.Errorf("%q, %d", out, code)
	}
}

// TestManagerRepeatsUnansweredRequests to the successor of a killed process that had not answered; it also reports the
// ends of the job's processes meanwhile.
func TestManagerRepeatsUnansweredRequests(t *testing.T) {
	t.Parallel()
	theirs, ours := net.Pipe()
	defer theirs.Close()
	at := cluster.NewSession(ours, strings.NewReader(""))
	defer at.Close()
	j := &job{number: 3}
	m := &manager{asked: map[uint64]*question{7: {j, cluster.Message{Question: 7, Drain: &cluster.Drop{}}, nil}, 5: {j, cluster.Message{Question: 5, Scale: &cluster.Grow{}}, nil}, 6: {&job{}, cluster.Message{Question: 6}, nil}}}
	for range missedMost + 3 {
		if list := j.notifyLeader(cluster.Message{Process: 1, Wrote: []byte("x")}); list != nil {
			t.Fatal("somebody is told")
		}
	}
	j.notifyLeader(cluster.Message{Process: 2, Over: &cluster.Over{}})
	j.session = at
	list := m.meanwhile(j)
	if n := len(list); n != missedMost+3 || list[n-3].m.Over == nil || list[n-2].m.Question != 5 || list[n-1].m.Question != 7 {
		t.Errorf("%d messages, the last %+v", n, list[n-3:])
	}
	if list := m.meanwhile(j); len(list) != 2 || len(j.notifyLeader(cluster.Message{})) != 1 {
		t.Errorf("once more: %+v", list)
	}
}

// TestAbandonedRequestBlocksNothing: what was asked of a job is forgotten with its asker, and the manager answers others.
func TestAbandonedRequestBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := net.Pipe()
		go io.Copy(io.Discard, theirs)
		j := &job{number: 3, led: make(chan struct{}), over: make(chan struct{}), session: cluster.NewSession(ours, strings.NewReader(""))}
		m := &manager{asked: map[uint64]*question{}}
		for _, led := range []bool{false, true} {
			if led {
				close(j.led)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := m.ask(ctx, j, cluster.Message{Scale: &cluster.Grow{}}); bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "ask job 3: it has not answered") {
				t.Errorf("it says %v", err)
			}
			cancel()
			if !m.mu.TryLock() {
				t.Fatal("no other caller gets an answer")
			}
			if m.mu.Unlock(); len(m.asked) != 0 {
				t.Errorf("%d questions are kept", len(m.asked))
			}
		}
		j.session.Close()
		theirs.Close()
	})
}

// TestRepeatedDeathEndsJob: five times in a row without a new checkpoint another process takes over. Then the job is
// interrupted, with the exit code of lost nodes, and queued jobs run.
func TestRepeatedDeathEndsJob(t *testing.T) {
	u := bringUpAt(t, mem.New("test"), 1, 0)
	job := u.submit("die=always")
	behind := u.submit("say=behind")
	out, talk, code := u.output(job.Job)
	if code != bellows.Lost.ExitCode() || strings.Count(out, "dies in term") != 1+cluster.InRowMost {
		t.Errorf("%q, %d", out, code)
	}
	if !strings.Contains(talk, "the job gives up after 5 restarts in a row without a new checkpoint; the same command resumes it") {
		t.Errorf("it is said %q", talk)
	}
	if out, _, code := u.output(behind.Job); out != "behind\n" || code != 0 {
		t.Errorf("the next: %q, %d", out, code)
	}
	s, err := u.client.Status(t.Context())
	if err != nil || s.Jobs[0].State != cluster.Interrupted || s.Jobs[0].Term != 6 {
		t.Errorf("%+v, %v", s.Jobs[0], err)
	}
}

// TestCancelledJobIsNotResumed kills the leader of a cancelled job before its end: the job is interrupted.
func TestCancelledJobIsNotResumed(t *testing.T) {
	store := mem.New("test")
	u := bringUpAt(t, store, 1, 0)
	job := u.submit("wait=" + t.TempDir() + "/never")
	u.until(func(s *cluster.Status) bool { return s.Jobs[0].PID != 0 })
	s, err := u.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Jobs[0].PID, syscall.SIGSTOP); err != nil { // so that it does not end
		t.Fatal(err)
	}
	if err := u.client.Interrupt(t.Context(), job.Job); err != nil {
		t.Fatal(err)
	}
	list, _, err := store.Open().List(t.Context(), jobstore.JobsPrefix)
	var e jobstore.Job
	if err == nil {
		err = json.Unmarshal(list[0].Value, &e)
	}
	if err != nil || !e.Cancelled {
		t.Errorf("the registry has %+v, %v", e, err)
	}
	if err := syscall.Kill(s.Jobs[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, _, code := u.output(job.Job); code != bellows.Interrupted.ExitCode() {
		t.Errorf("it ends with %d", code)
	}
	if s, err := u.client.Status(t.Context()); err != nil || s.Jobs[0].Term != 1 || s.Jobs[0].State != cluster.Interrupted {
		t.Errorf("%+v, %v", s.Jobs[0], err)
	}
}

// TestNextManagerResumes if the old one was ended by a signal, and not by `down`.
func TestNextManagerResumes(t *testing.T) {
	store := mem.New("test")
	u := bringUpAt(t, store, 1, 0)
	job := u.submit("wait=" + t.TempDir() + "/gone")
	waits := u.submit("say=later")
	u.until(func(s *cluster.Status) bool { return s.Jobs[0].PID != 0 })
	u.end()
	if err := <-u.over; err != nil {
		t.Error(err)
	}
	u.over <- nil
	r := store.Open()
	for _, number := range []int{job.Job, waits.Job} {
		var e jobstore.Job
		at, err := r.Get(t.Context(), jobstore.JobKey(number))
		if err == nil {
			err = json.Unmarshal(at.Value, &e)
		}
		if err != nil || e.State != cluster.Queued || !e.Ended.IsZero() || (e.Term > 0) != (number == job.Job) {
			t.Errorf("job %d: %+v, %v", number, e, err)
		}
	}
}

// TestDeathsAreCounted by checkpoints in between, and the last are kept.
func TestDeathsAreCounted(t *testing.T) {
	now := time.Unix(1000, 0)
	var r recovering
	r.term = 20
	for i := range cluster.InRowMost {
		if took := r.falls("it died", false, now); took != "another process, the 21st that leads the job" || r.inRow != i+1 || r.died.InRow != i+1 {
			t.Fatalf("%d: %q, %+v", i, took, r)
		}
	}
	if r.died.Units != -1 || r.died.Seconds != -1 || !strings.HasSuffix(r.cost(), "if there was one, is lost, the amount is unknown to this manager") {
		t.Errorf("nothing was reported of it, and it has cost %+v: %s", r.died, r.cost())
	}
	if !r.hears(&cluster.Progress{Cost: &cluster.Cost{Units: 7, Seconds: 2}}) || r.recoveries[cluster.InRowMost-1].Units != 7 || r.report != nil || r.hears(&cluster.Progress{Cost: &cluster.Cost{Units: 8}}) {
		t.Errorf("its log has told what it has cost: %+v", r.recoveries)
	}
	if took := r.falls("it died", false, now); took != "" {
		t.Errorf("once more: %q", took)
	}
	cut := func(era uint32, commit uint64) bool {
		return r.hears(&cluster.Progress{Checkpoint: &cluster.Checkpoint{Era: era, Commit: commit}, Units: 3})
	}
	if !cut(2, 9) || r.inRow != 0 || cut(2, 9) || cut(1, 10) || !cut(3, 1) {
		t.Errorf("%+v", r)
	}
	if !r.hears(&cluster.Progress{InRow: 4, Recovery: &cluster.Recovery{Died: "node 3"}}) || r.inRow != 4 {
		t.Errorf("%+v", r)
	}
	if r.hears(&cluster.Progress{Checkpoint: &cluster.Checkpoint{Era: 3, Commit: 1}, Units: 3, Seconds: 2}); r.cost() != "work since the last checkpoint is lost: 3 units, 2.00 s" {
		t.Error(r.cost())
	}
	if r.falls("it died", false, now); r.died.Units != 3 || r.died.Seconds != 2 {
		t.Errorf("it has cost %+v", r.died)
	}
	for range 2 * cluster.RecoveriesKept {
		r.inRow = 0
		r.falls("it died", false, now)
	}
	if len(r.recoveries) != cluster.RecoveriesKept {
		t.Errorf("%d are kept", len(r.recoveries))
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 22: "22nd", 101: "101st", 111: "111th"} {
		if ordinal(n) != want {
			t.Errorf("%d: %s", n, ordinal(n))
		}
	}
}
