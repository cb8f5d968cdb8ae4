//go:build unix

package manager

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"bellows/cluster"
	"bellows/cluster/internal/jobstore"
	"bellows/cluster/internal/spool"
	"bellows/port/registry"
	"bellows/port/registry/mem"
)

// takes returns a manager that has read the jobs of a registry.
func takes(t *testing.T, r registry.Registry) (*manager, error) {
	t.Helper()
	m := &manager{Config: Config{Program: own, Folder: cluster.Folder{Path: t.TempDir()}, Own: true}}
	err := m.take(t.Context(), r)
	t.Cleanup(func() {
		for _, j := range m.jobs {
			j.spool.Close()
		}
	})
	return m, err
}

// TestRecordNeedsItsCommand reads records of jobs with and without a command: one that was led has its command, or says that it was cut.
func TestRecordNeedsItsCommand(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		record jobstore.Job
		taken  bool
	}{
		"never led":             {jobstore.Job{State: cluster.Queued}, true},
		"led once":              {jobstore.Job{State: cluster.Running, Term: 1}, false},
		"led twice":             {jobstore.Job{State: cluster.Running, Term: 2}, false},
		"led, with a command":   {jobstore.Job{State: cluster.Running, Term: 1, Request: cluster.Submission{Args: []string{"train"}}}, true},
		"led, with a cut one":   {jobstore.Job{State: cluster.Running, Term: 1, Cut: true}, true},
		"of no state":           {jobstore.Job{State: "gone"}, false},
		"lost too often":        {jobstore.Job{State: cluster.Queued, InRow: cluster.InRowMost + 1}, false},
		"lost as often as ever": {jobstore.Job{State: cluster.Queued, InRow: cluster.InRowMost}, true},
	} {
		c.record.Number = 1
		text, err := json.Marshal(c.record)
		if err != nil {
			t.Fatal(err)
		}
		r := mem.New("test").Open()
		if _, err := r.Put(t.Context(), jobstore.JobKey(1), text, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := takes(t, r); (err == nil) != c.taken {
			t.Errorf("a job %s: %v", what, err)
		}
	}
}

// TestLongCommandIsCut stores a job whose command is too long for the registry. The next manager finds the job without
// its command.
func TestLongCommandIsCut(t *testing.T) {
	t.Parallel()
	store := mem.New("test")
	m, err := takes(t, store.Open())
	if err != nil {
		t.Fatal(err)
	}
	m.jobs = append(m.jobs, &job{number: 3, state: cluster.Queued, spool: spool.Dropped(), request: cluster.Submission{Args: []string{strings.Repeat("x", registry.ValueBytesMost)}}})
	m.keeper.want(3)
	if err := m.keeper.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := takes(t, store.Open())
	if err != nil || len(next.recoveries) != 1 || !strings.Contains(next.recoveries[0], "job 3 had not begun") || !strings.HasSuffix(next.recoveries[0], "its command is too long for the registry") {
		t.Errorf("the next manager finds %q, %v", next.recoveries, err)
	}
}

// TestFinishedJobsAreOver recovers jobs from their records: nothing waits for the end of one that is over, or that cannot continue.
func TestFinishedJobsAreOver(t *testing.T) {
	t.Parallel()
	m := &manager{Config: Config{Program: own, Folder: cluster.Folder{Path: t.TempDir()}}}
	command := cluster.Submission{App: "mf", Args: []string{"train"}, Dir: "/", Program: own}
	for what, c := range map[string]struct {
		record jobstore.Job
		over   bool
		state  cluster.State
	}{
		"failed":    {jobstore.Job{State: cluster.Failed, Ended: time.Unix(1, 0)}, true, cluster.Failed},
		"cancelled": {jobstore.Job{State: cluster.Running, Term: 1, Cancelled: true}, true, cluster.Interrupted},
		"cut":       {jobstore.Job{State: cluster.Queued, Cut: true}, true, cluster.Interrupted},
		"waiting":   {jobstore.Job{State: cluster.Queued}, false, cluster.Queued},
		"running":   {jobstore.Job{State: cluster.Running, Term: 1}, false, cluster.Queued},
	} {
		c.record.Number, c.record.Request = 1, command
		j := m.recovered(&c.record)
		j.spool.Close()
		if closed(j.over) != c.over || j.state != c.state {
			t.Errorf("%s: it is over: %v, and %s", what, closed(j.over), j.state)
		}
	}
}

// TestOldestRecordsAreDeleted writes more records than the registry keeps. The oldest records of finished jobs are deleted, and those of other
// jobs stay.
func TestOldestRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	r := mem.New("test").Open()
	m := &manager{Config: Config{Folder: cluster.Folder{Path: "here"}}}
	k := &keeper{m: m, reg: r, have: map[int]registry.Revision{}}
	if err := k.campaign(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= recordsMost+2; n++ {
		at, err := r.Put(t.Context(), jobstore.JobKey(n), []byte("a job"), 0)
		if err != nil {
			t.Fatal(err)
		}
		k.have[n] = at
		m.jobs = append(m.jobs, &job{number: n})
	}
	trim := func(left int, gone ...int) {
		t.Helper()
		if err := k.trim(t.Context()); err != nil || len(k.have) != left {
			t.Errorf("%d records are left, want %d; %v", len(k.have), left, err)
		}
		for _, n := range gone {
			if _, err := r.Get(t.Context(), jobstore.JobKey(n)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("job %d is in the registry: %v", n, err)
			}
		}
	}
	trim(recordsMost + 2) // none is over
	for _, j := range m.jobs {
		if j.number != 2 {
			j.ended = time.Unix(1, 0)
		}
	}
	trim(recordsMost, 1, 3)
}

// TestEndNamesTheRun describes the end of jobs in each state, with a run and without.
func TestEndNamesTheRun(t *testing.T) {
	t.Parallel()
	m := &manager{}
	for state, want := range map[cluster.State]string{
		cluster.Queued:      "job 7 was interrupted%s; the next cluster that starts here resumes it",
		cluster.Interrupted: "job 7 was interrupted%s; the same command resumes it",
		cluster.Ended:       "job 7 has finished%s",
		cluster.Failed:      "job 7 has ended with exit code 66%s",
	} {
		for run, where := range map[string]string{"": "", "runs/a": " in runs/a"} {
			if got, want := m.describeEnd(&job{number: 7, state: state, run: run, exit: 66}), strings.Replace(want, "%s", where, 1); got != want {
				t.Errorf("says %q, want %q", got, want)
			}
		}
	}
}
