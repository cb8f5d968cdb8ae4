package validation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"bellows/bench/internal/pair"
	"bellows/port/blob"
)

// slowStore is a store that takes its time for what is written.
type slowStore struct {
	blob.Store
	rate float64 // bytes a second; 0: unlimited
	mu   sync.Mutex
	free time.Time // when all that was written is stored
}

// Create implements blob.Store.
func (s *slowStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, name)
	if err != nil || s.rate == 0 {
		return w, err
	}
	return &slowWriter{Writer: w, store: s}, nil
}

type slowWriter struct {
	blob.Writer
	store *slowStore
}

// Write implements io.Writer. Blobs that are written at the same time share the rate.
func (w *slowWriter) Write(b []byte) (int, error) {
	s := w.store
	s.mu.Lock()
	if now := time.Now(); s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(float64(len(b)) / s.rate * float64(time.Second)))
	until := s.free // and not so much longer for each call as a timer is late
	s.mu.Unlock()
	time.Sleep(time.Until(until))
	return w.Writer.Write(b)
}

// quotaPeriod is the period of quotas.
const quotaPeriod = 4 * time.Millisecond

// slow gives the process of node 2 a part of a core, by a control group that is removed when the process has ended.
func (r *run) slow(factor float64) error {
	pid := strconv.Itoa(r.pid(2))
	files := quota(factor, "/sys/fs/cgroup", fmt.Sprintf("bench-lab-%s", pid), func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	folder := filepath.Dir(files[0].name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("make a control group, which takes root: %w", err)
	}
	r.groups = append(r.groups, folder)
	for _, f := range append(files, groupFile{filepath.Join(folder, "cgroup.procs"), pid}) {
		if err := os.WriteFile(f.name, []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// groupFile is a file of a control group and what is written to it.
type groupFile struct{ name, text string }

// quota returns the settings of a group that has one part in factor of a core, in version 1 or 2 of control groups.
func quota(factor float64, root, name string, exists func(string) bool) []groupFile {
	period := quotaPeriod.Microseconds()
	part := strconv.Itoa(int(float64(period) / factor))
	if old := filepath.Join(root, "cpu"); exists(filepath.Join(old, "cpu.cfs_quota_us")) {
		return []groupFile{{filepath.Join(old, name, "cpu.cfs_period_us"), strconv.Itoa(int(period))}, {filepath.Join(old, name, "cpu.cfs_quota_us"), part}}
	}
	return []groupFile{{filepath.Join(root, name, "cpu.max"), part + " " + strconv.Itoa(int(period))}}
}

// removeGroups removes the control groups of a run after the end of its processes.
func (r *run) removeGroups() {
	for _, g := range r.groups {
		pair.Check(os.Remove(g))
	}
}
