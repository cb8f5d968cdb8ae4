// Package controller measures the processor time of a job's controller for each node and clock, with 2 to 1,024
// simulated nodes. Each node has one worker and one server.
//
// It runs the real step function without sockets. What is counted is all that a leading node's own code does for a BSP
// clock: cutting the Done frames of the clients out of a stream and decoding them, the controller's steps with a driver
// of rounds, and encoding the records for each server and the dispatches for each client. Every flush changes all 64
// partitions of a table and brings three figures with it. What is not counted: the system's share of reading and
// writing, and making the clients' frames.
package controller

import (
	"fmt"

	"bellows/bench/internal/pair"
)

// costMost is what a node and clock may cost, in seconds of processor time.
const costMost = 10e-6

// framesTurn is how many nodes and clocks make a turn, together.
const framesTurn = 1 << 15

// Program is the measurement.
var Program = pair.Program{Name: "controller", Turns: [2]int{3, 9}, Run: run, Strict: true}

func run(b *pair.Bench) {
	b.Header("controller: processor time per node and clock, one worker and one server on each node, no sockets")
	for _, arrival := range []struct {
		title string
		batch bool // all words at once
	}{
		{"all clients' words wait when the controller looks", true},
		{"one word at a time", false},
	} {
		b.Section(arrival.title)
		for _, nodes := range []int{2, 8, 64, 256, 1024} {
			show(b, nodes, arrival.batch)
		}
	}
}

// show measures one size.
func show(b *pair.Bench, nodes int, batch bool) {
	step := 1
	if batch {
		step = nodes
	}
	job := newJob(nodes, step)
	series := b.Interleave(pair.Side{Name: "controller", Run: func() pair.Turn { return job.turn(max(2, framesTurn/nodes)) }})
	name := fmt.Sprintf("%d nodes", nodes)
	b.AddFact(pair.Fact{Figure: name, Unit: "s", Ours: series[0].Costs(pair.CPU).Median, Peer: "limit", Bound: costMost})
	if batch {
		b.AddFact(pair.Fact{Figure: name + ", allocations", Ours: job.allocated, Exact: true})
	}
}
