package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/table"
)

// TestWaitingTaskReleasesSlot makes one slot: a second task runs from its beginning to its end while the first waits.
func TestWaitingTaskReleasesSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var did []string // one slot: one task at a time
		s := newStage(t, Job{Splits: 2, NewExecutor: executors(func(t *Task) error {
			did = append(did, fmt.Sprintf("%d begins", t.Split()))
			if t.Split() == 0 {
				t.PullRange(0, 0, 1)
			}
			did = append(did, fmt.Sprintf("%d ends", t.Split()))
			return nil
		})}, 1)
		s.holds = isRows
		s.start()
		synctest.Wait()
		if want := []string{"0 begins", "1 begins", "1 ends"}; !slices.Equal(did, want) {
			t.Errorf("while the answer is held: %v, want %v", did, want)
		}
		s.hold(nil)
		s.end()
		if want := []string{"0 begins", "1 begins", "1 ends", "0 ends"}; !slices.Equal(did, want) {
			t.Errorf("%v, want %v", did, want)
		}
	})
}

// TestSlotsAreConserved makes every read answered while its question is sent, and late, many times over: as many tasks
// compute at once in the end as in the beginning, and never more.
func TestSlotsAreConserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots, splits, clocks = 2, 4, 30
		most, now := make(chan int, splits*clocks), 0
		gate := make(chan struct{}, 1) // a lock that the bubble knows
		count := func(more int) {
			gate <- struct{}{}
			now += more
			most <- now
			<-gate
		}
		s := newStage(t, Job{Splits: splits, Driver: &Clocks{Splits: splits, Count: clocks},
			Tables: []table.Schema{{Name: "rows", Rows: 4, Width: 1, Consistency: table.SSP(1)}},
			NewExecutor: executors(func(t *Task) error {
				t.PullRange(0, 0, 4)
				count(1)
				<-time.After(time.Millisecond) // all others that can compute do
				count(-1)
				t.PushRange(0, 0, []float32{1, 1, 1, 1})
				return nil
			})}, slots)
		highest := make(chan []int)
		go func() {
			var last []int
			for n := range most {
				last = append(last, n)
			}
			highest <- last
		}()
		s.finish()
		close(most)
		seen := <-highest
		if got := slices.Max(seen); got != slots {
			t.Errorf("%d tasks compute at once, and there are %d slots", got, slots)
		}
		if got := slices.Max(seen[len(seen)/2:]); got != slots {
			t.Errorf("in the second half %d tasks compute at once, and there are %d slots", got, slots)
		}
		s.runner.pool.mu.Lock()
		defer s.runner.pool.mu.Unlock()
		for range slots { // two that begin now find both slots free
			if turn := s.runner.pool.scheduler.Park(0); turn.Do != 0 {
				t.Errorf("somebody wants a slot after the end: %+v", turn)
			}
		}
	})
}

// TestGoroutinesAreUsedAgain runs tasks one after another. Each begins when the goroutine of the previous one is idle.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clocks = 5
		ran := 0
		s := newStage(t, Job{Splits: 1, Driver: &Clocks{Splits: 1, Count: clocks},
			NewExecutor: executors(func(*Task) error { ran++; return nil })}, 1)
		isDispatch := func(m wire.Message) bool { _, dispatch := m.(*wire.Dispatch); return dispatch }
		s.holds = isDispatch
		s.start()
		for clock := range clocks {
			s.hold(nil)
			s.mu.Lock()
			s.holds = isDispatch
			s.mu.Unlock()
			synctest.Wait()
			s.runner.pool.mu.Lock()
			if n := len(s.runner.pool.idle); n > 1 || ran != clock+1 {
				t.Errorf("%d goroutines are idle after %d tasks, one at a time; %d have run", n, clock+1, ran)
			}
			s.runner.pool.mu.Unlock()
		}
		s.hold(nil)
		s.end()
	})
}

// verbs is everything that a task can ask for.
var verbs = map[string]func(t *Task){
	"PullRange":    func(t *Task) { t.PullRange(0, 0, 1) },
	"Pull":         func(t *Task) { t.Pull(0, []bellows.RowID{2, 1}, make([]float32, 2)) },
	"Prefetch":     func(t *Task) { t.Prefetch(0, 0, 1) },
	"PullKeys":     func(t *Task) { t.PullKeys(1, []bellows.Key{7}, make([]float32, 1)) },
	"PrefetchKeys": func(t *Task) { t.PrefetchKeys(1, []bellows.Key{7}) },
	"PullKey":      func(t *Task) { t.PullKey(1, 7) },
	"Lease":        func(t *Task) { t.Lease(0, 0, Shared) },
}

func denseAndSparse() []table.Schema {
	return []table.Schema{{Name: "rows", Rows: 4, Width: 1}, {Name: "keys", Sparse: true, Rows: 100, Width: 1}}
}

// TestAskAfterEndUnwinds ends a job while a task computes: whatever it asks for then does not return, what it has
// deferred runs, and nothing hangs.
func TestAskAfterEndUnwinds(t *testing.T) {
	t.Parallel()
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				deferred, began, ended := false, make(chan struct{}), make(chan struct{})
				s := newStage(t, Job{Splits: 2, Tables: denseAndSparse(),
					NewExecutor: executors(func(task *Task) error {
						if task.Split() == 1 {
							<-began
							return errors.New("this one fails")
						}
						defer func() { deferred = true }()
						close(began)
						<-ended
						verb(task)
						t.Error("the verb returns")
						return nil
					})}, 2)
				s.start()
				<-s.runner.Ended()
				close(ended)
				if o := s.end(); !strings.Contains(o.Reason, "this one fails") {
					t.Errorf("the job ends: %q", o.Reason)
				}
				if !deferred {
					t.Error("what the task deferred did not run")
				}
			})
		})
	}
}

// TestWaitAtEndUnwinds ends a job while a task waits, with no slot free and a third task that has not begun.
func TestWaitAtEndUnwinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resume, deferred := make(chan struct{}), false
		s := newStage(t, Job{Splits: 3, NewExecutor: executors(func(task *Task) error {
			switch task.Split() {
			case 0:
				defer func() { deferred = true }()
				task.PullRange(0, 0, 1)
				t.Error("the read returns")
			case 1:
				<-resume
				return errors.New("this one fails")
			default:
				t.Error("a task begins after the end")
			}
			return nil
		})}, 1)
		s.holds = isRows
		s.start()
		synctest.Wait()
		close(resume)
		s.end()
		if !deferred {
			t.Error("what the task deferred did not run")
		}
	})
}

// TestTimeOfSlotsIsThatOfTasks makes a task compute for 1 s, wait for 2 s and compute for 4 s.
func TestTimeOfSlotsIsThatOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Job{Splits: 1, NewExecutor: executors(func(t *Task) error {
			<-time.After(time.Second)
			t.PullRange(0, 0, 1)
			<-time.After(4 * time.Second)
			return nil
		})}, 1)
		s.holds = isRows
		s.start()
		<-time.After(3 * time.Second)
		if w := s.runner.Waits(); w != (tally.Waits{Tasks: 1}) {
			t.Errorf("the node waits for %+v", w)
		}
		s.hold(nil)
		s.end()
		<-time.After(time.Minute)
		if got, want := s.runner.Spent(), (tally.Spent{tally.Compute: 5 * time.Second,
			tally.PullWait: 2 * time.Second}); got != want {
			t.Errorf("spent %v, want %v", got, want)
		}
		var count tally.Tally
		s.runner.Count(&count)
		if count.Spent != s.runner.Spent() || count.Staleness[0] == 0 {
			t.Errorf("counted %+v", count)
		}
	})
}

// TestLeaseWaitIsNotComputeTime makes a task hold a partition for 3 s, and another that wants it.
func TestLeaseWaitIsNotComputeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leased := make(chan struct{})
		s := newStage(t, Job{Splits: 2, NewExecutor: executors(func(task *Task) error {
			if task.Split() == 1 {
				<-leased
				task.Lease(0, 0, Exclusive)
				return nil
			}
			task.Lease(0, 0, Exclusive)
			close(leased)
			<-time.After(3 * time.Second)
			return nil
		})}, 2)
		s.finish()
		if got, want := s.runner.Spent(), (tally.Spent{tally.Compute: 3 * time.Second,
			tally.PullWait: 3 * time.Second}); got != want {
			t.Errorf("spent %v, want %v", got, want)
		}
	})
}

// TestStepMessagesAreEnqueued looks at what has not left after calls that do not wait.
func TestStepMessagesAreEnqueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *stage
		asked := func(what string, before int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.queue) > 0 || len(s.passed) == before {
				t.Errorf("after %s %d messages were sent, and %d have not left", what, len(s.passed)-before,
					len(s.queue))
			}
		}
		s = newStage(t, Job{Splits: 1, Tables: denseAndSparse(), NewExecutor: executors(func(task *Task) error {
			before := len(s.passed)
			task.Prefetch(0, 0, 1)
			asked("Prefetch", before)
			before = len(s.passed)
			task.PrefetchKeys(1, []bellows.Key{1})
			asked("PrefetchKeys", before)
			return nil
		})}, 1)
		s.runner.Tick(0)
		synctest.Wait()
		if s.left != 1 {
			t.Error("what a tick sends is left to nobody")
		}
		s.finish()
	})
}

// TestUnfinished looks while one task computes, one waits, one has ended and one has not begun.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		s := newStage(t, Job{Splits: 4, NewExecutor: executors(func(t *Task) error {
			switch t.Split() {
			case 1:
				t.PullRange(0, 0, 1)
			case 2:
				<-resume
			}
			return nil
		})}, 1)
		s.holds = isRows
		s.start()
		synctest.Wait()
		whole := bellows.Range{End: 1}
		if got, want := s.runner.Unfinished(),
			[]bellows.Unit{{Split: 1, Items: whole}, {Split: 2, Items: whole}}; !slices.Equal(got, want) {
			t.Errorf("unfinished are %v, want %v", got, want)
		}
		close(resume)
		s.hold(nil)
		s.end()
		if got := s.runner.Unfinished(); len(got) > 0 {
			t.Errorf("after the end %v are unfinished", got)
		}
	})
}

// TestALongWaitIsNamed ticks a runner with a waiting task.
func TestALongWaitIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Job{Splits: 1, NewExecutor: executors(func(t *Task) error {
			t.PullRange(0, 0,
				1)
			return nil
		})}, 1)
		s.holds = isRows
		s.runner.Tick(0)
		s.start()
		synctest.Wait()
		s.runner.Tick(1000)
		if len(s.notices) > 0 {
			t.Errorf("after 1 s: %q", s.notices)
		}
		s.runner.Tick(5000)
		if len(s.notices) != 1 || !strings.Contains(s.notices[0], "at lane 0 of node 0") {
			t.Errorf("after 5 s: %q", s.notices)
		}
		s.hold(nil)
		s.end()
	})
}

// TestLongTaskIsReported ticks a runner with a computing task: after 2 s the controller gets a report with the elapsed
// time.
func TestLongTaskIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan struct{})
		s := newStage(t, Job{Splits: 1, NewExecutor: executors(func(*Task) error { <-ends; return nil })}, 1)
		s.runner.Tick(0)
		s.start()
		synctest.Wait()
		for now := int64(500); now <= 2000; now += 500 {
			s.runner.Tick(now)
		}
		var told []int64
		for _, m := range s.passed {
			if m, ok := m.(*wire.Computing); ok {
				told = append(told, m.Millis)
			}
		}
		if len(told) != 1 || told[0] <= 1000 || told[0] > 2001 {
			t.Errorf("told of a task that has computed for %d ms", told)
		}
		close(ends)
		s.end()
	})
}

// TestAReportComesAheadOfResults runs clocks of 30 ms each with reports at most every 50 ms: they come ahead of every
// second result, and of the last word.
func TestAReportComesAheadOfResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clocks = 4
		s := newStage(t, Job{Splits: 1, Driver: &Clocks{Splits: 1, Count: clocks},
			NewExecutor: executors(func(t *Task) error {
				<-time.After(30 * time.Millisecond)
				t.PushRange(0, 0, []float32{1})
				return nil
			})}, 1)
		filled := 0
		s.runner.Report(atClient, atLeader, func(m *wire.Report) {
			filled++
			m.Tally.Sent.Count(tally.Pushes, 10)
		})
		s.finish()
		var got []string
		for _, m := range s.passed {
			switch m := m.(type) {
			case *wire.Report:
				got = append(got, "report")
				if m.Tally.Sent[tally.Pushes].Bytes != 10 || m.Tally.Spent[tally.Compute] == 0 {
					t.Errorf("the report says %+v", m.Tally)
				}
			case *wire.Push:
				got = append(got, "result")
			case *wire.Closed:
				got = append(got, "last word")
			}
		}
		want := []string{"report", "result", "result", "report", "result", "result", "report", "last word"}
		if !slices.Equal(got, want) || filled != 3 {
			t.Errorf("%v, want %v; %d reports were filled", got, want, filled)
		}
	})
}
