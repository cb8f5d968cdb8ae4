package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/internal/require"
	"bellows/table"
)

// diary is an executor with its writings as state. Their length depends on its clock.
type diary struct {
	text     []byte
	lengths  []int
	restored []string
	closed   bool
	fails    error
}

func (d *diary) RunTask(t *Task) error {
	d.text = append(d.text[:0], strings.Repeat(string(rune('a'+t.Clock())), d.lengths[t.Clock()])...)
	return nil
}

func (d *diary) Save(to []byte) ([]byte, error) { return append(to, d.text...), d.fails }

func (d *diary) Restore(version uint32, state []byte) error {
	d.restored = append(d.restored, fmt.Sprintf("%d %s", version, state))
	return d.fails
}

func (d *diary) Close() error {
	d.closed = true
	return nil
}

// TestStatesOfAnyLengthAreRestored makes each executor run two clocks, and another one of the split continue: it gets
// the state that the previous one has saved, longer or shorter than the saved state before, or empty. The first
// executor gets nothing.
func TestStatesOfAnyLengthAreRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lengths := []int{3, 700, 5, 0, 699, 256, 1, 9}
		var made []*diary
		job := Job{Splits: 1, Driver: &Clocks{Splits: 1, Count: len(lengths)},
			NewExecutor: func(bellows.SplitID) (Executor, error) {
				d := &diary{lengths: lengths}
				made = append(made, d)
				return d, nil
			}}
		job.Tables = []table.Schema{{Name: "rows", Rows: 4, Width: 1}}
		require.NoError(t, SaveExecutors(&job, 7, 700))
		of := job.NewExecutor
		job.NewExecutor = func(s bellows.SplitID) (Executor, error) { return &shortLived{of: of}, nil }
		s := newStage(t, job, 1)
		s.finish()
		var got []string
		for _, d := range made {
			got = append(got, d.restored...)
			if !d.closed {
				t.Error("an executor is not closed")
			}
		}
		var want []string
		for i := 1; i < len(lengths)-1; i += 2 {
			want = append(want, fmt.Sprintf("7 %s", strings.Repeat(string(rune('a'+i)), lengths[i])))
		}
		if !slices.Equal(got, want) {
			t.Errorf("restored is %q, not %q", got, want)
		}
	})
}

// shortLived gives its two tasks to one executor, and the next two to another.
type shortLived struct {
	of   func(bellows.SplitID) (Executor, error)
	e    Executor
	task int
}

func (s *shortLived) RunTask(t *Task) (err error) {
	if s.task%2 == 0 {
		if err := s.Close(); err != nil {
			return err
		}
		if s.e, err = s.of(t.Split()); err != nil {
			return err
		}
	}
	s.task++
	return s.e.RunTask(t)
}

func (s *shortLived) Close() error { return closeExecutor(s.e) }

// TestInvalidStateEndsJob.
func TestInvalidStateEndsJob(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*diary{
		"it has 9 bytes, and the job has room for 8": {lengths: []int{8, 9}},
		"cannot be written":                          {lengths: []int{1, 1}, fails: errors.New("cannot be written")},
	} {
		synctest.Test(t, func(t *testing.T) {
			job := Job{Splits: 1, Driver: &Clocks{Splits: 1, Count: 2},
				Tables:      []table.Schema{{Name: "rows", Rows: 4, Width: 1}},
				NewExecutor: func(bellows.SplitID) (Executor, error) { return d, nil }}
			require.NoError(t, SaveExecutors(&job, 1, 8))
			s := newStage(t, job, 1)
			s.start()
			if o := s.end(); !strings.Contains(o.Reason, want) &&
				!strings.Contains(fmt.Sprint(o.Failure("train")), want) {
				t.Errorf("the job ends: %q, not %q", o.Reason, want)
			}
		})
	}
}

// TestExecutorsThatAreNotSavedAreRefused covers an executor that saves and is not called, one that should save and
// cannot, and sizes of 0. One that stays need not be saved.
func TestExecutorsThatAreNotSavedAreRefused(t *testing.T) {
	t.Parallel()
	job := Job{Splits: 1, Tables: []table.Schema{{Name: "rows", Rows: 4, Width: 1}},
		NewExecutor: func(bellows.SplitID) (Executor, error) { return &diary{}, nil }}
	s := newSplits(&job)
	if _, err := s.executor(0); err == nil || !strings.Contains(err.Error(), "SaveExecutors") {
		t.Errorf("nobody saves it: %v", err)
	}
	job.Stays = "it is written by hand"
	if _, err := s.executor(0); err != nil {
		t.Errorf("it stays: %v", err)
	}
	other := Job{Splits: 1, Tables: []table.Schema{{Name: "rows", Rows: 4, Width: 1}}, NewExecutor: executors(nil)}
	for _, size := range []int{0, -1, StateBytesMax + 1} {
		if err := SaveExecutors(&other, 1, size); err == nil {
			t.Errorf("states of %d bytes", size)
		}
	}
	require.NoError(t, SaveExecutors(&other, 1, 1))
	if _, err := other.NewExecutor(0); err == nil || !strings.Contains(err.Error(), "no Save and Restore") {
		t.Errorf("it cannot be saved: %v", err)
	}
}
