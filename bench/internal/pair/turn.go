package pair

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Turn is one turn of one side: the work done, and the time that it took by both clocks.
type Turn struct {
	Work float64 // in the unit of the row: flop, bytes, ratings, samples
	Wall time.Duration
	CPU  time.Duration // of all threads together
	Peak int64         // most bytes of memory that a process of Once had
}

// Clock names one of the two times of a turn.
type Clock uint8

// The clocks. Wall is for work on several threads, CPU for work on one.
const (
	Wall Clock = iota
	CPU
)

func (c Clock) String() string {
	if c == CPU {
		return "cpu"
	}
	return "wall"
}

// Seconds returns the time of the turn by a clock, in seconds.
func (t Turn) Seconds(c Clock) float64 {
	if c == CPU {
		return t.CPU.Seconds()
	}
	return t.Wall.Seconds()
}

// Side is one contender.
type Side struct {
	Name string
	// Run does one turn. Measure makes it from a function that reports its work alone.
	Run func() Turn
}

// Series is the turns of one side, in order.
type Series struct {
	Name  string
	Turns []Turn
}

// Interleave gives each side one turn that does not count and then the given number of turns, one side after the
// other. An error names the side.
func Interleave(turns int, sides ...Side) []Series {
	all := make([]Series, len(sides))
	for turn := range turns + 1 {
		for i, side := range sides {
			var t Turn
			if err := Attempt(func() { t = side.Run() }); err != nil {
				Check(fmt.Errorf("pair: turn %d of %s: %w", turn, side.Name, err))
			}
			all[i].Name = side.Name
			if turn > 0 {
				all[i].Turns = append(all[i].Turns, t)
			}
		}
	}
	return all
}

// Measure makes a Run of a function that does one turn and returns its work. The times are those of this process.
func Measure(do func() (work float64)) func() Turn {
	return func() Turn {
		cpu, wall := CPUTime(), time.Now()
		work := do()
		return Turn{Work: work, Wall: time.Since(wall), CPU: CPUTime() - cpu}
	}
}

// MeasureThread works like Measure for work on one thread: CPU is the time of that thread. The time of the process has that of
// the runtime's own threads, which is a tenth of a short turn.
func MeasureThread(do func() (work float64)) func() Turn {
	return func() Turn {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cpu, wall := threadTime(), time.Now()
		work := do()
		return Turn{Work: work, Wall: time.Since(wall), CPU: threadTime() - cpu}
	}
}

// threadTime returns the CPU time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Repeat makes a Run that calls do so often that a turn lasts about the given time; work is that of one call. How often
// is found once, here. The first call of a turn is not counted: the other side had the caches before it.
func Repeat(turn time.Duration, work float64, do func()) func() Turn {
	calls := 1
	for {
		took := timeCalls(calls, do)
		if took >= turn/4 {
			calls = max(1, int(float64(calls)*float64(turn)/float64(took)))
			break
		}
		calls *= 2
	}
	run := Measure(func() float64 {
		for range calls {
			do()
		}
		return work * float64(calls)
	})
	return func() Turn {
		do()
		return run()
	}
}

func timeCalls(calls int, do func()) time.Duration {
	start := time.Now()
	for range calls {
		do()
	}
	return time.Since(start)
}

// Random returns n numbers between -1 and 1, fixed by the seed: the input of kernels.
func Random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// CPUTime returns the user and system time of this process so far, all threads together.
func CPUTime() time.Duration { return usage(syscall.RUSAGE_SELF) }

// FamilyTime returns CPUTime and that of all processes that this one has started and waited for.
func FamilyTime() time.Duration { return CPUTime() + usage(syscall.RUSAGE_CHILDREN) }

// CPUTimeOf returns the CPU time of another process of this machine, by the clock that the system keeps of it:
// clock_getcpuclockid(3).
func CPUTimeOf(pid int) (time.Duration, error) {
	const allThreads = 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|allThreads), &t)
	return time.Duration(t.Nano()), err
}

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Spread is the median, least and largest of some figures.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"least"`
	Max    float64 `json:"most"`
}

// SpreadOf sorts a copy of the figures. None gives zeros.
func SpreadOf(figures []float64) Spread {
	if len(figures) == 0 {
		return Spread{}
	}
	s := slices.Sorted(slices.Values(figures))
	mid := s[len(s)/2]
	if len(s)%2 == 0 {
		mid = (mid + s[len(s)/2-1]) / 2
	}
	return Spread{Median: mid, Min: s[0], Max: s[len(s)-1]}
}

// Rates returns work per second by a clock.
func (s Series) Rates(c Clock) Spread {
	return s.spread(func(t Turn) float64 { return t.Work / t.Seconds(c) })
}

// Costs returns seconds per unit of work by a clock.
func (s Series) Costs(c Clock) Spread {
	return s.spread(func(t Turn) float64 { return t.Seconds(c) / t.Work })
}

// Peak returns the median of the turns' peaks of memory.
func (s Series) Peak() float64 {
	return s.spread(func(t Turn) float64 { return float64(t.Peak) }).Median
}

func (s Series) spread(f func(Turn) float64) Spread {
	figures := make([]float64, len(s.Turns))
	for i, t := range s.Turns {
		figures[i] = f(t)
	}
	return SpreadOf(figures)
}

// Ratio returns the speed of ours over that of the peer, turn by turn: above 1 ours is faster, whatever the unit.
// Comparing neighbours in time, it is steadier than a ratio of medians when the machine slows down halfway.
func Ratio(ours, peer Series, c Clock) Spread {
	n := min(len(ours.Turns), len(peer.Turns))
	figures := make([]float64, 0, n)
	for i := range n {
		a, b := ours.Turns[i], peer.Turns[i]
		figures = append(figures, a.Work/a.Seconds(c)/(b.Work/b.Seconds(c)))
	}
	return SpreadOf(figures)
}

// Fastest returns the side with the highest median rate by a clock.
func Fastest(sides []Series, c Clock) Series {
	return slices.MaxFunc(sides, func(a, b Series) int { return cmp.Compare(a.Rates(c).Median, b.Rates(c).Median) })
}

// RunTogether runs do for 0 to n-1 at the same time, and fails with the errors of all of them.
func RunTogether(n int, do func(i int)) {
	var all sync.WaitGroup
	wrong := make([]error, n)
	for i := range n {
		all.Go(func() { wrong[i] = Attempt(func() { do(i) }) })
	}
	all.Wait()
	Check(errors.Join(wrong...))
}
