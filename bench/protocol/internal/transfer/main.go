// Package transfer measures how fast a model moves between two processes, over one connection and several, with values
// of 32 and 16 bits. Every clock, each process reads and changes all rows of a table, half of which the
// other holds.
//
// It needs no peer: ours in another setting stands next to ours. CPU time is that of all processes, their start
// included. With --full, also a small table, and TCP.
package transfer

import (
	"strconv"

	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

const (
	width  = 64
	splits = 2
	moved  = 1 << 28 // bytes of values between the two in a turn, at most
	most   = 1500    // clocks of a turn
)

// Program is the measurement.
var Program = pair.Program{Name: "transfer", Turns: [2]int{3, 7}, Run: runAll,
	Roles: map[string]func([]string){"transfer": cluster.Role(ordered)}}

func runAll(b *pair.Bench) {
	b.Header("transfer: two processes read and change all of a table, each holding half; at most %d MiB of values move in a turn", moved>>20)
	networks, sizes := []string{"unix"}, []int{1 << 20, 16 << 20}
	if b.Full {
		networks, sizes = []string{"unix", "tcp"}, []int{64 << 10, 1 << 20, 16 << 20}
	}
	for _, network := range networks {
		for _, bytes := range sizes {
			compare(b, network, bytes)
		}
	}
}

// setting is one way to move the values.
type setting struct {
	name        string
	connections int
	format      vec.Format
}

var settings = []setting{
	{"one connection, fp32", 1, vec.Float32},
	{"2 connections", 2, vec.Float32},
	{"4 connections", 4, vec.Float32},
	{"fp16", 1, vec.Float16},
	{"bf16", 1, vec.BFloat16},
}

// compare holds each setting to the first, by both clocks.
func compare(b *pair.Bench, network string, bytes int) {
	b.Section(network + ", a table of " + strconv.Itoa(bytes>>10) + " KiB")
	var sides []pair.Side
	for _, s := range settings {
		sides = append(sides, pair.Side{Name: s.name, Run: func() pair.Turn { return run(s, network, bytes) }})
	}
	series := b.Interleave(sides...)
	for _, s := range series[1:] {
		b.Add(pair.Row{Figure: s.Name, Unit: "s/GB", Cost: true, Clock: pair.CPU, Ours: s, Peer: series[0]})
	}
}

// run times a job of a few clocks. Work is in GB: in each clock, either process pulls and pushes the half that the other holds.
func run(s setting, network string, bytes int) pair.Turn {
	launch := cluster.Launch{Processes: 2, Slots: 2, Lanes: node.ConnectionsMost - 1, Role: "transfer", Order: strconv.Itoa(bytes), Transport: network, Connections: s.connections}
	before := pair.FamilyTime()
	took := launch.Time(job(bytes), node.Options{Wire: s.format})
	return pair.Turn{Work: float64(clocks(bytes)) * 2 * float64(bytes) / 1e9, Wall: took, CPU: pair.FamilyTime() - before}
}

// clocks returns how many a turn takes.
func clocks(bytes int) int { return min(most, max(2, moved/(2*bytes))) }

// ordered makes the job of an order, which is the bytes of its table.
func ordered(order string) (train.Job, error) {
	bytes, err := strconv.Atoi(order)
	return job(bytes), err
}

func job(bytes int) train.Job {
	return cluster.Clocks(clocks(bytes), table.Schema{Name: "weights", Rows: bytes / (4 * width), Width: width, Partitions: 12}, splits)
}
