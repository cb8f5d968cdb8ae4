package coord_test

import (
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// measuring returns a controller of lanes that keep so many bytes of records.
func measuring(tail int) *desk {
	job := jobOf(1000, lanes, table.Schema{Name: "f", Rows: 1, Width: 1, Consistency: table.Async})
	job.Items = items(4)
	d := newDeskOf(job, coord.Options{Driver: &ahead{}, Stays: stays, Limits: coord.Limits{Tail: tail}})
	d.begin()
	return d
}

// begins begins a cut and returns its attempt.
func (d *desk) begins(t *testing.T) (attempt uint64) {
	t.Helper()
	require.NoError(t, d.Cut(&d.fx))
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.Cut); ok {
			attempt = m.Attempt
		}
	}
	d.shard(wire.Shard{Attempt: attempt})
	return attempt
}

// TestCutDue fills half of a tail with records since the last cut that was kept. After a cut that failed, the next
// is due an eighth of the tail later. A controller without a successor needs no cut.
func TestCutDue(t *testing.T) {
	const tail = 4000
	d, clock := measuring(tail), 0
	flush := func() {
		d.flush(1, clock+1, bellows.Clock(clock), 0, fourItems)
		clock++
	}
	// fill makes flushes until a cut is due, and returns how many that took.
	fill := func() (n int) {
		t.Helper()
		for ; !d.CutDue(); n++ {
			if n == tail/4 {
				t.Fatal("a tail is full and no cut is due")
			}
			flush()
		}
		return n
	}
	half := fill()
	if d.fx.Reset(); half < tail/2/40 || half > tail/2/10 { // a record takes some 15 bytes
		t.Errorf("it is due after %d records", half)
	}
	attempt := d.begins(t)
	if d.CutDue() {
		t.Error("it is due while one is under way")
	}
	d.shard(wire.Shard{Attempt: attempt, Reason: "disk full"})
	if n := fill(); n < half/4-3 || n > half/4+1 {
		t.Errorf("after one that failed it is due after %d records, where %d are half of a tail", n, half)
	}
	d.fx.Reset()
	attempt = d.begins(t)
	at := bellows.CommitNumber(0)
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.Records); ok {
			at = m.List[len(m.List)-1].Number
		}
	}
	d.shard(wire.Shard{Attempt: attempt, Commit: at})
	flush() // while it is written down
	d.CutKept(at, &d.fx)
	if d.CutDue() {
		t.Error("it is due though one was kept")
	}
	d.deliver(lanes[0], &wire.Holding{Term: 1, Last: at})
	if d.Covered() != at {
		t.Fatalf("covered is %d, want %d", d.Covered(), at)
	}
	d.LetGo(at)
	if n := fill(); n < half*3/4 || n >= half { // the numbers in later records are longer
		t.Errorf("after one that was kept it is due after %d records, and one, where %d are half of a tail", n, half)
	}
	d = measuring(-1)
	for clock = 0; clock < tail/4; {
		flush()
	}
	if d.CutDue() {
		t.Error("it is due without a successor")
	}
}

// TestCutDueAfterRecovery measures the records that a controller has read from a tail.
func TestCutDueAfterRecovery(t *testing.T) {
	f := newFollowOf(t, coord.Options{Driver: &rounds{want: 1 << 20}, Stays: stays})
	for clock := range 50 {
		f.commit(clock)
	}
	for _, want := range []bool{true, false} {
		limit := 200
		if !want {
			limit = 20_000
		}
		o := coord.Options{Driver: &rounds{want: 1 << 20}, Term: 2, Stays: stays, Limits: coord.Limits{Tail: limit}}
		g := &follow{desk: recovered(t, f.job, o, coord.Saved{}), t: t, job: f.job, tail: f.tail}
		g.ready(clients...)
		g.fx.Reset()
		g.holdBoth(100, 1)
		g.gives(0, 1)
		if g.Recovering() || g.CutDue() != want {
			t.Errorf("with %d bytes: recovering %v, due %v", limit, g.Recovering(), g.CutDue())
		}
	}
}
