package slots_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/slots"
)

// TestTheStory plays one scheduler call by call and checks which task has the turn.
func TestTheStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		slots int
		story string
	}{
		{"in order of arrival", 1, "begin 0: begin 0, begin 1: -, begin 2: -, end: begin 1, end: begin 2, end: -"},
		{"one for each slot", 2, "begin 0: begin 0, begin 1: begin 1, begin 2: -, end: begin 2, end: -, begin 0: begin 0"},
		{"who waits gives its slot to the next", 1, "begin 0: begin 0, begin 1: -, park 0: begin 1, wake 0: -, end: resume 0, end: -, begin 1: begin 1"},
		{"woken tasks come before new ones", 1, "begin 0: begin 0, begin 1: -, begin 2: -, park 0: begin 1, wake 0: -, park 1: resume 0, wake 1: -, end: resume 1, end: begin 2"},
		{"woken in the order of waking", 1, "begin 0: begin 0, begin 1: -, park 0: begin 1, begin 2: -, park 1: begin 2, wake 1: -, wake 0: -, end: resume 1, end: resume 0"},
		{"a free slot is given at once", 1, "begin 0: begin 0, park 0: -, wake 0: resume 0, end: -, begin 1: begin 1"},
		{"the answer comes before the task parks", 1, "begin 0: begin 0, begin 1: -, wake 0: -, park 0: resume 0, park 0: begin 1, wake 0: -, end: resume 0, end: -"},
		{"and takes no second slot", 2, "begin 0: begin 0, wake 0: -, begin 1: begin 1, park 0: resume 0, begin 2: -, end: begin 2"},
		{"a wake is for the task that it came for", 1, "begin 0: begin 0, wake 0: -, end: -, begin 0: begin 0, park 0: -"},
		{"the next task of a split begins before the last has ended", 2, "begin 0: begin 0, begin 0: begin 0, park 0: -, end: -, wake 0: resume 0, end: -"},
		{"after the end only those who wait", 1, "begin 0: begin 0, begin 1: -, park 0: begin 1, begin 2: -, close: -, wake 0: -, begin 2: -, end: resume 0, end: -, begin 1: -"},
		{"a task that comes too late keeps no slot", 1, "begin 0: begin 0, park 0: -, close: -, begin 1: -, wake 0: resume 0, end: -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := slots.New(c.slots, 3)
			for i, step := range strings.Split(c.story, ", ") {
				call, want, _ := strings.Cut(step, ": ")
				if got := play(&s, call); got != want {
					t.Fatalf("step %d, %q: %s, want %s", i+1, call, got, want)
				}
			}
		})
	}
}

// play makes the call that the text names, and returns the turn.
func play(s *slots.Scheduler, call string) string {
	var verb string
	var split bellows.SplitID
	fmt.Sscan(call, &verb, &split)
	var turn slots.Turn
	switch verb {
	case "begin":
		turn = s.Begin(split)
	case "wake":
		turn = s.Wake(split)
	case "park":
		turn = s.Park(split)
	case "end":
		turn = s.End(split)
	case "close":
		s.Close()
	}
	return [...]string{"-", fmt.Sprintf("begin %d", turn.Split), fmt.Sprintf("resume %d", turn.Split)}[turn.Do]
}

// crowd is the tasks of a scheduler, as their runner sees them.
type crowd struct {
	t        *testing.T
	random   *rand.Rand
	slots    int
	s        slots.Scheduler
	computes []bellows.SplitID // have a slot
	asks     []bellows.SplitID // of these, those with a question under way: they park next
	parked   []bellows.SplitID
	woken    []bellows.SplitID // and queued, in order
	early    []bellows.SplitID // woken before they parked
	fresh    []bellows.SplitID // queued, in order
	idle     []bellows.SplitID // have no task
	closed   bool
}

// TestAnyOrderOfEvents lets tasks begin, ask, park, be woken early and late, and end in any order, and checks every
// turn against lists of what each task waits for.
func TestAnyOrderOfEvents(t *testing.T) {
	t.Parallel()
	const splits = 20
	for seed := range uint64(300) {
		c := &crowd{t: t, random: rand.New(rand.NewPCG(seed, 1)), slots: 1 + int(seed%3), s: slots.New(1+int(seed%3), splits)}
		for i := range bellows.SplitID(splits) {
			c.idle = append(c.idle, i)
		}
		for step := range 400 {
			c.step(step == 300)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %+v", seed, step, c)
			}
		}
	}
}

// step lets something happen that can.
func (c *crowd) step(closes bool) {
	if closes {
		c.s.Close()
		c.closed, c.fresh = true, nil
	}
	list := [...]*[]bellows.SplitID{&c.idle, &c.computes, &c.asks, &c.parked, &c.computes, &c.asks}
	what := c.random.IntN(len(list))
	from := list[what]
	if len(*from) == 0 {
		return
	}
	i := c.random.IntN(len(*from))
	split := (*from)[i]
	remove := func() { *from = slices.Delete(*from, i, i+1) }
	asking := slices.Contains(c.asks, split)
	switch {
	case what == 0: // a new task
		remove()
		if !c.closed {
			c.fresh = append(c.fresh, split)
		}
		c.check(c.s.Begin(split))
	case what == 1 && !asking: // it asks
		c.asks = append(c.asks, split)
	case what == 2: // it parks
		remove()
		if j := slices.Index(c.early, split); j >= 0 {
			c.early = slices.Delete(c.early, j, j+1)
			if c.random.IntN(2) == 0 {
				if !c.s.Retry(split) {
					c.t.Errorf("%d was woken before it parked, and may not try again", split)
				}
				return
			}
			if turn := c.s.Park(split); turn != (slots.Turn{Do: slots.Resume, Split: split}) {
				c.t.Errorf("%d was woken before it parked, and the turn is %v", split, turn)
			}
			return
		}
		if c.s.Retry(split) {
			c.t.Errorf("%d was not woken, and may try again", split)
		}
		c.computes = slices.DeleteFunc(c.computes, func(s bellows.SplitID) bool { return s == split })
		c.parked = append(c.parked, split)
		c.check(c.s.Park(split))
	case what == 3: // what it waits for comes
		remove()
		c.woken = append(c.woken, split)
		c.check(c.s.Wake(split))
	case what == 4 && !asking: // it ends
		remove()
		c.idle = append(c.idle, split)
		c.check(c.s.End(split))
	case what == 5 && !slices.Contains(c.early, split): // what it asks for comes before it has parked
		c.early = append(c.early, split)
		if turn := c.s.Wake(split); turn.Do != slots.Nothing {
			c.t.Errorf("%d computes and is woken, and the turn is %v", split, turn)
		}
	}
}

// check compares a turn with the lists: if a slot is free and a task wants one, the first such task has it.
func (c *crowd) check(got slots.Turn) {
	var want slots.Turn
	switch {
	case len(c.computes) == c.slots:
	case len(c.woken) > 0:
		want = slots.Turn{Do: slots.Resume, Split: c.woken[0]}
		c.woken = c.woken[1:]
	case len(c.fresh) > 0:
		want = slots.Turn{Do: slots.Begin, Split: c.fresh[0]}
		c.fresh = c.fresh[1:]
	}
	if want.Do != slots.Nothing {
		c.computes = append(c.computes, want.Split)
	}
	if got != want {
		c.t.Errorf("the turn is %v, want %v", got, want)
	}
}

// TestSchedulingTakesNoMemory: it is asked for every task and every wait.
func TestSchedulingTakesNoMemory(t *testing.T) {
	s := slots.New(1, 2)
	if n := testing.AllocsPerRun(100, func() {
		for _, call := range []func() slots.Turn{func() slots.Turn { return s.Begin(0) }, func() slots.Turn { return s.Begin(1) },
			func() slots.Turn { return s.Park(0) }, func() slots.Turn { return s.Wake(0) }, func() slots.Turn { return s.End(1) }, func() slots.Turn { return s.End(0) }} {
			call()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLongestComputingTaskIsKnown lets tasks take turns while time passes: the time of each counts from its last turn.
func TestLongestComputingTaskIsKnown(t *testing.T) {
	s := slots.New(2, 4)
	step := func(passed int64, want string) {
		t.Helper()
		s.Pass(passed)
		split, millis, any := s.Longest()
		if got := fmt.Sprint(split, " ", millis, " ", any); got != want {
			t.Errorf("longest computes %s, want %s", got, want)
		}
	}
	step(10, "0 0 false")
	s.Begin(1)
	s.Begin(0)
	step(0, "0 0 true")
	s.Begin(2) // no slot is free for it
	step(5, "0 5 true")
	s.Park(0)
	step(5, "1 10 true")
	s.Wake(1) // before it has parked
	s.Park(1)
	step(1, "2 6 true")
	s.Wake(0)
	s.End(2)
	step(4, "1 5 true")
	s.Park(1)
	step(3, "0 7 true")
	s.Begin(0) // which gets the other slot before the last task has said that it is over
	step(2, "0 2 true")
	s.End(0)
	step(2, "0 4 true")
	s.End(0)
	step(3, "0 0 false")
}
