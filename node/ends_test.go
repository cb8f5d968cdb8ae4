package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// task is an executor that is one function.
type task func(t *train.Task) error

func (f task) RunTask(t *train.Task) error { return f(t) }

// job returns 4 splits of 10 items on one BSP table of 8 rows, driven in rounds.
func job(rounds int, run func(t *train.Task) error) train.Job {
	return train.Job{
		Tables: []table.Schema{{Name: "w", Rows: 8, Width: 2, Partitions: 4}},
		Splits: 4,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 10} },
		Driver: &train.Rounds{Splits: 4, Each: func(r int, _ [][]float64, _ *train.Dispatcher) bool { return r+1 < rounds }},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) {
			return task(run), nil
		},
	}
}

// drift makes each row depend on all that was before, in an order-sensitive way.
func drift(t *train.Task) error {
	seen := t.PullRange(0, 0, 8)
	d := make([]float32, len(seen))
	for i, v := range seen {
		d[i] = (v+float32(i)*0.37)*0.01*float32(t.Split()+1) + float32(t.Clock())*1e-3
	}
	t.PushRange(0, 0, d)
	t.SignalTaskCompletion(float64(d[3]))
	return nil
}

func TestFailedTaskEndsJob(t *testing.T) {
	boom := bellows.Errorf(bellows.BadData, "read", "items", "item 7 is broken")
	for name, fail := range map[string]func() error{
		"error": func() error { return boom },
		"panic": func() error { panic(boom) },
	} {
		t.Run(name, func(t *testing.T) {
			j := job(10, func(t *train.Task) error {
				if t.Split() == 2 && t.Clock() == 3 {
					return fail()
				}
				return drift(t)
			})
			r, err := node.Train(context.Background(), j, node.Options{Slots: 2})
			if err == nil || !strings.Contains(err.Error(), "split 2 clock 3") || !errors.Is(err, boom) {
				t.Fatalf("error %v", err)
			}
			if k := bellows.KindOf(err); k != bellows.BadData && name == "error" {
				t.Errorf("kind %d: the cause's kind is lost", k)
			}
			if r.Audit.Disagreements(false) != nil {
				t.Errorf("audit %+v", r.Audit)
			}
		})
	}
}

func TestADriverThatGoesSilentIsNamed(t *testing.T) {
	j := job(1, drift)
	j.Driver = silent{}
	_, err := node.Train(context.Background(), j, node.Options{})
	if err == nil || !strings.Contains(err.Error(), "dispatched no task and did not finish") {
		t.Fatalf("error %v", err)
	}
}

type silent struct{}

func (silent) DispatchInitialTasks(*train.Dispatcher)                   {}
func (silent) HandleTaskCompletion(train.Completion, *train.Dispatcher) {}
func (silent) Save() []float64                                          { return nil }
func (silent) Restore([]float64) error                                  { return nil }

// TestInterruptAndResume stops a job at many points and wants the same bits as the run that was not
// stopped.
func TestInterruptAndResume(t *testing.T) {
	const rounds = 12
	whole := runAlone(t, job(rounds, drift), node.Options{Slots: 2})
	for stop := range rounds * 4 {
		ctx, cancel := context.WithCancel(context.Background())
		count := make(chan struct{}, 1000)
		j := job(rounds, func(t *train.Task) error {
			count <- struct{}{}
			if len(count) == stop+1 {
				cancel()
			}
			return drift(t)
		})
		r, err := node.Train(ctx, j, node.Options{Slots: 2})
		for err == nil && r.Image != nil {
			r, err = node.Train(context.Background(), job(rounds, drift), node.Options{Slots: 1, Lanes: 3, Resume: r.Image})
		}
		cancel()
		require.NoError(t, err)
		if !slices.Equal(r.Tables[0], whole.Tables[0]) {
			t.Fatalf("stopped after %d tasks: %v, want %v", stop, r.Tables[0], whole.Tables[0])
		}
	}
}

func TestAnImageOfAnotherJobIsRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var started bool
	r, err := node.Train(ctx, job(1<<20, func(t *train.Task) error {
		if !started {
			started = true
			cancel()
		}
		return drift(t)
	}), node.Options{})
	if err != nil || r.Image == nil {
		t.Fatalf("image %v, error %v", r.Image, err)
	}
	for name, change := range map[string]func(*train.Job){
		"tables":     func(j *train.Job) { j.Tables = append(j.Tables, table.Schema{Name: "x", Rows: 1, Width: 1}) },
		"rows":       func(j *train.Job) { j.Tables[0].Width = 3 },
		"partitions": func(j *train.Job) { j.Tables[0].Partitions = 8 },
	} {
		j := job(2, drift)
		change(&j)
		if _, err := node.Train(context.Background(), j, node.Options{Resume: r.Image}); bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// keeper keeps the tables after round 3 and reports every round.
func TestKeepReturnsTheKeptTables(t *testing.T) {
	keep := func(rounds, at int) []float32 {
		j := job(rounds, drift)
		j.Driver = &train.Rounds{Splits: 4, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
			to.ShowEpoch(train.Epoch{Number: r + 1})
			if r == at {
				to.Keep()
			}
			return r+1 < rounds
		}}
		var epochs []int
		r, err := node.Train(context.Background(), j, node.Options{Slots: 2,
			OnEpoch: func(e train.Epoch, _ node.Spent) { epochs = append(epochs, e.Number) }})
		require.NoError(t, err)
		if len(epochs) != rounds || !slices.IsSorted(epochs) {
			t.Errorf("epochs %v", epochs)
		}
		return r.Tables[0]
	}
	if got, want := keep(9, 3), keep(4, -1); !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

// TestABlockedTaskGivesItsSlotAway makes one slot, and tasks dispatched ahead: split 0's clock 1 waits
// for the clock 0 of splits that have not run yet (Litz §4, co-operative multitasking).
func TestABlockedTaskGivesItsSlotAway(t *testing.T) {
	j := job(1, func(t *train.Task) error {
		if got, want := t.PullRange(0, 0, 1)[0], float32(4*t.Clock()); got != want {
			return fmt.Errorf("%v sees %v, want %v", t.Split(), got, want)
		}
		t.PushRange(0, 0, []float32{1, 0})
		return nil
	})
	j.Driver = &ahead{clocks: 5}
	r := runAlone(t, j, node.Options{Slots: 1})
	if r.Tables[0][0] != 20 {
		t.Errorf("ends at %v", r.Tables[0][0])
	}
}

// ahead dispatches all clocks of all splits at once.
type ahead struct{ clocks, done int }

func (d *ahead) DispatchInitialTasks(to *train.Dispatcher) {
	for s := range bellows.SplitID(4) {
		for range d.clocks {
			to.DispatchTask(s)
		}
	}
}

func (d *ahead) HandleTaskCompletion(_ train.Completion, to *train.Dispatcher) {
	if d.done++; d.done == 4*d.clocks {
		to.Finish()
	}
}

func (d *ahead) Save() []float64           { return nil }
func (d *ahead) Restore(_ []float64) error { return nil }

func TestLeasesOutOfOrderAreRefused(t *testing.T) {
	j := job(1, func(t *train.Task) error {
		t.Lease(0, 2, train.Exclusive)
		t.Lease(0, 1, train.Exclusive)
		return nil
	})
	j.Tables[0].Consistency = table.Async
	_, err := node.Train(context.Background(), j, node.Options{})
	if err == nil || !strings.Contains(err.Error(), "ascending order") {
		t.Fatalf("error %v", err)
	}
}

func TestBlockingReadUnderLeaseIsRefused(t *testing.T) {
	j := job(1, func(t *train.Task) error {
		t.Lease(0, 1, train.Exclusive)
		t.PullRange(0, 2, 4) // rows of the leased partition itself: it would wait for ever
		return nil
	})
	_, err := node.Train(context.Background(), j, node.Options{})
	if err == nil || !strings.Contains(err.Error(), "read first, then lease") {
		t.Fatalf("error %v", err)
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*train.Job){
		"no splits": func(j *train.Job) { j.Splits = 0 },
		"no driver": func(j *train.Job) { j.Driver = nil },
		"bad table": func(j *train.Job) { j.Tables[0].Rows = 0 },
		"bad rule":  func(j *train.Job) { j.Tables[0].Rule.Name = "x" },
	} {
		j := job(1, drift)
		change(&j)
		if _, err := node.Train(context.Background(), j, node.Options{}); bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStalenessChangesWhileRunning tightens a table from async to BSP and loosens it again: reads must
// follow from the next round on, and an interrupted run must remember.
func TestStalenessChangesWhileRunning(t *testing.T) {
	const rounds = 9
	make := func(stop func(round int)) train.Job {
		j := job(rounds, func(t *train.Task) error {
			got, begin := t.PullRange(0, 0, 1)[0], float32(4*t.Clock())
			if got < begin || (t.Clock() >= 3 && t.Clock() < 6 && got != begin) {
				return fmt.Errorf("split %d clock %d sees %v", t.Split(), t.Clock(), got)
			}
			t.PushRange(0, 0, []float32{1, 0})
			return nil
		})
		j.Tables[0].Consistency = table.Async
		j.Driver = &train.Rounds{Splits: 4, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
			switch r {
			case 2:
				to.SetStaleness(0, table.BSP)
			case 5:
				to.SetStaleness(0, table.SSP(2))
			}
			stop(r)
			return r+1 < rounds
		}}
		return j
	}
	for at := range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := node.Train(ctx, make(func(round int) {
			if round == at {
				cancel()
			}
		}), node.Options{Slots: 2})
		for err == nil && r.Image != nil {
			r, err = node.Train(context.Background(), make(func(int) {}), node.Options{Slots: 2, Resume: r.Image})
		}
		cancel()
		require.NoError(t, err)
		if r.Tables[0][0] != 4*rounds {
			t.Errorf("ends at %v", r.Tables[0][0])
		}
	}
}

// TestInterruptStopsDispatch interrupts a job of three rounds as the first one ends, and wants it to end amid the
// second, however late the goroutine runs that waits for the context. Observers see how many items are left: those of
// the second round.
func TestInterruptStopsDispatch(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		j := job(1, drift)
		j.Driver = &train.Rounds{Splits: j.Splits, Each: func(round int, _ [][]float64, _ *train.Dispatcher) bool {
			cancel()
			return round < 2
		}}
		var told []int
		r, err := node.Train(ctx, j, node.Options{OnStop: func(left int) { told = append(told, left) }})
		if err != nil || r.Image == nil {
			t.Fatalf("image %v, error %v", r.Image, err)
		}
		if !slices.Equal(told, []int{40, 0}) {
			t.Fatalf("told that %v items are left", told)
		}
		if slices.Max(r.Image.State.Complete) > 1 {
			t.Fatalf("clocks %v are complete", r.Image.State.Complete)
		}
	}
}
