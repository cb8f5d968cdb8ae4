package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/mem"
	"bellows/port/registry/registrytest"
)

// TestElectionsAndLimits of the port itself, as the suite has them of every registry.
func TestElectionsAndLimits(t *testing.T) {
	t.Parallel()
	var first *mem.Store // of the test that runs alone
	registrytest.Run(t, registrytest.Place{
		New: func(t *testing.T) func() registry.Registry {
			s := mem.New(t.Name())
			if first == nil {
				first = s
			}
			return s.Open
		},
		Compact: func(*testing.T) { first.Compact() },
		Play:    func(t *testing.T, test func(*testing.T)) { synctest.Test(t, test) },
	})
}

func TestFaultsGoByTheirCauses(t *testing.T) {
	t.Parallel()
	for cause, kind := range map[error]bellows.Kind{
		context.Canceled: bellows.Interrupted, context.DeadlineExceeded: bellows.Unavailable, fs.ErrNotExist: bellows.NoInput, registry.ErrChanged: bellows.Refused,
		registry.ErrExpired: bellows.Lost, registry.ErrBehind: bellows.Lost, registry.ErrFull: bellows.CannotWrite, registry.ErrTooMany: bellows.Bug, registry.ErrClosed: bellows.Bug,
		errors.New("another"): bellows.Unavailable,
	} {
		err := registry.Fault("put", "a/b", fmt.Errorf("below: %w", cause))
		if bellows.KindOf(err) != kind || !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "put a/b: ") {
			t.Errorf("%v is %v, of kind %d", cause, err, bellows.KindOf(err))
		}
	}
	if err := registry.Fault("put", "a", nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

// TestUnknownRegistryIsRefused at its bound, and what is at it is not.
func TestUnknownRegistryIsRefused(t *testing.T) {
	t.Parallel()
	key, value := strings.Repeat("k", 512), make([]byte, registry.ValueBytesMost)
	many := make([]registry.Is, registry.ConditionsMost)
	for i := range many {
		many[i].Key = key
	}
	for what, c := range map[string]struct{ right, wrong error }{
		"a key":           {registry.CheckKey(key), registry.CheckKey(key + "k")},
		"letters":         {registry.CheckKey("a/b-c.d_e=0/_"), registry.CheckKey("a/-b")},
		"a prefix":        {registry.CheckPrefix(key), registry.CheckPrefix(key + "k")},
		"any prefix":      {registry.CheckPrefix("a/-b/"), registry.CheckPrefix("A")},
		"a value":         {registry.CheckPut(key, value, many), registry.CheckPut(key, append(value, 0), nil)},
		"conditions":      {registry.CheckPut("a", nil, many), registry.CheckPut("a", nil, append(many, many[0]))},
		"of a key":        {registry.CheckPut("a", nil, nil), registry.CheckPut("", nil, nil)},
		"of another key":  {registry.CheckPut("a", nil, []registry.Is{{Key: "b"}}), registry.CheckPut("a", nil, []registry.Is{{Key: "B"}})},
		"a revision":      {registry.CheckPut("a", nil, []registry.Is{{Key: "b", Revision: 1}}), registry.CheckPut("a", nil, []registry.Is{{Key: "b", Revision: -1}})},
		"a short lease":   {registry.CheckTTL(registry.LeaseLeast), registry.CheckTTL(registry.LeaseLeast - 1)},
		"and a long one":  {registry.CheckTTL(registry.LeaseMost), registry.CheckTTL(registry.LeaseMost + 1)},
		"a middling one":  {registry.CheckTTL(time.Minute), registry.CheckTTL(0)},
		"no first letter": {registry.CheckKey("="), registry.CheckKey(".")},
	} {
		if c.right != nil || bellows.KindOf(c.wrong) != bellows.Bug {
			t.Errorf("%s: %v, and %v", what, c.right, c.wrong)
		}
	}
}

// TestSettleReadsCurrentState checks what became of a Put: how often it is tried, and whose value counts.
func TestSettleReadsCurrentState(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	r := s.Open()
	at, err := r.Put(t.Context(), "a", []byte("0"), 0)
	require.NoError(t, err)
	settle := func(ctx context.Context, value string, was registry.Revision) (puts, gets int, now registry.Revision, err error) {
		fail := s.Fail
		s.Fail = func(op, key string) error {
			switch op {
			case "put":
				puts++
			case "get":
				gets++
			}
			if fail != nil {
				return fail(op, key)
			}
			return nil
		}
		now, err = registry.Settle(ctx, r, "a", []byte(value), 0, was)
		s.Fail = fail
		return puts, gets, now, err
	}
	if puts, gets, now, err := settle(t.Context(), "1", at); puts != 1 || gets != 0 || now != at+1 || err != nil {
		t.Errorf("%d puts, %d looks, revision %d: %v", puts, gets, now, err)
	}
	lost := 1
	s.Lose = func(op, _ string) error {
		if lost--; op == "put" && lost >= 0 {
			return context.DeadlineExceeded
		}
		return nil
	}
	if puts, gets, now, err := settle(t.Context(), "2", at+1); puts != 1 || gets != 1 || now != at+2 || err != nil {
		t.Errorf("its answer is lost: %d puts, %d looks, revision %d: %v", puts, gets, now, err)
	}
	lost = 1
	looks := 0
	s.Fail = func(op, _ string) error {
		if op == "get" {
			if looks++; looks == 1 {
				return context.DeadlineExceeded
			}
		}
		return nil
	}
	if puts, gets, now, err := settle(t.Context(), "3", at+2); puts != 2 || gets != 2 || now != at+3 || err != nil {
		t.Errorf("its answer is lost, and that of the read: %d puts, %d looks, revision %d: %v", puts, gets, now, err)
	}
	s.Lose, s.Fail = nil, nil
	if puts, gets, _, err := settle(t.Context(), "4", at); puts != 1 || gets != 0 || !errors.Is(err, registry.ErrChanged) {
		t.Errorf("it had changed before: %d puts, %d looks, %v", puts, gets, err)
	}
	silent := func(op, _ string) error {
		if op == "put" {
			return context.DeadlineExceeded
		}
		return nil
	}
	s.Fail = silent
	if puts, gets, _, err := settle(t.Context(), "3", at+3); puts != 8 || gets != 8 || bellows.KindOf(err) != bellows.Unavailable { // the value is there, but as it was
		t.Errorf("a registry that is silent: %d puts, %d looks, %v", puts, gets, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Fail = func(op, key string) error {
		cancel()
		return silent(op, key)
	}
	if puts, gets, _, err := settle(ctx, "5", at+3); puts != 1 || gets > 1 || err == nil {
		t.Errorf("without a waiter: %d puts, %d looks, %v", puts, gets, err)
	}
	s.Fail = func(op, _ string) error {
		if op == "get" {
			return registry.ErrClosed
		}
		return context.DeadlineExceeded
	}
	if puts, gets, _, err := settle(t.Context(), "5", at+3); puts != 1 || gets != 1 || !errors.Is(err, registry.ErrClosed) {
		t.Errorf("it is closed: %d puts, %d looks, %v", puts, gets, err)
	}
}

// TestResignEndsLeadership; that it has ended before is no error, and that the registry is silent is one.
func TestResignEndsLeadership(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	r := s.Open()
	lease, err := r.Grant(t.Context(), time.Minute)
	require.NoError(t, err)
	l, err := registry.Campaign(t.Context(), r, "office", []byte("me"), lease)
	require.NoError(t, err)
	s.Fail = func(string, string) error { return context.DeadlineExceeded }
	if err := l.Resign(t.Context(), r); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a registry that is silent: %v", err)
	}
	s.Fail = nil
	for range 2 {
		if err := l.Resign(t.Context(), r); err != nil {
			t.Error(err)
		}
		if _, err := r.Get(t.Context(), "office"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it leads still: %v", err)
		}
	}
	other, err := registry.Campaign(t.Context(), r, "office", []byte("another"), lease)
	if err != nil || l.Resign(t.Context(), r) != nil || other.Term <= l.Term {
		t.Errorf("terms %d and %d: %v", l.Term, other.Term, err)
	}
	if _, err := r.Get(t.Context(), "office"); err != nil {
		t.Errorf("a resigned leader ends another's leadership: %v", err)
	}
}

// watching is a registry that counts its open watches.
type watching struct {
	registry.Registry
	open int
}

type watched struct {
	registry.Watch
	of *watching
}

func (r *watching) Watch(prefix string, after registry.Revision) (registry.Watch, error) {
	w, err := r.Registry.Watch(prefix, after)
	if err == nil {
		r.open++
	}
	return &watched{w, r}, err
}

func (w *watched) Close() {
	w.of.open--
	w.Watch.Close()
}

// TestCampaignEndsWatch than it waits.
func TestCampaignEndsWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := mem.New("a")
		r := &watching{Registry: s.Open()}
		defer r.Close()
		var leases []registry.Lease
		for range 2 {
			l, err := r.Grant(t.Context(), time.Minute)
			require.NoError(t, err)
			leases = append(leases, l)
		}
		first, err := registry.Campaign(t.Context(), r, "office", []byte("first"), leases[0])
		require.NoError(t, err)
		won := make(chan registry.Leadership, 1)
		go func() {
			l, err := registry.Campaign(t.Context(), r, "office", []byte("second"), leases[1])
			if err != nil {
				t.Error(err)
			}
			won <- l
		}()
		synctest.Wait()
		if r.open != 1 {
			t.Errorf("it watches %d times", r.open)
		}
		if err := first.Resign(t.Context(), r); err != nil {
			t.Error(err)
		}
		if second := <-won; second.Term <= first.Term || r.open != 0 {
			t.Errorf("terms %d and %d; %d watches are left", first.Term, second.Term, r.open)
		}
	})
}
