package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/table"
)

// TestKeysComeInTheOrderAskedFor pulls more keys than two questions ask for, in no order, and holds each against the
// initialiser's row.
func TestKeysComeInTheOrderAskedFor(t *testing.T) {
	t.Parallel()
	const width, each = 1 << 20, pullMost >> 20 // keys of a question
	init := table.Init{Kind: table.Uniform, Seed: 5, Low: 1, High: 2}
	s := newStage(t, Job{Splits: 1, Tables: []table.Schema{{Name: "wide", Sparse: true, Rows: 100, Width: width,
		Init: init}},
		NewExecutor: executors(func(task *Task) error {
			var list []bellows.Key
			for i := range bellows.Key(2*each + 1) {
				list = append(list, (i*7919+3)%101)
			}
			got, want := make([]float32, len(list)*width), make([]float32, width)
			task.PrefetchKeys(0, list)
			task.PullKeys(0, list, got)
			for i, k := range list {
				if init.FillKey(k, want); !slices.Equal(got[i*width:(i+1)*width], want) {
					t.Errorf("key %d, at place %d of %d, begins with %v; want %v", k, i, len(list),
						got[i*width:i*width+3], want[:3])
				}
			}
			return nil
		})}, 1)
	s.finish()
}

// TestVerbsShowAndChangeRows writes with every verb that writes in one clock, and reads with every verb that reads in
// the next.
func TestVerbsShowAndChangeRows(t *testing.T) {
	t.Parallel()
	s := newStage(t, Job{Splits: 1, Tables: denseAndSparse(), Driver: &Clocks{Splits: 1, Count: 3},
		NewExecutor: executors(func(task *Task) error {
			switch task.Clock() {
			case 0:
				task.PushRange(0, 1, []float32{10, 20})
				task.Push(0, []bellows.RowID{3, 1}, []float32{5, 1})
				task.PushRow(0, 0, []float32{7})
				task.PushKeys(1, []bellows.Key{90, 30}, []float32{9, 3})
				task.PushKey(1, 30, []float32{1})
			case 1:
				if got := task.PullRange(0, 0, 4); !slices.Equal(got, []float32{7, 11, 20, 5}) {
					t.Errorf("PullRange: %v", got)
				}
				if got := task.PullRow(0, 2); !slices.Equal(got, []float32{20}) {
					t.Errorf("PullRow: %v", got)
				}
				rows := []bellows.RowID{3, 0, 3, 1}
				got := make([]float32, len(rows))
				if task.Pull(0, rows, got); !slices.Equal(got, []float32{5, 7, 5, 11}) ||
					!slices.Equal(rows, []bellows.RowID{3, 0, 3, 1}) {
					t.Errorf("Pull of %v: %v", rows, got)
				}
				task.Pull(0, nil, nil)
				if got := task.PullKey(1, 30); !slices.Equal(got, []float32{4}) {
					t.Errorf("PullKey: %v", got)
				}
				if got := task.PullKey(1, 90); !slices.Equal(got, []float32{9}) {
					t.Errorf("PullKey of another: %v", got)
				}
				if task.PullKeys(1, []bellows.Key{90, 5, 30}, got[:3]); !slices.Equal(got[:3], []float32{9, 0, 4}) {
					t.Errorf("PullKeys: %v", got[:3])
				}
				slab := task.Lease(0, 0, Exclusive)
				slab[0] += 100
			case 2:
				if got := task.Lease(0, 0, Shared)[0]; got != 107 {
					t.Errorf("after the lease the row is %v", got)
				}
			}
			return nil
		})}, 1)
	s.finish()
}

// TestFillRangeIsAPush writes deltas in place where it can, and nowhere else. The next clock sees them.
func TestFillRangeIsAPush(t *testing.T) {
	t.Parallel()
	tables := []table.Schema{{Name: "one", Rows: 4, Width: 1}, {Name: "two", Rows: 4, Width: 1, Partitions: 2}}
	s := newStage(t, Job{Splits: 1, Tables: tables, Driver: &Clocks{Splits: 1, Count: 2},
		NewExecutor: executors(func(task *Task) error {
			if task.Clock() == 1 {
				if got := task.PullRange(0, 0, 4); !slices.Equal(got, []float32{1, 2, 3, 4}) {
					t.Errorf("the rows of one partition: %v", got)
				}
				if got := task.PullRange(1, 0, 4); !slices.Equal(got, []float32{7, 0, 5, 6}) {
					t.Errorf("the rows of two partitions: %v", got)
				}
				return nil
			}
			copy(task.FillRange(0, 0, 4), []float32{1, 2, 3, 4})
			copy(task.FillRange(1, 2, 4), []float32{5, 6})
			task.PushRange(1, 0, []float32{7})
			for i, got := range [][]float32{
				task.FillRange(0, 0, 4), // filled before
				task.FillRange(1, 0, 4), // two partitions
				task.FillRange(1, 0, 2), // pushed in part
				task.FillRange(1, 2, 3), // a part of one
			} {
				if got != nil {
					t.Errorf("case %d: FillRange returns %v", i, got)
				}
			}
			return nil
		})}, 1)
	s.finish()
}

// TestResultsAreTheDrivers makes tasks signal twice, once, and never.
func TestResultsAreTheDrivers(t *testing.T) {
	t.Parallel()
	var told []string
	s := newStage(t, Job{Splits: 3, NewExecutor: executors(func(task *Task) error {
		if task.Clock() == 1 {
			return nil // what it signalled before is not signalled again
		}
		task.SignalTaskCompletion(9, 9)
		task.SignalTaskCompletion(append([]float64{float64(task.Split())}, task.Args()...)...)
		return nil
	}), Driver: &Rounds{Splits: 3, Each: func(round int, results [][]float64, _ *Dispatcher) bool {
		told = append(told, fmt.Sprint(results))
		return round == 0
	}}}, 2)
	s.finish()
	if want := []string{"[[0] [1] [2]]", "[[] [] []]"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestMisuseEndsTheJobByName tries what a task may not.
func TestMisuseEndsTheJobByName(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("an error of its own")
	for want, f := range map[string]func(t *Task){
		"rows [3,5) of table 0 do not exist": func(t *Task) { t.PullRange(0, 3, 5) },
		"rows [2,1) of table 0 do not exist": func(t *Task) { t.Prefetch(0, 2, 1) },
		"rows [0,1) of table 2 do not exist": func(t *Task) { t.PullRange(2, 0, 1) },
		"rows [1,9) of table 0 do not exist": func(t *Task) {
			t.Pull(0, []bellows.RowID{8, 1},
				make([]float32, 2))
		},
		"rows [4,5) of table 0 do not exist": func(t *Task) { t.PushRange(0, 4, []float32{1}) },
		"rows [9,10) of table 0 do not exist": func(t *Task) {
			t.Push(0, []bellows.RowID{0, 9},
				[]float32{1, 1})
		},
		"2 deltas for 1 rows of 1": func(t *Task) {
			t.Push(0, []bellows.RowID{1},
				[]float32{1, 1})
		},
		"table 1 is sparse: its rows have keys": func(t *Task) { t.PullRange(1, 0, 1) },
		"table 0 has no keys":                   func(t *Task) { t.PullKey(0, 1) },
		"table 7 has no keys":                   func(t *Task) { t.PushKeys(7, nil, nil) },
		"room for 3 values of 2 keys, rows of 1": func(t *Task) {
			t.PullKeys(1, []bellows.Key{1, 2},
				make([]float32, 3))
		},
		"3 deltas for 2 keys, rows of 1": func(t *Task) {
			t.PushKeys(1, []bellows.Key{1, 2},
				make([]float32, 3))
		},
		"a read would wait while the task holds an exclusive": func(t *Task) {
			t.Lease(0, 0, Exclusive)
			t.PullKey(1,
				1)
		},
		"an error of its own": func(*Task) { panic(errOwn) },
		"not an error":        func(*Task) { panic("not an error") },
		"split 0 clock 0 items [0,1) on node 0 failed: whoever": func(*Task) { panic("whoever it was") },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, Job{Splits: 1, Tables: denseAndSparse(),
				NewExecutor: executors(func(task *Task) error { f(task); return nil })}, 1)
			s.start()
			o := s.end()
			if !strings.Contains(o.Reason, want) {
				t.Errorf("the job ends: %.200q", o.Reason)
			}
			if errors.Is(o.Err, errOwn) != (want == errOwn.Error()) {
				t.Errorf("its cause is %v", o.Err)
			}
		})
	}
}

// closing is an executor that says that it is closed.
type closing struct {
	Executor
	closed *int
	err    error
}

func (c closing) Close() error { *c.closed++; return c.err }

// TestExecutorsAreClosedOnce closes those that are closers, when the job has ended, and says what went wrong in any.
// Then it calls the job's Ended.
func TestExecutorsAreClosedOnce(t *testing.T) {
	t.Parallel()
	closed, atEnd, first, second := 0, -1, errors.New("first"), errors.New("second")
	executor := func(split bellows.SplitID) (Executor, error) {
		e := task(func(*Task) error { return nil })
		if split == 3 {
			return e, nil
		}
		return closing{e, &closed, []error{nil, first, second}[split]}, nil
	}
	s := newStage(t, Job{Splits: 4, NewExecutor: executor, Ended: func() { atEnd = closed }}, 2)
	s.start()
	if err := s.runner.Close(); !errors.Is(err, first) || !errors.Is(err, second) || closed != 3 || atEnd != 3 {
		t.Errorf("%d executors were closed, %d before Ended: %v", closed, atEnd, err)
	}
}

// TestFailedStartMakesNoExecutor makes what is to be made ready fail.
func TestFailedStartMakesNoExecutor(t *testing.T) {
	t.Parallel()
	bad := errors.New("no data")
	for name, job := range map[string]Job{
		"prepare":  {Splits: 2, Prepare: func([]bellows.SplitID) error { return bad }},
		"executor": {Splits: 2, NewExecutor: func(bellows.SplitID) (Executor, error) { return nil, bad }},
	} {
		if _, err := NewRunner(nil, &job, []bellows.SplitID{0, 1}, 1, nil, nil); !errors.Is(err, bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// looping returns a job of workers.
func looping(splits, clocks int, work func(w *Worker) error) Job {
	job := Job{Splits: splits, Tables: denseAndSparse()}
	Loop(&job, clocks, work)
	return job
}

// TestAWorkerLoopsOverItsClocks counts with every verb that writes, and sees its own deltas of clocks before.
func TestAWorkerLoopsOverItsClocks(t *testing.T) {
	t.Parallel()
	const clocks = 4
	s := newStage(t, looping(2, clocks, func(w *Worker) error {
		own := bellows.RowID(w.Split())
		for c := range clocks {
			if w.CurrentClock() != bellows.Clock(c) || w.Items() != (bellows.Range{End: 1}) {
				t.Errorf("at clock %d it is %d, items %v", c, w.CurrentClock(), w.Items())
			}
			if got := w.PullRow(0, own)[0]; got != float32(11*c) {
				t.Errorf("at clock %d split %d reads %v", c, w.Split(), got)
			}
			var both [2]float32
			w.Pull(0, []bellows.RowID{own, own}, both[:])
			if w.PullKeys(1, []bellows.Key{bellows.Key(own)}, both[:1]); both != [2]float32{float32(4 * c),
				float32(11 * c)} || w.PullKey(1, bellows.Key(own))[0] != both[0] {
				t.Errorf("at clock %d split %d reads %v", c, w.Split(), both)
			}
			w.PushValue(0, own, 0, 1)
			w.PushRow(0, own, []float32{2})
			w.Push(0, []bellows.RowID{own}, []float32{8})
			w.PushKey(1, bellows.Key(own), []float32{3})
			w.PushKeys(1, []bellows.Key{bellows.Key(own)}, []float32{1})
			w.Clock()
		}
		return nil
	}), 1)
	s.finish()
}

// TestWorkerMayReturnEarly changes one column after the other.
func TestWorkerMayReturnEarly(t *testing.T) {
	t.Parallel()
	job := Job{Splits: 1, Tables: []table.Schema{{Name: "rows", Rows: 1, Width: 2}}}
	Loop(&job, 2, func(w *Worker) error {
		w.PushValue(0, 0, 0, 1)
		w.PushValue(0, 0, 1, 2)
		w.Clock()
		if got := w.PullRow(0, 0); !slices.Equal(got, []float32{1, 2}) {
			t.Errorf("the row is %v", got)
		}
		return nil
	})
	newStage(t, job, 1).finish()
}

// TestAWorkerThatFailsEndsTheJob returns an error, and too early.
func TestAWorkerThatFailsEndsTheJob(t *testing.T) {
	t.Parallel()
	for want, work := range map[string]func(w *Worker) error{
		"out of luck":                       func(w *Worker) error { w.Clock(); return errors.New("out of luck") },
		"split 0 returned after clock 1 of": func(w *Worker) error { w.Clock(); return nil },
	} {
		s := newStage(t, looping(1, 3, work), 1)
		s.start()
		if o := s.end(); !strings.Contains(o.Reason, want) {
			t.Errorf("the job ends %q, not %q", o.Reason, want)
		}
	}
}

// TestAWorkerBetweenTwoClocksIsUnwound ends a job while one function waits for its next clock.
func TestAWorkerBetweenTwoClocksIsUnwound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unwound := false
		s := newStage(t, looping(2, 3, func(w *Worker) error {
			if w.Split() == 1 {
				return errors.New("this one fails")
			}
			defer func() { unwound = true }()
			for {
				w.Clock()
			}
		}), 1)
		s.start()
		if o := s.end(); !strings.Contains(o.Reason, "this one fails") || !unwound {
			t.Errorf("the job ends %q, unwound: %v", o.Reason, unwound)
		}
	})
}
