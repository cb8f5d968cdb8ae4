package cores

import (
	"math"
	"testing"

	"bellows/sim/internal/virtual"
)

// bench is a machine with jobs that have names, and the time at which each was done.
type bench struct {
	agenda virtual.Agenda[uint32]
	*Machine[string]
	done map[string]int64
}

func newBench(count int, slice int64) *bench {
	b := &bench{done: map[string]int64{}}
	b.Machine = New(Config[string]{Count: count, Speed: 1, Slice: slice, Schedule: func(delay int64, stamp uint32) { b.agenda.After(delay, stamp) }})
	return b
}

// add begins a job.
func (b *bench) add(name string, rest float64, woken bool) {
	b.Begin(b.agenda.Time(), &Job[string]{Owner: name, Rest: rest, Woken: woken})
}

// until lets time pass.
func (b *bench) until(end int64) {
	for at, some := b.agenda.Soonest(); some && at <= end; at, some = b.agenda.Soonest() {
		stamp, _ := b.agenda.Next()
		for _, j := range b.Tick(b.agenda.Time(), stamp) {
			b.done[j.Owner] = b.agenda.Time()
		}
	}
}

// expect runs to the end.
func (b *bench) expect(t *testing.T, want map[string]int64) {
	t.Helper()
	b.until(math.MaxInt64)
	for name, at := range want {
		if b.done[name] != at {
			t.Errorf("%s is done at %d, not %d", name, b.done[name], at)
		}
	}
}

func TestJobsShareCoresEvenly(t *testing.T) {
	t.Parallel()
	b := newBench(2, 0)
	for _, name := range []string{"a", "b", "c"} {
		b.add(name, 100, false)
	}
	b.add("short", 50, false)
	b.expect(t, map[string]int64{"short": 100, "a": 175, "b": 175, "c": 175})
}

// TestSlicesTakeTurns runs three jobs on one core, in slices of 10.
func TestSlicesTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBench(1, 10)
	b.add("a", 25, false)
	b.add("b", 10, false)
	b.add("c", 15, false)
	b.expect(t, map[string]int64{"b": 20, "c": 45, "a": 50})
}

// TestSlicesOfTwoCores ends a slice only where another job waits.
func TestSlicesOfTwoCores(t *testing.T) {
	t.Parallel()
	b := newBench(2, 10)
	b.add("a", 100, false)
	b.add("b", 35, false)
	b.expect(t, map[string]int64{"a": 100, "b": 35})
	b = newBench(2, 10)
	b.add("a", 20, false)
	b.add("b", 20, false)
	b.add("c", 20, false)
	b.expect(t, map[string]int64{"a": 20, "b": 30, "c": 30})
}

// TestMessagesPreemptTask handles messages in the midst of a task's slice.
func TestMessagesPreemptTask(t *testing.T) {
	t.Parallel()
	for slice, want := range map[int64]map[string]int64{1000: {"message": 35, "task": 105, "other": 155}, 0: {"message": 45, "other": 105, "task": 155}} {
		b := newBench(1, slice)
		b.add("task", 100, false)
		b.add("other", 50, false)
		b.agenda.After(30, 0)
		b.until(30)
		b.add("message", 5, true)
		b.expect(t, want)
	}
}

// TestSlownessIsOfAllJobs slows an owner's messages as its tasks, for a while.
func TestSlownessIsOfAllJobs(t *testing.T) {
	t.Parallel()
	b := newBench(2, 0)
	b.cfg.Slow = func(owner string) (float64, int64) {
		if now := b.agenda.Time(); now < 60 && owner != "quick" {
			return 3, 60 - now
		}
		return 1, math.MaxInt64
	}
	b.add("task", 100, false)
	b.until(0)
	b.add("message", 20, true)
	b.expect(t, map[string]int64{"message": 60, "task": 140})
	b = newBench(1, 0)
	b.cfg.Slow = func(owner string) (float64, int64) { return 3, math.MaxInt64 }
	b.add("message", 20, true)
	b.expect(t, map[string]int64{"message": 60})
}

// TestLoadTakesShareOfMachine leaves one of two cores for 100, and then both.
func TestLoadTakesShareOfMachine(t *testing.T) {
	t.Parallel()
	load := func(b *bench) func() (float64, int64) {
		return func() (float64, int64) {
			if now := b.agenda.Time(); now < 100 {
				return 0.5, 100 - now
			}
			return 0, math.MaxInt64
		}
	}
	b := newBench(2, 0)
	b.cfg.Load = load(b)
	b.add("alone", 120, false) // the other core is enough for it
	b.expect(t, map[string]int64{"alone": 120})
	b = newBench(2, 0)
	b.cfg.Load = load(b)
	b.add("a", 120, false)
	b.add("b", 120, false)
	b.expect(t, map[string]int64{"a": 170, "b": 170})
}

func TestRemoveFreesCore(t *testing.T) {
	t.Parallel()
	b := newBench(1, 0)
	b.add("gone", 1000, false)
	b.add("stays", 100, false)
	b.agenda.After(50, 0)
	b.until(50)
	b.Remove(b.agenda.Time(), func(owner string) bool { return owner == "gone" })
	b.expect(t, map[string]int64{"stays": 125})
	if _, some := b.done["gone"]; some || b.Full() {
		t.Error("a job that was removed is done, or has its core still")
	}
}

// TestUsedIsWhatCoresGave counts the time of cores, not that of waiting: of jobs that share, that are slow, that wait for a
// slice, and on a machine with other work.
func TestUsedIsWhatCoresGave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slice int64
		setup func(*Config[string])
		want  map[string]float64 // after 30
	}{
		"shared": {0, func(*Config[string]) {}, map[string]float64{"a": 15, "b": 15}},
		"slices": {20, func(*Config[string]) {}, map[string]float64{"a": 20, "b": 10}},
		"slow":   {0, func(c *Config[string]) { c.Slow = func(string) (float64, int64) { return 3, math.MaxInt64 } }, map[string]float64{"a": 15, "b": 15}},
		"fast":   {0, func(c *Config[string]) { c.Speed = 2 }, map[string]float64{"a": 15, "b": 15}},
		"load":   {0, func(c *Config[string]) { c.Load = func() (float64, int64) { return 0.5, math.MaxInt64 } }, map[string]float64{"a": 7.5, "b": 7.5}},
	} {
		b := newBench(1, c.slice)
		c.setup(&b.cfg)
		b.add("a", 100, false)
		b.add("b", 100, false)
		b.until(30)
		for owner, want := range c.want {
			if got := b.Used(30, func(o string) bool { return o == owner }); got != want {
				t.Errorf("%s: %s has had %v of a core, not %v", name, owner, got, want)
			}
		}
	}
	b := newBench(1, 0)
	b.add("done", 40, false)
	at, _ := b.agenda.Soonest()
	stamp, _ := b.agenda.Next()
	if over := b.Tick(at, stamp); len(over) != 1 || over[0].Used() != 40 || b.Used(99, func(string) bool { return true }) != 0 {
		t.Errorf("%d jobs are done", len(over))
	}
}
