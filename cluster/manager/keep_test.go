//go:build unix

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellows/cluster"
	"bellows/cluster/internal/jobstore"
	"bellows/port/registry"
	"bellows/port/registry/file"
	"bellows/port/registry/mem"
)

// TestAManagerFindsItsJobs starts a manager after another was killed. It has the same jobs, with their numbers.
// Finished jobs are unchanged, cancelled ones have ended, running ones resume, before queued ones, which then run.
func TestAManagerFindsItsJobs(t *testing.T) {
	store := mem.New("test")
	r := store.Open()
	now := time.Now()
	work := func(words ...string) cluster.Submission {
		return cluster.Submission{App: "mf", Word: os.Args[0], Args: words, Dir: t.TempDir(), Program: own}
	}
	other := work("say=never")
	other.Program.Fingerprint = "of another build"
	for _, e := range []jobstore.Job{
		{Number: 3, Request: work("a"), State: cluster.Failed, Run: "runs/3", Submitted: now, Began: now, Ended: now, Exit: 66},
		{Number: 4, Request: work("led"), State: cluster.Running, Run: "runs/4", Submitted: now, Began: now, Order: "ABC", Term: 2, InRow: 1, Checkpoint: &cluster.Checkpoint{Era: 1, Commit: 77}},
		{Number: 5, Request: other, State: cluster.Queued, Submitted: now},
		{Number: 6, Request: work("say=found"), State: cluster.Queued, Submitted: now},
		{Number: 7, Request: work("(cut)"), Cut: true, State: cluster.Queued, Submitted: now},
		{Number: 8, Request: work("b"), State: cluster.Running, Run: "runs/8", Submitted: now, Began: now, Term: 1, Cancelled: true},
		{Number: 9, Request: other, State: cluster.Running, Run: "runs/9", Submitted: now, Began: now, Term: 1},
	} {
		text, err := json.Marshal(e)
		if err == nil {
			_, err = r.Put(t.Context(), jobstore.JobKey(e.Number), text, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Put(t.Context(), officeKey, []byte("who was killed"), 0); err != nil {
		t.Fatal(err)
	}
	u := bringUpAt(t, store, 1, 0)
	s, err := u.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	build := "submit mf: the cluster runs another build of bellows (1234) than this one (of another build); `bellows down` and `bellows up` start it with this one"
	want := []string{"job 4 was running when its manager ended, and resumes from its last checkpoint, at record 77, in runs/4",
		"job 5 had not begun when its manager ended, and cannot begin now: " + build, "job 6 waits as before",
		"job 7 had not begun when its manager ended, and cannot begin now: its command is too long for the registry",
		"job 8 was interrupted, as it was asked to be, when its manager ended, in runs/8; the same command resumes it",
		"job 9 was interrupted when its manager ended, and cannot resume automatically: " + build + ", in runs/9; the same command resumes it"}
	if got := strings.Join(s.Recovered, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it says\n%s", got)
	}
	if out, _, code := u.output(4); out != "ABC, term 3, in runs/4 from 77, lost 1 in a row: the cluster's manager, with the job's processes\n" || code != 0 {
		t.Errorf("what ran: %q, %d", out, code)
	}
	if out, _, code := u.output(6); out != "found\n" || code != 0 {
		t.Errorf("what waited: %q, %d", out, code)
	}
	next := u.submit("say=next")
	if out, _, code := u.output(next.Job); next.Job != 10 || out != "next\n" || code != 0 {
		t.Errorf("the next: %+v, %q, %d", next, out, code)
	}
	states := func() (all string) {
		list, _, err := r.List(t.Context(), jobstore.JobsPrefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			var j jobstore.Job
			if err := json.Unmarshal(e.Value, &j); err != nil {
				t.Fatal(err)
			}
			all += fmt.Sprintf("%d %s %d, ", j.Number, j.State, j.Exit)
		}
		return all
	}
	w, err := r.Watch(jobstore.JobsPrefix, 0)
	if err != nil {
		t.Fatal(err)
	}
	for states() != "3 failed 66, 4 ended 0, 5 interrupted 130, 6 ended 0, 7 interrupted 130, 8 interrupted 130, 9 interrupted 130, 10 ended 0, " {
		if _, err := w.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := u.client.Status(t.Context())
	if err != nil || after.Jobs[1].Began == nil || after.Jobs[3].Began == nil || after.Jobs[3].Began.Before(*after.Jobs[1].Ended) {
		t.Errorf("what waited began before what ran had ended: %+v", after.Jobs)
	}
	if _, err := u.client.Shutdown(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	u.over <- <-u.over
	if left := states(); left != "" {
		t.Errorf("after down there are %s", left)
	}
}

// TestTheOldestRecordsGo, of jobs that are over, where there are too many; one that the registry does not let go of is tried again.
func TestTheOldestRecordsGo(t *testing.T) {
	t.Parallel()
	store := mem.New("test")
	r := store.Open()
	lease, err := r.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	office, err := registry.Campaign(t.Context(), r, officeKey, nil, lease)
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{}
	k := &keeper{m: m, reg: r, office: office, have: map[int]registry.Revision{}}
	for n := 1; n <= recordsMost+2; n++ {
		j := &job{number: n, ended: time.Unix(1, 0)}
		if n == 1 || n == 3 {
			j.ended = time.Time{} // it runs still
		}
		m.jobs = append(m.jobs, j)
		if k.have[n], err = r.Put(t.Context(), jobstore.JobKey(n), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	store.Fail = func(op, _ string) error {
		if op == "delete" {
			return context.DeadlineExceeded
		}
		return nil
	}
	if err := k.trim(t.Context()); err == nil || len(k.have) != recordsMost+2 {
		t.Errorf("a registry that is silent: %d are known to be there, %v", len(k.have), err)
	}
	store.Fail = nil
	if err := k.trim(t.Context()); err != nil {
		t.Error(err)
	}
	list, _, err := r.List(t.Context(), jobstore.JobsPrefix)
	if err != nil || len(list) != recordsMost || len(k.have) != recordsMost || list[0].Key != jobstore.JobKey(1) || list[1].Key != jobstore.JobKey(3) || list[2].Key != jobstore.JobKey(5) {
		t.Errorf("%d are there, %d are known to be, the first %+v: %v", len(list), len(k.have), list[:3], err)
	}
}

// TestASilentRegistryIsNamed: jobs run without it, and are written when it answers.
func TestASilentRegistryIsNamed(t *testing.T) {
	store, silent := mem.New("test"), atomic.Bool{}
	store.Fail = func(op, key string) error {
		if silent.Load() {
			return errors.New("nobody answers")
		}
		return nil
	}
	u := bringUpAt(t, store, 1, 0)
	silent.Store(true)
	u.until(func(s *cluster.Status) bool { return strings.Contains(s.Registry, "nobody answers") })
	job := u.submit("say=on")
	if out, _, code := u.output(job.Job); out != "on\n" || code != 0 {
		t.Errorf("a job without a registry: %q, %d", out, code)
	}
	silent.Store(false)
	u.until(func(s *cluster.Status) bool { return s.Registry == "" })
	w, err := store.Open().Watch(jobstore.JobsPrefix, 0)
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		list, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			done = done || strings.Contains(string(c.Value), `"state":"ended"`)
		}
	}
}

// TestFullRegistryCostsNoJob runs a job with a registry in a folder that has room for the manager's office and little more. The job runs, and the status says why it is not written.
func TestFullRegistryCostsNoJob(t *testing.T) {
	s, err := file.Open(file.Config{Folder: t.TempDir(), BytesMost: 600})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	u := bringUpWithRegistry(t, func(context.Context) (registry.Registry, error) { return s.Client(), nil }, 1, 0)
	if out, _, code := u.output(u.submit("say=on").Job); out != "on\n" || code != 0 {
		t.Errorf("a job with a full registry: %q, %d", out, code)
	}
	u.until(func(s *cluster.Status) bool { return strings.Contains(s.Registry, registry.ErrFull.Error()) })
	if _, err := s.Client().Get(t.Context(), officeKey); err != nil {
		t.Errorf("the manager's office: %v", err)
	}
}

// TestAManagerThatWasFollowedGoesDown, and names its successor.
func TestAManagerThatWasFollowedGoesDown(t *testing.T) {
	store := mem.New("test")
	u := bringUpAt(t, store, 0, 0)
	if _, err := store.Open().Put(t.Context(), officeKey, []byte("another manager"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-u.over; err != nil {
		t.Error(err)
	}
	u.over <- nil
	if text, err := os.ReadFile(u.folder.Log()); err != nil || !strings.Contains(string(text), "another manager leads: this cluster shuts down") {
		t.Errorf("it says %s, %v", text, err)
	}
}

// TestAManagerLeadsAgain after it lost its office, if no other leads.
func TestAManagerLeadsAgain(t *testing.T) {
	store := mem.New("test")
	u := bringUpAt(t, store, 1, 0)
	r := store.Open()
	old, err := r.Get(t.Context(), officeKey)
	if err == nil {
		err = r.Delete(t.Context(), officeKey)
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Watch(officeKey, old.Revision)
	for again := false; !again && err == nil; {
		var list []registry.Change
		list, err = w.Next(t.Context())
		for _, c := range list {
			again = again || !c.Gone
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, _, code := u.output(u.submit("say=on").Job); out != "on\n" || code != 0 {
		t.Errorf("a job: %q, %d", out, code)
	}
}

// TestAManagerWaitsLongerThanItsLease: a manager that waits to lead outlives its own lease, since the current leader's
// may last, and leads with a new one when that has expired.
func TestAManagerWaitsLongerThanItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := mem.New("test").Open()
		first, err := r.Grant(t.Context(), leaseTime)
		if err != nil {
			t.Fatal(err)
		}
		before, err := registry.Campaign(t.Context(), r, officeKey, []byte("who leads"), first)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 20 { // seconds that its lease lasts
				<-time.After(time.Second)
				if err := first.Renew(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if err := before.Resign(t.Context(), r); err != nil {
				t.Error(err)
			}
		}()
		k := &keeper{m: &manager{Config: Config{Folder: cluster.Folder{Path: "here"}}}, reg: r}
		began := time.Now()
		if err := k.campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < leaseTime || k.office.Term <= before.Term {
			t.Errorf("it leads after %v, in term %d behind %d", waited, k.office.Term, before.Term)
		}
		if _, err := r.Put(t.Context(), "a", nil, 0, k.office.Holds()); err != nil {
			t.Errorf("what it writes under its term: %v", err)
		}
		synctest.Wait()
	})
}
