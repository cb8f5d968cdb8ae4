// Package flip measures what a client notices when a partition in use moves from one process to another, and how the
// clocks of a job react.
//
// A flip: one task reads and changes a row of the partition, again and again, and is timed; another process changes
// every row in each of its clocks; and the partition moves to and fro. The client's figure of a move is its longest
// task around the record that gives the partition away. It is compared with the longest task in an equal stretch soon
// after, at the same process, in which nothing moves: the noise of the machine. Both are measured with an idle core,
// since clients rest between tasks and clocks, and without one: then as many more tasks as cores compute all the time.
//
// The writing process loads the machine and the connections, moves or not: a push of 64 MiB is applied in one step of
// its lane. So two figures are given at the 99th percentile: the longest task above a quiet one, which includes that
// load, and above the longest where nothing moves, which is what the flip adds. With --writes the process changes so
// many MiB in each clock instead of every row. With --network tcp the processes may run over a narrow link: in another
// network namespace, with "tc qdisc add dev lo root tbf rate 80mbit burst 256kb latency 1s" for 10 MB/s.
//
// Clocks: two processes read and change parts of a large table in clocks that wait for each other, while large
// partitions of it move to and fro, and, in alternation, while nothing moves.
//
// It needs no peer. One command does not take longer than --budget for each figure: it leaves out what is not over
// then, and the count says so.
package flip

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/train"
)

// The goals.
const (
	mostFelt  = 5e-3 // of a flip, seconds at the 99th percentile
	mostClock = 1.1  // of a quiet clock, while something moves
	flipsMost = 1000
)

// Program is the measurement.
var Program = pair.Program{Name: "flip", Turns: [2]int{8, 20}, Define: define,
	Roles: map[string]func([]string){"flip": cluster.Role(ordered)}}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	flips := flags.Int("flips", 0, "`moves` of each partition (default: 1000 in the full form)")
	sizes := flags.String("sizes", "", "`MiB` of partitions, with commas (default: 1,64, and 256 in the full form)")
	budget := flags.Duration("budget", 0, "for each figure at most (default: 12s, and 50s in the full form)")
	writes := flags.Int("writes", 0, "`MiB` that are written in each clock (default: every row)")
	flags.StringVar(&network, "network", network, "unix or tcp")
	states := flags.String("cores", "", "idle or busy alone")
	return func(b *pair.Bench) {
		l := limits{flips: *flips, budget: *budget}
		if *writes < 0 || network != "unix" && network != "tcp" {
			pair.Check(fmt.Errorf("--writes %d --network %s: at least 0, and unix or tcp", *writes, network))
		}
		if l.flips == 0 {
			l.flips = flipsMost
		}
		if l.budget == 0 {
			l.budget = 12 * time.Second
			if b.Full {
				l.budget = 50 * time.Second
			}
		}
		b.Header("flip: a partition goes to and fro between two processes that use it")
		b.Parts(b.Part, pair.Part{Name: "flips", Run: func() {
			for _, mib := range sizesOf(*sizes, b.Full) {
				for _, busy := range statesOf(*states) {
					showFlips(b, mib, *writes, busy, l)
				}
			}
		}}, pair.Part{Name: "clocks", Run: func() {
			for _, busy := range statesOf(*states) {
				showClocks(b, busy, l)
			}
		}})
	}
}

// limits are how much is measured of each figure.
type limits struct {
	flips  int
	budget time.Duration
}

func sizesOf(list string, full bool) (sizes []int) {
	if list == "" {
		list = "1,64"
		if full {
			list += ",256"
		}
	}
	for word := range strings.SplitSeq(list, ",") {
		n := pair.Must(strconv.Atoi(word))
		if n < 1 || n > 1024 {
			pair.Check(fmt.Errorf("--sizes %s: a partition has 1 to 1024 MiB", list))
		}
		sizes = append(sizes, n)
	}
	return sizes
}

func statesOf(name string) []bool {
	switch name {
	case "":
		return []bool{false, true}
	case "idle", "busy":
		return []bool{name == "busy"}
	}
	pair.Check(fmt.Errorf("--cores %s: it is idle or busy", name))
	return nil
}

// ordered makes the job of a process that was started for another.
func ordered(order string) (train.Job, error) {
	var what string
	var mib int
	var busy bool
	var writes int
	if _, err := fmt.Sscan(order, &what, &mib, &busy, &writes); err != nil {
		return train.Job{}, err
	}
	if what == "clocks" {
		return clockJob(busy, nil), nil
	}
	return flipJob(mib, writes, busy, nil), nil
}

func coresOf(busy bool) string {
	if busy {
		return "no core idle"
	}
	return "a core idle"
}

func showFlips(b *pair.Bench, mib, writes int, busy bool, l limits) {
	r := measureFlips(mib, writes, busy, l)
	written := "every row"
	if writes > 0 {
		written = fmt.Sprintf("%d MiB", writes)
	}
	b.Section(fmt.Sprintf("%d MiB, %s written in each clock, %s: %d moves", mib, written, coresOf(busy), len(r.flips)))
	name := fmt.Sprintf("%d MiB, %s", mib, coresOf(busy))
	felt, still := pair.QuantileOf(0.99, r.flips), pair.QuantileOf(0.99, r.still)
	// With no core idle the longest of some thousand tasks has waited for a processor, whatever moves: what a flip adds to that counts.
	over := r.median
	if busy {
		over = max(over, still.Value)
	}
	b.AddFact(pair.Fact{Figure: name + ", 99th percentile", Unit: "s", Ours: max(0, felt.Value-over), Peer: "limit", Bound: mostFelt})
	b.AddFact(pair.Fact{Figure: name + ", longer than where nothing moves, 99th percentile", Unit: "s", Ours: max(0, felt.Value-still.Value), Peer: "limit", Bound: mostFelt})
	b.AddFact(pair.Fact{Figure: name + ", longer than where nothing moves, median", Unit: "s", Ours: pair.Median(r.flips).Value - pair.Median(r.still).Value})
	b.AddFact(pair.Fact{Figure: name + ", median", Unit: "s", Ours: pair.Median(r.flips).Value - r.median})
	b.AddFact(pair.Fact{Figure: name + ", nothing moves, 99th percentile", Unit: "s", Ours: still.Value - r.median})
	b.AddFact(pair.Fact{Figure: name + ", nothing moves, median", Unit: "s", Ours: pair.Median(r.still).Value - r.median})
	b.AddFact(pair.Fact{Figure: name + ", a task, quiet", Unit: "s", Ours: r.median})
	b.AddFact(pair.Fact{Figure: name + ", a move, median", Unit: "s", Ours: pair.Median(r.moves).Value})
	b.AddFact(pair.Fact{Figure: name + ", who writes: a clock with a flip, 99th percentile", Unit: "s", Ours: pair.QuantileOf(0.99, r.wroteOver).Value})
	b.AddFact(pair.Fact{Figure: name + ", who writes: other clocks, 99th percentile", Unit: "s", Ours: pair.QuantileOf(0.99, r.wroteStill).Value})
	b.Note("99th percentile of the longest task: %v s around flips, %v s where nothing moves", felt, still)
	if len(r.flips) < l.flips {
		b.Note("%d moves of %d: the others would have taken longer than %v", len(r.flips), l.flips, l.budget)
	}
}
