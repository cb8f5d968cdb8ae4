package flip

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/node/launch"
	"bellows/table"
	"bellows/train"
)

const (
	width = 256
	// A stretch around the report of a move: the record comes before it, by as long as the report and its receiver
	// take.
	before = 10 * time.Millisecond
	behind = 20 * time.Millisecond
	quiet  = time.Second // before the first move
)

// The splits of a flip's job, each in a process of its own: what one of them sends is not in front of what the other asks. Behind them come those that keep the cores from being
// idle, one for each core.
const (
	probing = iota
	writing
	splitsOfFlip
)

// computing returns how many splits only compute.
func computing(busy bool) int {
	if busy {
		return runtime.NumCPU()
	}
	return 0
}

// flipJob returns one of a table of one partition. Split 0 reads and changes rows, split 1 all of them, others compute.
func flipJob(mib, writes int, busy bool, started func(stretch)) train.Job {
	rows := mib << 20 / 4 / width
	written := rows
	if writes > 0 {
		written = min(rows, writes<<20/4/width)
	}
	splits := splitsOfFlip + computing(busy)
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: rows, Width: width, Partitions: 1, Consistency: table.Async}},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Clocks{Splits: splits, Count: 1 << 30},
		NewExecutor: func(s bellows.SplitID) (train.Executor, error) {
			switch s {
			case probing:
				return &probe{rows: rows, delta: make([]float32, width), started: started}, nil
			case writing:
				return &writer{rows: rows, delta: make([]float32, written*width)}, nil
			}
			return computer{}, nil
		},
	}
}

// probe reads a row and changes it, another one each time, and rests. It tells of each task when it was begun and how long it took until the next could begin.
type probe struct {
	rows, next int
	delta      []float32
	began      time.Time
	rested     time.Duration // since
	started    func(stretch)
}

// rest is how long a task of the probe waits at least, so that it does not keep a core busy.
const rest = 100 * time.Microsecond

func (p *probe) RunTask(t *train.Task) error {
	now := time.Now()
	if !p.began.IsZero() {
		p.started(stretch{p.began, now.Add(-p.rested)})
	}
	row := bellows.RowID(p.next)
	p.next = (p.next + 7919) % p.rows
	time.Sleep(rest)
	p.began = time.Now() // what comes now is the task
	p.rested = 0
	t.PullRange(0, row, row+1)
	t.PushRange(0, row, p.delta)
	return nil
}

// writer changes every row, or so many of them and then the next ones, and rests for as long as its clock took before.
type writer struct {
	rows, next int
	delta      []float32
	ended      time.Time
}

// restMost is how long it rests at most.
const restMost = 500 * time.Millisecond

func (w *writer) RunTask(t *train.Task) error {
	if !w.ended.IsZero() {
		time.Sleep(min(time.Since(w.ended), restMost))
	}
	w.ended = time.Now()
	t.PushRange(0, bellows.RowID(w.next), w.delta)
	if w.next += len(w.delta) / width; w.next+len(w.delta)/width > w.rows {
		w.next = 0
	}
	return nil
}

// computer keeps a core busy, and exchanges nothing.
type computer struct{}

// stint is how long a task computes.
const stint = 20 * time.Millisecond

func (computer) RunTask(*train.Task) error {
	for end := time.Now().Add(stint); time.Now().Before(end); {
	}
	return nil
}

// clocked reports when each clock of a split is over, and ends the job when it has enough: as soon as every split has
// ended its clock. An interrupt would bring all to one clock, from which a run resumes, and some are thousands behind
// others.
type clocked struct {
	train.Driver
	split  bellows.SplitID
	over   func(time.Time)
	enough *atomic.Bool
	left   int // splits that have not ended since
}

func (c *clocked) HandleTaskCompletion(done train.Completion, to *train.Dispatcher) {
	if done.Split == c.split {
		c.over(time.Now())
	}
	if !c.enough.Load() {
		c.Driver.HandleTaskCompletion(done, to)
	} else if c.left--; c.left == 0 {
		to.Finish()
	}
}

// felt is what a run has shown, in seconds.
type felt struct {
	median     float64   // of a task, with nothing moving
	flips      []float64 // the longest task around each flip
	still      []float64 // and in stretches as long, with nothing moving
	moves      []float64 // from the command to the report of the move
	wroteOver  []float64 // clocks of the writer with a flip
	wroteStill []float64 // those in which nothing moves
}

// stretch is some time of a run.
type stretch struct{ from, to time.Time }

func (s stretch) meets(o stretch) bool  { return s.from.Before(o.to) && o.from.Before(s.to) }
func (s stretch) length() time.Duration { return s.to.Sub(s.from) }

// around returns the stretch around the flip of a reported move.
func around(told time.Time) stretch { return stretch{told.Add(-before), told.Add(behind)} }

// network is between the processes.
var network = "unix"

// run runs a job in processes with so many compute slots each, the first two with a lane, and gives commands once it has begun. Enough is set when that returns: the job is to end then. If it
// fails the job is given up.
func run(j train.Job, order string, slots []int, begun <-chan struct{}, enough *atomic.Bool, command func(ctx context.Context, c *node.Commands)) {
	var members []node.Member
	for n, s := range slots {
		m := node.Member{Node: bellows.NodeID(n), Slots: s}
		if n < 2 {
			m.Lanes = 1
		}
		members = append(members, m)
	}
	commands := &node.Commands{}
	failed := make(chan error, 1)
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	go func() {
		defer close(failed)
		select {
		case <-begun:
			err := pair.Attempt(func() { command(ctx, commands) })
			if enough.Store(true); err != nil {
				giveUp()
			}
			failed <- err
		case <-ctx.Done():
		}
	}()
	_, err := launch.Processes{Program: pair.Must(os.Executable()), Args: append([]string{os.Args[0]}, pair.RoleArgs("flip", order)...), Roam: true,
		Members: members, Transport: network}.Run(ctx, j, node.Options{Commands: commands})
	giveUp()
	if err == nil || bellows.KindOf(err) == bellows.Interrupted {
		err = <-failed
	}
	pair.Check(err)
}

func measureFlips(mib, writes int, busy bool, l limits) *felt {
	var tasks []stretch // of the probe, by its task alone
	var wrote []time.Time
	begun := make(chan struct{})
	var enough atomic.Bool
	j := flipJob(mib, writes, busy, func(t stretch) { tasks = append(tasks, t) })
	j.Driver = &clocked{j.Driver, writing, func(at time.Time) {
		if wrote = append(wrote, at); len(wrote) == 1 {
			close(begun)
		}
	}, &enough, j.Splits}
	var moves []stretch
	run(j, fmt.Sprint("flip ", mib, " ", busy, " ", writes), append([]int{1, 0, 1}, slices.Repeat([]int{1}, computing(busy))...), begun, &enough, func(ctx context.Context, c *node.Commands) {
		time.Sleep(quiet)
		for began := time.Now(); len(moves) < l.flips && (time.Since(began) < l.budget || len(moves) < 2); {
			asked := time.Now()
			// As fast as it goes: a flip is the same whatever the copy takes.
			pair.Check(<-pair.Must(c.HurryPartition(ctx, bellows.PartitionRef{}, bellows.NodeID(1-len(moves)%2))))
			moves = append(moves, stretch{asked, time.Now()})
			time.Sleep(before + 3*behind)
		}
	})
	return sum(tasks, wrote, moves)
}

// sum returns what tasks took, by what happened meanwhile. Behind a flip comes a stretch as long as that which it is
// looked for in, 20 ms later: what the flip has left to be done is over, and nothing moves.
func sum(tasks []stretch, wrote []time.Time, moves []stretch) *felt {
	f := &felt{}
	begins := func(t stretch, at time.Time) int { return t.from.Compare(at) }
	ends := func(t stretch, at time.Time) int { return t.to.Compare(at) }
	longest := func(in stretch, from func(stretch, time.Time) int) (seconds float64) {
		i, _ := slices.BinarySearchFunc(tasks, in.from, from)
		for ; i < len(tasks) && tasks[i].from.Before(in.to); i++ {
			seconds = max(seconds, tasks[i].length().Seconds())
		}
		return seconds
	}
	clocks := make([]stretch, max(0, len(wrote)-1))
	for i := range clocks {
		clocks[i] = stretch{wrote[i], wrote[i+1]}
	}
	var calm []float64
	next := 0
	for _, t := range tasks {
		for next < len(moves) && moves[next].to.Add(behind).Before(t.from) {
			next++
		}
		if next == len(moves) || t.to.Before(moves[next].from) {
			calm = append(calm, t.length().Seconds())
		}
	}
	f.median = pair.Median(calm).Value
	for i := range moves {
		told := moves[i].to
		f.flips = append(f.flips, longest(around(told), ends)) // also one that has begun before
		f.still = append(f.still, longest(around(told.Add(before+2*behind)), begins))
		f.moves = append(f.moves, moves[i].length().Seconds())
	}
	next = 0
	for _, c := range clocks {
		for next < len(moves) && around(moves[next].to).to.Before(c.from) {
			next++
		}
		switch {
		case next == len(moves) || c.to.Before(moves[next].from):
			f.wroteStill = append(f.wroteStill, c.length().Seconds())
		case c.meets(around(moves[next].to)):
			f.wroteOver = append(f.wroteOver, c.length().Seconds())
		}
	}
	return f
}
