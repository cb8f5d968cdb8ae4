package mem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/mem"
	"bellows/port/registry/registrytest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	var forget *mem.Store // of the test that runs alone
	registrytest.Run(t, registrytest.Place{
		New: func(t *testing.T) func() registry.Registry {
			s := mem.New(t.Name())
			if forget == nil {
				forget = s
			}
			return s.Open
		},
		Compact: func(*testing.T) { forget.Compact() },
		Play:    func(t *testing.T, test func(*testing.T)) { synctest.Test(t, test) },
	})
}

// TestHistoryIsBounded: a watch sees what is in the history, and gets an error for the rest.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := mem.New("test")
	s.HistoryMost = 3
	r := s.Open()
	var at []registry.Revision
	for i := range 5 {
		rev, err := r.Put(t.Context(), "a", fmt.Append(nil, i), 0)
		require.NoError(t, err)
		at = append(at, rev)
	}
	for i, after := range at {
		w, err := r.Watch("a", after)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		if i == len(at)-1 {
			cancel()
		}
		got, err := w.Next(ctx)
		cancel()
		switch {
		case i == 0 && !errors.Is(err, registry.ErrBehind),
			i > 0 && i < len(at)-1 && (err != nil || len(got) != len(at)-1-i),
			i == len(at)-1 && !errors.Is(err, context.Canceled):
			t.Errorf("after %d: %v, %v", after, got, err)
		}
	}
}

// TestStepsFail: each step fails before anything was done.
func TestStepsFail(t *testing.T) {
	t.Parallel()
	want, fails := errors.New("it fails"), ""
	s := mem.New("test")
	s.Fail = func(op, key string) error {
		if op == fails {
			return want
		}
		return nil
	}
	r := s.Open()
	use := func() error {
		l, err := r.Grant(t.Context(), registry.LeaseMost)
		if err != nil {
			return err
		}
		at, err := r.Put(t.Context(), "a", nil, l.ID())
		_, got := r.Get(t.Context(), "a")
		_, _, listed := r.List(t.Context(), "a")
		w, watched := r.Watch("a", at-1)
		if watched == nil {
			_, watched = w.Next(t.Context())
		}
		return errors.Join(err, got, listed, watched, l.Renew(t.Context()), r.Delete(t.Context(), "a"), l.Revoke(t.Context()))
	}
	require.NoError(t, use())
	for _, op := range []string{"get", "list", "put", "delete", "watch", "grant", "renew", "revoke"} {
		fails = op
		if op == "put" {
			_, err := r.Put(t.Context(), "a", nil, 0)
			if !errors.Is(err, want) {
				t.Errorf("put: %v", err)
			}
			continue
		}
		if err := use(); !errors.Is(err, want) || bellows.KindOf(err) == bellows.Bug {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// TestAnAnswerIsLost: the step was carried out, and a campaigner leads when it asks again.
func TestAnAnswerIsLost(t *testing.T) {
	t.Parallel()
	lost := true
	s := mem.New("test")
	s.Lose = func(op, key string) error {
		if op == "put" && lost {
			return context.DeadlineExceeded
		}
		return nil
	}
	r := s.Open()
	lease, err := r.Grant(t.Context(), registry.LeaseMost)
	require.NoError(t, err)
	if _, err := registry.Campaign(t.Context(), r, "office", nil, lease); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("it says %v", err)
	}
	lost = false
	e, err := r.Get(t.Context(), "office")
	if err != nil || e.Lease != lease.ID() {
		t.Fatalf("%+v: %v", e, err)
	}
	if l, err := registry.Campaign(t.Context(), r, "office", nil, lease); err != nil || l.Term != e.Revision {
		t.Errorf("%+v: %v", l, err)
	}
}

// TestSettleFindsOut: a Put that was carried out is not repeated, and one that another client has overtaken is refused.
func TestSettleFindsOut(t *testing.T) {
	t.Parallel()
	const done, undone = 1, 2
	for _, c := range []struct {
		name   string
		faults []int // of the Puts, in order
		other  bool  // another client puts after the first
		want   error
	}{
		{"nothing is lost", nil, false, nil},
		{"the answer is lost", []int{done}, false, nil},
		{"the question is lost", []int{undone}, false, nil},
		{"the question and then the answer", []int{undone, undone, done}, false, nil},
		{"another one is sooner", []int{undone}, true, registry.ErrChanged},
		{"it is lost for good", []int{undone, undone, undone, undone, undone, undone, undone, undone, undone}, false, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, faults, puts := mem.New("test"), c.faults, 0
			fault := func(kind int, op string) error {
				if op != "put" || len(faults) == 0 || faults[0] != kind {
					return nil
				}
				faults = faults[1:]
				return context.DeadlineExceeded
			}
			r := s.Open()
			at, err := r.Put(t.Context(), "a", []byte("0"), 0)
			require.NoError(t, err)
			s.Fail = func(op, key string) error {
				if op == "get" && c.other && puts == 0 {
					puts++
					faults = nil
					if _, err := s.Open().Put(t.Context(), "a", []byte("other"), 0); err != nil {
						t.Error(err)
					}
				}
				return fault(undone, op)
			}
			s.Lose = func(op, key string) error { return fault(done, op) }
			got, err := registry.Settle(t.Context(), r, "a", []byte("1"), 0, at)
			if !errors.Is(err, c.want) {
				t.Fatalf("it says %v", err)
			}
			s.Fail, s.Lose = nil, nil
			if e, err2 := r.Get(t.Context(), "a"); err2 != nil || c.want == nil && (string(e.Value) != "1" || e.Revision != got || got != at+1) {
				t.Errorf("%+v is there, of revision %d: %v", e, got, err2)
			}
		})
	}
}
