package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
)

// asWriter names, in the environment of a process of this test, the folder in which it counts until it is killed.
const asWriter = "_REGISTRY_WRITER"

func TestMain(m *testing.M) {
	folder := os.Getenv(asWriter)
	if folder == "" {
		os.Exit(m.Run())
	}
	s, err := Open(Config{Folder: folder})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r := s.Client()
	for i := 0; ; i++ {
		if _, err := r.Put(context.Background(), "n", fmt.Append(nil, i), 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// TestKilledProcess kills a process that counts. Another process finds the last number that was acknowledged, or the next one.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "registry")
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), asWriter+"="+folder), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(t, err)
	lines, last := bufio.NewScanner(out), -1
	for lines.Scan() {
		n := 0
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil || n != last+1 {
			t.Fatalf("%q follows %d: %v", lines.Text(), last, err)
		}
		if last = n; last != 20 {
			continue
		}
		if _, err := Open(Config{Folder: folder}); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "another process has it open") {
			t.Errorf("a folder that another process has: %v", err)
		}
		require.NoError(t, cmd.Process.Kill())
	}
	_ = cmd.Wait() // it was killed
	r := openFolder(t, Config{Folder: folder}).Client()
	e, err := r.Get(t.Context(), "n")
	if got := string(e.Value); err != nil || got != fmt.Sprint(last) && got != fmt.Sprint(last+1) {
		t.Errorf("it has %q after %d was acknowledged: %v", got, last, err)
	}
	info, err := os.Stat(filepath.Join(folder, logName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log has mode %v: %v", info.Mode(), err)
	}
}

// TestTermsGrowAcrossProcesses leads in three processes after each other, without a Close: the office is gone at once, and no term repeats.
func TestTermsGrowAcrossProcesses(t *testing.T) {
	t.Parallel()
	d := newDisk()
	term := registry.Revision(0)
	for i := range 3 {
		s := mustOpen(t, d)
		r := s.Client()
		if _, err := r.Get(t.Context(), "office"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("process %d finds an office: %v", i, err)
		}
		lease, err := r.Grant(t.Context(), registry.LeaseMost)
		require.NoError(t, err)
		l, err := registry.Campaign(t.Context(), r, "office", nil, lease)
		if err != nil || l.Term <= term {
			t.Fatalf("term %d follows %d: %v", l.Term, term, err)
		}
		if i > 0 {
			_, err := r.Put(t.Context(), "state", nil, 0, registry.Is{Key: "office", Revision: term})
			if !errors.Is(err, registry.ErrChanged) {
				t.Errorf("a write under the term before: %v", err)
			}
		}
		term = l.Term
		d = d.powerCut(0)
	}
}

// TestPastChangesNeedNoRoom changes two keys for as long as it likes: the limit is of what there is, and the log stays small.
func TestPastChangesNeedNoRoom(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s, err := open(Config{Folder: "here", BytesMost: 200_000, growth: 10_000}, d)
	require.NoError(t, err)
	defer s.Close()
	r, value := s.Client(), bytes.Repeat([]byte("x"), registry.ValueBytesMost)
	for i := range 100 {
		if _, err := r.Put(t.Context(), fmt.Sprintf("jobs/%d", i%2), value, 0); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if size := len(d.names[logName].data); size > 2*200_000+10_000 {
		t.Errorf("the log has %d bytes", size)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, _ := s.space.Since("", s.space.Revision()-historyBytes/registry.ValueBytesMost+2)
	if _, err := s.space.Since("", 1); !errors.Is(err, registry.ErrBehind) || len(list) == 0 {
		t.Errorf("%d late changes are remembered; all of them: %v", len(list), err)
	}
}

// TestFullRegistry fills a registry to its limit: what there is stays, can be read, made smaller and deleted, and then there is room again.
func TestFullRegistry(t *testing.T) {
	t.Parallel()
	s, err := open(Config{Folder: "here", BytesMost: 1000}, newDisk())
	require.NoError(t, err)
	defer s.Close()
	r, ctx := s.Client(), t.Context()
	put := func(key string, bytesOf int) error {
		_, err := r.Put(ctx, key, make([]byte, bytesOf), 0)
		return err
	}
	require.NoError(t, errors.Join(put("a", 300), put("b", 300)))
	before := state(t, r)
	for _, err := range []error{put("c", 300), put("a", 600)} {
		if !errors.Is(err, registry.ErrFull) || bellows.KindOf(err) != bellows.CannotWrite {
			t.Errorf("a full registry: %v", err)
		}
	}
	if got := state(t, r); got != before {
		t.Errorf("it has %s, had %s", got, before)
	}
	lease, err := r.Grant(ctx, registry.LeaseMost)
	if err == nil {
		err = errors.Join(lease.Renew(ctx), put("b", 10), put("c", 300), r.Delete(ctx, "a"), put("d", 300))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestFullDisk takes the room of a disk, or lets its syncs fail, and gives it back. Nothing that was acknowledged is lost, nothing that failed is there, and the same process writes again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op      string
		written int
		err     error
		kind    bellows.Kind
	}{
		"a full disk":                       {"write", 0, syscall.ENOSPC, bellows.CannotWrite},
		"a disk that fills within a record": {"write", 20, syscall.ENOSPC, bellows.CannotWrite},
		"a quota":                           {"write", 3, syscall.EDQUOT, bellows.CannotWrite},
		"a full disk that notices late":     {"sync", 0, syscall.ENOSPC, bellows.CannotWrite},
		"a broken disk":                     {"sync", 0, syscall.EIO, bellows.Unavailable},
		"a disk that does nothing more":     {"", 5, syscall.EROFS, bellows.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk()
			s, err := open(Config{Folder: "here"}, d) // which writes no snapshot but after a failure
			require.NoError(t, err)
			defer s.Close()
			r, ctx := s.Client(), t.Context()
			if _, err := r.Put(ctx, "a", []byte("kept"), 0); err != nil {
				t.Fatal(err)
			}
			before := state(t, r)
			d.setFail(func(_ int, op string) (int, error) {
				if c.op == "" || op == c.op {
					return c.written, c.err
				}
				return 0, nil
			})
			for range 3 {
				_, err := r.Put(ctx, "a", []byte("lost"), 0)
				if bellows.KindOf(err) != c.kind || !errors.Is(err, c.err) || errors.Is(err, registry.ErrFull) != (c.kind == bellows.CannotWrite) {
					t.Errorf("it says %v", err)
				}
			}
			if got := state(t, r); got != before {
				t.Errorf("it has %s, had %s", got, before)
			}
			d.setFail(nil)
			if _, err := r.Put(ctx, "b", []byte("later"), 0); err != nil {
				t.Fatal(err)
			}
			want := state(t, r)
			next := mustOpen(t, d.powerCut(0))
			if got := state(t, next.Client()); got != want {
				t.Errorf("the next process has %s, want %s", got, want)
			}
		})
	}
}

// TestSnapshotDiskFull: the log grows while a snapshot has no room.
func TestSnapshotDiskFull(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := mustOpen(t, d)
	d.setFail(func(_ int, op string) (int, error) {
		if op == "create" {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
	require.NoError(t, work(t, s.Client(), func() {}))
	want := withoutLeases(state(t, s.Client()))
	next, err := onDisk(t, d.powerCut(0))
	if err != nil || state(t, next.Client()) != want {
		t.Errorf("the next process: %v", err)
	}
}

// TestUnsyncedChangeIsSynced: a process dies after it has written a change, and before it has synced it. The next process sees it, and then the power is cut.
func TestUnsyncedChangeIsSynced(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := mustOpen(t, d)
	d.setFail(func(_ int, op string) (int, error) {
		if op == "sync" {
			return 0, errStopped
		}
		return 0, nil
	})
	if _, err := s.Client().Put(t.Context(), "a", []byte("1"), 0); !errors.Is(err, errStopped) {
		t.Errorf("it says %v", err)
	}
	d.setFail(nil)
	left := d.powerCut(3) // nothing of the files is lost, since the machine runs
	left.durable = map[string]*memoryFile{logName: {disk: left, data: left.names[logName].data, durable: d.names[logName].durable}}
	left.names = left.durable
	next := mustOpen(t, left)
	want := state(t, next.Client())
	if next, err := onDisk(t, left.powerCut(0)); err != nil || state(t, next.Client()) != want || !strings.Contains(want, "a=1") {
		t.Errorf("seen was %s; after the power cut: %v", want, err)
	}
}

// TestRenewedInTime: the end of a lease's time comes together with its renewal, and the lease stays.
func TestRenewedInTime(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, newDisk())
	c, ctx := s.Client().(*client), t.Context()
	lease, err := c.Grant(ctx, registry.LeaseMost)
	if err == nil {
		_, err = c.Put(ctx, "a", nil, lease.ID())
	}
	if err == nil {
		_, err = c.request(ctx, "end", "a lease", &request{record: record{kind: end, lease: lease.ID()}, expired: true})
	}
	if err == nil {
		_, err = c.Get(ctx, "a")
	}
	if err = errors.Join(err, lease.Renew(ctx)); err != nil {
		t.Error(err)
	}
}

// TestLeaseEndsOnFullDisk: a lease that is over on a full disk cannot be renewed or used, and its keys go when there is room.
func TestLeaseEndsOnFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s := mustOpen(t, d)
		r, ctx := s.Client(), t.Context()
		lease, err := r.Grant(ctx, time.Second)
		require.NoError(t, err)
		at, err := r.Put(ctx, "office", nil, lease.ID())
		require.NoError(t, err)
		d.setFail(func(int, string) (int, error) { return 0, syscall.ENOSPC })
		<-time.After(2 * time.Second)
		if err := lease.Renew(ctx); !errors.Is(err, registry.ErrExpired) {
			t.Errorf("it is renewed: %v", err)
		}
		if _, err := r.Put(ctx, "b", nil, lease.ID()); !errors.Is(err, registry.ErrExpired) {
			t.Errorf("it is used: %v", err)
		}
		if err := lease.Revoke(ctx); !errors.Is(err, registry.ErrFull) {
			t.Errorf("it is revoked: %v", err)
		}
		d.setFail(nil)
		w, err := r.Watch("office", at)
		require.NoError(t, err)
		if list, err := w.Next(ctx); err != nil || len(list) != 1 || !list[0].Gone {
			t.Errorf("seen were %+v: %v", list, err)
		}
	})
}

// TestSilentDisk: while the disk does not answer, changes end with their contexts or after five seconds, and name the disk. Reads and leases do not wait for it.
func TestSilentDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s := mustOpen(t, d)
		r, ctx := s.Client(), t.Context()
		lease, err := r.Grant(ctx, 10*time.Second)
		if err == nil {
			_, err = r.Put(ctx, "a", []byte("1"), lease.ID())
		}
		require.NoError(t, err)
		answers := make(chan struct{})
		d.setFail(func(_ int, op string) (int, error) {
			if op == "sync" {
				<-answers
			}
			return 0, nil
		})
		for _, within := range []time.Duration{2 * time.Second, time.Minute} {
			bounded, cancel := context.WithTimeout(ctx, within)
			began := time.Now()
			_, err = r.Put(bounded, "a", []byte("2"), 0)
			cancel()
			if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "the disk of the registry in here has not answered") || waited != min(within, answerWithin) {
				t.Errorf("after %v: %v", waited, err)
			}
		}
		if e, err := r.Get(ctx, "a"); err != nil || string(e.Value) != "1" {
			t.Errorf("a is %q: %v", e.Value, err)
		}
		if err := lease.Renew(ctx); err != nil {
			t.Error(err)
		}
		if err := s.Close(); bellows.KindOf(err) != bellows.IO {
			t.Errorf("it is closed: %v", err)
		}
		close(answers)
		<-s.done
	})
}
