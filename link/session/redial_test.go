package session_test

import (
	"slices"
	"testing"

	"bellows/core/liveness"
	"bellows/link/session"
)

// times are short: 3 s for others, 9 s for node 0, 1 s after a refusal.
var times = liveness.Times{Lease: 3000, Leader: 9000, Broken: 1000}

// tries calls Next and Failed until Redial gives up, and returns when it tried.
func tries(t *testing.T, r session.Redial, from int64, refused func(now int64) bool) (at []int64) {
	t.Helper()
	for now := from; ; {
		wait, ok := r.Next(now)
		if !ok {
			return append(at, now)
		}
		now += wait
		at = append(at, now)
		r.Failed(now, refused(now))
		if len(at) > 1000 {
			t.Fatal("it is tried without end")
		}
	}
}

func never(int64) bool { return false }

// TestWaitBetweenTriesDoubles checks that, up to a quarter of a second, until the lease of the other node ends.
func TestWaitBetweenTriesDoubles(t *testing.T) {
	t.Parallel()
	const began = 50_000
	at := tries(t, session.NewRedial(times, false, began), began, never)
	var waits []int64
	for i, now := range at[:8] {
		waits = append(waits, now-append([]int64{began}, at...)[i])
	}
	if want := []int64{10, 20, 40, 80, 160, 250, 250, 250}; !slices.Equal(waits, want) {
		t.Errorf("it waits %v, want %v", waits, want)
	}
	if last := at[len(at)-1] - began; last < 3000 || last >= 3250 {
		t.Errorf("it is given up after %d ms, not after 3000", last)
	}
	at = tries(t, session.NewRedial(times, true, began), began, never)
	if last := at[len(at)-1] - began; last < 9000 || last >= 9250 {
		t.Errorf("node 0 is given up after %d ms, not after 9000", last)
	}
	r := session.NewRedial(times, false, began)
	for _, now := range []int64{0, 1000, 2000, 2999} {
		if _, ok := r.Next(began + now); !ok {
			t.Errorf("it is given up after %d ms", now)
		}
	}
	if wait, ok := r.Next(began + 3000); ok {
		t.Errorf("after a lease it waits %d ms more", wait)
	}
}

// TestWhereNobodyListensTheOtherIsDead: not at the first refusal, since a process may be about to listen, but when
// they have lasted; one try
// that failed otherwise begins the count anew.
func TestWhereNobodyListensTheOtherIsDead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused     func(now int64) bool
		from, until int64
	}{
		"always":           {func(int64) bool { return true }, 1010, 1260},
		"but for a while":  {func(now int64) bool { return now < 500 || now > 900 }, 1900, 2500},
		"not at the start": {func(now int64) bool { return now > 1500 }, 2500, 3000},
		"never":            {never, 3000, 3250},
	} {
		at := tries(t, session.NewRedial(times, false, 0), 0, c.refused)
		if last := at[len(at)-1]; last < c.from || last >= c.until {
			t.Errorf("%s: given up after %d ms, want from %d to %d", name, last, c.from, c.until)
		}
	}
	r := session.NewRedial(times, false, 0)
	r.Failed(100, true)
	r.Failed(600, true) // which is no other refusal
	if _, ok := r.Next(999); !ok {
		t.Error("given up before a second of refusals")
	}
	if wait, ok := r.Next(1100); ok {
		t.Errorf("after a second of refusals it waits %d ms more", wait)
	}
}

// TestSleepDoesNotCountAsSilence sleeps for an hour while a connection is down: afterwards as much time is left as
// before.
func TestSleepDoesNotCountAsSilence(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	r := session.NewRedial(times, false, 0)
	for _, now := range []int64{1000, 2000, hour + 2000, hour + 2999} {
		if _, ok := r.Next(now); !ok {
			t.Errorf("given up at %d ms", now)
		}
	}
	if _, ok := r.Next(hour + 3000); ok {
		t.Error("not given up when a lease awake has passed")
	}
	r = session.NewRedial(times, false, 0)
	r.Failed(0, true)
	for _, now := range []int64{500, hour + 500, hour + 999} {
		if _, ok := r.Next(now); !ok {
			t.Errorf("refused: given up at %d ms", now)
		}
	}
	if _, ok := r.Next(hour + 1000); ok {
		t.Error("not given up after a second awake of refusals")
	}
}

// TestRedialWaitsForASuccessor tries node 0 for as long as another process may take to replace it, though its port
// refuses connections meanwhile.
func TestRedialWaitsForASuccessor(t *testing.T) {
	t.Parallel()
	times := times
	times.Successor = 20_000
	always := func(int64) bool { return true }
	at := tries(t, session.NewRedial(times, true, 0), 0, always)
	if last := at[len(at)-1]; last < 20_000 || last >= 20_250 {
		t.Errorf("it is given up after %d ms, not after 20000", last)
	}
	at = tries(t, session.NewRedial(times, false, 0), 0, always)
	if last := at[len(at)-1]; last >= 1250 {
		t.Errorf("a node that is not node 0 is given up after %d ms", last)
	}
}
