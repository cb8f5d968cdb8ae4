package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows/cluster"
	"bellows/cluster/internal/spool"
	"bellows/link/secure"
)

// TestJobWithoutWorkerEnds kills a job's leader and all workers. What it waits for is reported once, and until when;
// then it ends with the exit code of lost nodes and the command to resume. A job that is removed from the queue
// meanwhile does not end twice, and the next begins when it has ended.
func TestJobWithoutWorkerEnds(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log, err := os.Create(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			m := &manager{Config: Config{Program: own, Log: log, Folder: cluster.Folder{Path: t.TempDir()}}, opened: true}
			if m.issues, err = secure.NewAuthority("a test"); err != nil {
				t.Fatal(err)
			}
			list := []*job{{number: 1, recovering: recovering{term: 1}}, {number: 2}}
			for _, j := range list {
				j.led, j.started = make(chan struct{}), make(chan struct{})
				j.state, j.over, j.request = cluster.Queued, make(chan struct{}), cluster.Submission{Word: "bellows", Args: []string{"demo", "mf"}, Dir: "/"}
				if j.spool, err = spool.New(m.Folder.Path); err != nil {
					t.Fatal(err)
				}
				defer j.spool.Close()
				m.jobs = append(m.jobs, j)
			}
			said := func(n int) string {
				ctx, enough := context.WithCancel(t.Context())
				var text []byte
				if err := list[n].spool.Follow(ctx, 0, func(b []byte) error { text = append(text, b...); enough(); return nil }); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				all := ""
				for line := range bytes.Lines(text) {
					var f cluster.Frame
					if err := json.Unmarshal(line, &f); err != nil {
						t.Fatal(err)
					}
					all += string(f.Err)
				}
				return all
			}
			m.next()
			m.next() // some other job has ended, say
			synctest.Wait()
			if got, want := said(0), "job 1 waits for a worker, 1m0s at most: none of the cluster is left; `scale --workers 2` starts some"; strings.Count(got, want) != 1 {
				t.Errorf("it is said: %s", got)
			}
			code, state := 75, cluster.Interrupted
			if cancelled {
				code = 130
				if err := m.cancel(list[0]); err != nil {
					t.Error(err)
				}
			}
			began := time.Now()
			<-list[0].over
			if took := time.Since(began); !cancelled && took != time.Minute || list[0].exit != code || list[0].state != state {
				t.Errorf("after %v it is %s with %d", took, list[0].state, list[0].exit)
			}
			if got, want := said(0), "job 1: no worker joined within 1m0s; resume with the same command: bellows demo mf"; strings.Contains(got, want) == cancelled {
				t.Errorf("it is said: %s", got)
			}
			<-list[1].over // at once, and by name: it had not begun
			if got, want := said(1), "start job 2: no worker of the cluster is left"; !strings.Contains(got, want) || list[1].exit != 69 {
				t.Errorf("the next, with %d: %s", list[1].exit, got)
			}
			<-time.After(2 * time.Minute)
			m.waits.Wait()
		})
	}
}
