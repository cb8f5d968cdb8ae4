package flip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// The job of clocks: a table of 128 MiB in two partitions. Each of two tasks reads and changes 1 MiB of it a clock, and
// computes or rests meanwhile.
const (
	clockMiB   = 64 // of a partition
	clockRows  = 2 * clockMiB << 20 / 4 / width
	clockTouch = 1 << 20 / 4 / width // rows of a task in a clock
	clockWork  = 5 * time.Millisecond
)

// clockJob returns the job: over is called after each clock.
func clockJob(busy bool, over func(time.Time) (more bool)) train.Job {
	const splits = 2
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: clockRows, Width: width, Partitions: 2}},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Rounds{Splits: splits, Each: func(int, [][]float64, *train.Dispatcher) bool { return over(time.Now()) }},
		NewExecutor: func(s bellows.SplitID) (train.Executor, error) {
			return &user{busy: busy, delta: make([]float32, clockTouch*width), random: rand.New(rand.NewPCG(1, uint64(s)))}, nil
		},
	}
}

// user reads some rows of both partitions, computes, and changes them.
type user struct {
	busy   bool
	delta  []float32
	random *rand.Rand
}

func (u *user) RunTask(t *train.Task) error {
	const half = clockTouch / 2
	var first [2]bellows.RowID
	for i := range first {
		first[i] = bellows.RowID(i*clockRows/2 + u.random.IntN(clockRows/2-half))
		t.PullRange(0, first[i], first[i]+half)
	}
	if u.busy {
		for end := time.Now().Add(clockWork); time.Now().Before(end); {
		}
	} else {
		time.Sleep(clockWork)
	}
	for _, r := range first {
		t.PushRange(0, r, u.delta[:half*width])
	}
	return nil
}

// clockRatios are of mean clocks: while something moves over the quiet ones before and behind, and of two quiet stretches.
type clockRatios struct {
	moving, again []float64
	quiet         float64 // seconds
	moved         []float64
}

// move moves a partition to a node, and returns when it has moved.
func move(ctx context.Context, c *node.Commands, p bellows.PartitionID, to bellows.NodeID) {
	pair.Check(<-pair.Must(c.MovePartition(ctx, bellows.PartitionRef{Partition: p}, to)))
}

func showClocks(b *pair.Bench, busy bool, l limits) {
	r := measureClocks(busy, b.Turns, l)
	b.Section(fmt.Sprintf("clocks of two processes, partitions of %d MiB, %s: %d pairs", clockMiB, coresOf(busy), len(r.moving)))
	name := "a clock while something moves, " + coresOf(busy)
	q, again := pair.Median(r.moving), pair.Median(r.again)
	b.AddFact(pair.Fact{Figure: name + ", over a quiet one: end of the interval", Ours: q.High, Peer: "limit", Bound: mostClock})
	b.AddFact(pair.Fact{Figure: name + ", over a quiet one: median", Ours: q.Value})
	b.AddFact(pair.Fact{Figure: "a quiet clock over a quiet one, " + coresOf(busy) + ": end of the interval", Ours: again.High})
	b.AddFact(pair.Fact{Figure: "a quiet clock, " + coresOf(busy), Unit: "s", Ours: r.quiet})
	b.AddFact(pair.Fact{Figure: "a move, " + coresOf(busy) + ", median", Unit: "s", Ours: pair.Median(r.moved).Value})
	b.Note("while something moves over quiet: %v; quiet over quiet: %v", q, again)
}

// measureClocks takes so many pairs, in turns: quiet clocks, a move, as many quiet clocks again, another pair. Both partitions go at once, against each other, so that both
// processes send and receive.
func measureClocks(busy bool, pairs int, l limits) *clockRatios {
	r := &clockRatios{}
	ends := make(chan time.Time, 1<<20) // nothing waits with it
	begun := make(chan struct{})
	rounds := 0
	var enough atomic.Bool
	j := clockJob(busy, func(at time.Time) bool {
		if rounds++; rounds == 20 {
			close(begun)
		}
		ends <- at
		return !enough.Load()
	})
	// mean is of the clocks that end until until returns; the first is not whole.
	mean := func(until func()) float64 {
		for len(ends) > 0 {
			<-ends
		}
		until()
		n := len(ends)
		if n < 2 {
			pair.Check(fmt.Errorf("a stretch of %d clocks, which has no whole one: they are longer than a move", n))
		}
		first := <-ends
		last := first
		for range n - 1 {
			last = <-ends
		}
		return last.Sub(first).Seconds() / float64(n-1)
	}
	var still time.Duration
	rests := func() { time.Sleep(still) }
	var quiet []float64
	run(j, fmt.Sprint("clocks 0 ", busy, " 0"), []int{1, 1}, begun, &enough, func(ctx context.Context, c *node.Commands) {
		where := bellows.NodeID(0) // of partition 0
		moves := func() {
			began := time.Now()
			pair.RunTogether(2, func(i int) {
				move(ctx, c, bellows.PartitionID(i), [2]bellows.NodeID{1 - where, where}[i])
			})
			where = 1 - where
			r.moved = append(r.moved, time.Since(began).Seconds())
		}
		moves() // memory that comes for the first time is not the rule
		still = max(time.Duration(r.moved[0]*float64(time.Second)), 200*time.Millisecond)
		r.moved = nil
		for began := time.Now(); len(r.moving) < pairs && (time.Since(began) < l.budget || len(r.moving) < 2); {
			one, moving, two := mean(rests), mean(moves), mean(rests)
			r.moving = append(r.moving, 2*moving/(one+two))
			r.again = append(r.again, two/one)
			quiet = append(quiet, one, two)
		}
	})
	r.quiet = pair.Median(quiet).Value
	return r
}
