package tally_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"bellows/core/tally"
)

func second(seconds int) time.Duration { return time.Duration(seconds) * time.Second }

// TestEveryMomentHasItsPhase plays a node with two slots, second by second.
func TestEveryMomentHasItsPhase(t *testing.T) {
	t.Parallel()
	m := tally.NewMeter(2)
	m.Wait(second(0), tally.Waits{Pushes: 1}) // before the first task nothing counts
	m.Compute(second(10), 1)                  // 10-12: one computes, the other slot waits for the push
	m.Compute(second(12), 1)                  // 12-15: both compute
	m.Compute(second(15), -1)                 // 15-16: one computes, a push is out
	m.Wait(second(16), tally.Waits{Tasks: 1}) // 16-20: one computes, one waits for a read
	m.Compute(second(20), -1)                 // 20-21: one waits for a read, one has nothing
	m.Wait(second(21), tally.Waits{Commits: 2})
	m.Wait(second(24), tally.Waits{Commits: 1, Pushes: 1})
	m.Wait(second(25), tally.Waits{})
	m.Compute(second(24), 1) // a clock that two processors read in turn: as if at 25
	m.End(second(27))
	m.Compute(second(30), -1)
	s := time.Second
	want := tally.Spent{
		tally.Compute: 2*s + 6*s + s + 4*s + 2*s, tally.PullWait: 4*s + s, tally.PushWait: 2*s + s + 2*s,
		tally.CommitWait: 6 * s, tally.Idle: s + 2*s,
	}
	got := m.Spent(second(99))
	if got != want {
		t.Errorf("spent %v, want %v", got, want)
	}
	if total := got.Total(); total != 2*17*s {
		t.Errorf("all phases take %v, not twice the 17 s", total)
	}
	if w := got.Waited(); w < 19./34-1e-9 || w > 19./34+1e-9 {
		t.Errorf("waited %v of the time", w)
	}
}

// TestPhasesAddUp lets anything happen and wants slots times time.
func TestPhasesAddUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		slots, computing, now := 1+r.IntN(5), 0, 0
		m := tally.NewMeter(slots)
		m.Compute(second(0), 0)
		for range 200 {
			now += r.IntN(3)
			if r.IntN(2) == 0 {
				more := r.IntN(slots+1) - computing
				computing += more
				m.Compute(second(now), more)
			} else {
				m.Wait(second(now), tally.Waits{Tasks: r.IntN(9), Pushes: r.IntN(2), Commits: r.IntN(2)})
			}
		}
		before := m.Spent(second(now))
		if got, want := before.Total(), time.Duration(slots*now)*time.Second; got != want {
			t.Fatalf("%d slots in %d s: %v", slots, now, got)
		}
		after := m.Spent(second(now + 1))
		if d := after.Since(&before); d.Total() != time.Duration(slots)*time.Second {
			t.Fatalf("a second of %d slots is %v", slots, d)
		}
	}
}

// TestWaitsOfBusySlotsNeedNoTime gives a meter the time of waits only while a slot is free.
func TestWaitsOfBusySlotsNeedNoTime(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	timed, untimed := tally.NewMeter(2), tally.NewMeter(2)
	for now, computing, busy := 0, 0, 0; busy < 50; now += r.IntN(3) {
		more := r.IntN(3) - computing
		w := tally.Waits{Tasks: r.IntN(3), Pushes: r.IntN(2), Commits: r.IntN(2)}
		computing += more
		timed.Compute(second(now), more)
		untimed.Compute(second(now), more)
		now += r.IntN(3)
		timed.Wait(second(now), w)
		if untimed.Busy() {
			busy++
			untimed.Wait(0, w)
		} else {
			untimed.Wait(second(now), w)
		}
		now += r.IntN(3)
		if got, want := untimed.Spent(second(now)), timed.Spent(second(now)); got != want {
			t.Fatalf("spent %v, want %v", got, want)
		}
	}
}

func TestWaitedOfNoTime(t *testing.T) {
	t.Parallel()
	if w := (&tally.Spent{}).Waited(); w != 0 {
		t.Errorf("of no time %v was waited", w)
	}
}

func TestTalliesAdd(t *testing.T) {
	t.Parallel()
	var a, b tally.Tally
	a.Sent.Count(tally.Pushes, 100)
	b.Sent.Count(tally.Pushes, 1)
	b.Sent.Count(tally.Control, 10)
	b.Received.Count(tally.Rows, 7)
	b.Spent[tally.Idle], b.Staleness[15] = 3, 4
	b.Work = tally.Work{Items: 5, Rows: 6, Serving: 7, Processor: 8, Delayed: 9}
	a.Add(&b)
	a.Add(&b)
	if a.Sent[tally.Pushes] != (tally.Flow{Frames: 3, Bytes: 102}) || a.Sent.Total() != (tally.Flow{Frames: 5, Bytes: 122}) {
		t.Errorf("sent %v", a.Sent)
	}
	if a.Received[tally.Rows] != (tally.Flow{Frames: 2, Bytes: 14}) || a.Spent[tally.Idle] != 6 || a.Staleness[15] != 8 ||
		a.Work != (tally.Work{Items: 10, Rows: 12, Serving: 14, Processor: 16, Delayed: 18}) {
		t.Errorf("%+v", a)
	}
}

// TestNamesAreDistinct: they are keys of JSON and labels of metrics.
func TestNamesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for p := range tally.Phases {
		seen[tally.Phase(p).String()] = true
	}
	for c := range tally.Classes {
		seen[tally.Class(c).String()] = true
	}
	if len(seen) != tally.Phases+tally.Classes || seen[""] {
		t.Errorf("names %v", seen)
	}
}
