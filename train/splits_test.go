package train

import (
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/internal/require"
)

// tenant is an executor that says what becomes of it.
type tenant struct {
	split bellows.SplitID
	hold  chan struct{} // its closing waits for this
	err   error
}

func (*tenant) RunTask(*Task) error { return nil }

func (e *tenant) Close() error {
	<-e.hold
	return e.err
}

// TestASplitComesAndGoes makes one of three splits come to a node, go, and come back while it is still let go: it is
// prepared, closed and released once each time, and in this order.
func TestASplitComesAndGoes(t *testing.T) {
	t.Parallel()
	boom := errors.New("it does not close")
	var said []string
	say := func(what string, splits ...bellows.SplitID) error {
		for _, s := range splits {
			said = append(said, what+string('0'+rune(s)))
		}
		return nil
	}
	hold := make(chan struct{})
	job := &Job{Splits: 3,
		Prepare: func(active []bellows.SplitID) error { return say("prepare", active...) },
		NewExecutor: func(s bellows.SplitID) (Executor, error) {
			return &tenant{s, hold, boom}, say("make", s)
		},
		Release: func(s bellows.SplitID) { _ = say("release", s) }}
	s := newSplits(job)
	require.NoError(t, s.begin([]bellows.SplitID{0}))
	s.leave(2) // it came and ran nothing
	first, err := s.executor(1)
	again, _ := s.executor(1)
	if err != nil || first != again {
		t.Errorf("split 1 has %v and %v, %v", first, again, err)
	}
	s.leave(1)
	back := make(chan Executor)
	go func() {
		e, _ := s.executor(1)
		back <- e
	}()
	close(hold)
	if e := <-back; e == first {
		t.Error("a split that comes back has the executor that was let go")
	}
	if err := s.close(); !errors.Is(err, boom) {
		t.Errorf("closing: %v", err)
	}
	if want := []string{"prepare0", "make0", "prepare1", "make1", "release1", "prepare1", "make1"}; !slices.Equal(said,
		want) {
		t.Errorf("%v, not %v", said, want)
	}
}

// TestFailedPrepareEndsTask with the application's error.
func TestFailedPrepareEndsTask(t *testing.T) {
	t.Parallel()
	boom := errors.New("no room")
	for _, job := range []*Job{
		{Splits: 1, Prepare: func([]bellows.SplitID) error { return boom }},
		{Splits: 1, NewExecutor: func(bellows.SplitID) (Executor, error) { return nil, boom }},
	} {
		s := newSplits(job)
		if e, err := s.executor(0); e != nil || !errors.Is(err, boom) {
			t.Errorf("%v, %v", e, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAProgramIsItsGoAndRevision: two builds of one revision are one program, also where they were built in different
// folders or with different flags.
func TestAProgramIsItsGoAndRevision(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Path: "x/cmd", Main: debug.Module{Version: "v2"}, Settings: []debug.BuildSetting{
		{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "noon"},
		{Key: "vcs.modified", Value: "false"}, {Key: "CGO_ENABLED", Value: "0"},
	}}
	for want, info := range map[string]*debug.BuildInfo{" x/cmd v2 abc false": info, "": nil} {
		var got strings.Builder
		program(&got, info)
		if want = runtime.Version() + want; got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	}
}

// TestIdleGoroutineSleeps runs in virtual time, which stands still while a goroutine looks for work.
func TestIdleGoroutineSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, over := make(chan *Task), make(chan *Task)
		go func() { over <- (&pool{}).await(mine) }()
		<-time.After(time.Second)
		want := &Task{}
		mine <- want
		if got := <-over; got != want {
			t.Errorf("it is given %p", got)
		}
	})
}

// BenchmarkPhases measures what measuring costs a task that waits for nothing.
func BenchmarkPhases(b *testing.B) {
	p := &phases{meter: tally.NewMeter(2), base: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		p.compute(1)
		p.compute(-1)
	}
}

// TestPhasesTakeNoMemory reports every task and every wait, and expects no allocation.
func TestPhasesTakeNoMemory(t *testing.T) {
	p := &phases{meter: tally.NewMeter(2), base: time.Now()}
	if n := testing.AllocsPerRun(100, func() {
		p.compute(1)
		p.spent()
		p.compute(-1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
