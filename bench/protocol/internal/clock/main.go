// Package clock measures one BSP clock, in which every split reads and changes all rows of a small table, in one
// process and in several. The table has 31 KB, the size of a softmax model of MNIST. Several processes are joined by
// Unix sockets or TCP.
//
// It needs no peer; Bösen's recorded figure is one clock of its softmax application between two processes of one machine.
package clock

import (
	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// The table, and the most that a clock of two processes may take: half of Bösen's 1.65 ms.
const (
	rows      = 785
	width     = 10
	splits    = 8
	clocks    = 2000
	clockMost = 1.65e-3 / 2
)

// Program is the measurement.
var Program = pair.Program{Name: "clock", Turns: [2]int{3, 7}, Run: run,
	Roles: map[string]func([]string){"clock": cluster.Role(func(string) (train.Job, error) { return job(), nil })}}

func run(b *pair.Bench) {
	b.Header("clock: one BSP clock of %d splits, a table of %d rows of %d, all of it read and changed by each", splits, rows, width)
	b.Section("time of a clock")
	for _, shape := range []struct {
		name, transport string
		processes       int
		most            float64
	}{
		{"one process, 2 slots", "", 0, 0},
		{"2 processes, Unix sockets", "unix", 2, clockMost},
		{"2 processes, TCP", "tcp", 2, clockMost},
		{"4 processes, Unix sockets", "unix", 4, 0},
	} {
		launch := cluster.Launch{Processes: shape.processes, Slots: 2, Role: "clock", Order: "clock", Transport: shape.transport}
		series := b.Interleave(pair.Side{Name: shape.name, Run: func() pair.Turn {
			return pair.Turn{Work: clocks, Wall: launch.Time(job(), node.Options{})}
		}})
		fact := pair.Fact{Figure: shape.name, Unit: "s", Ours: 1 / series[0].Rates(pair.Wall).Median}
		if shape.most > 0 {
			fact.Peer, fact.Bound = "half of recorded Bösen", shape.most
		}
		b.AddFact(fact)
	}
}

func job() train.Job {
	return cluster.Clocks(clocks, table.Schema{Name: "weights", Rows: rows, Width: width}, splits)
}
