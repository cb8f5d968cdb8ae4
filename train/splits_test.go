package train

import (
	"errors"
	"slices"
	"testing"

	"bellows"
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

// TestASplitComesAndGoes has one of three splits come to a node, go, and come back while it is still let go: it is prepared,
// closed and released once each time, and in this order.
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
	if want := []string{"prepare0", "make0", "prepare1", "make1", "release1", "prepare1", "make1"}; !slices.Equal(said, want) {
		t.Errorf("%v, not %v", said, want)
	}
}

// TestASplitThatCannotComeEndsItsTask with the application's error.
func TestASplitThatCannotComeEndsItsTask(t *testing.T) {
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
