// Command controller shows what the controller of a job costs its processor: per node and clock, with 2 to 1,024
// simulated nodes of one worker and one server each.
//
// It runs the real step function without sockets. What is counted is all that a leading node's own code does for a BSP
// clock: cutting the Done frames of the clients out of a stream and decoding them, the controller's steps with a driver
// of rounds, and encoding the records for each server and the dispatches for each client. Every flush changes all 64
// partitions of a table and brings three figures with it. What is not counted: the system's share of reading and
// writing, and making the clients' frames.
package main

import (
	"fmt"
	"os"

	"bellows/bench/internal/pair"
)

// costMost is what a node and clock may cost, in seconds of processor time.
const costMost = 10e-6

// framesTurn is how many nodes and clocks make a turn, together.
const framesTurn = 1 << 15

func main() {
	options := pair.Flags()
	pair.Exit(options.Parse(3, 9))
	options.Header(os.Stdout, "controller: processor time per node and clock, one worker and one server on each node, no sockets")
	table := pair.NewTable(os.Stdout, options.JSON)
	for _, arrival := range []struct {
		title  string
		step   func(nodes int) int
		allocs bool
	}{
		{"all clients' words wait when the controller looks", func(nodes int) int { return nodes }, true},
		{"one word at a time", func(int) int { return 1 }, false},
	} {
		table.Section(arrival.title)
		for _, nodes := range []int{2, 8, 64, 256, 1024} {
			pair.Exit(show(table, options.Turns, nodes, arrival.step(nodes), arrival.allocs))
		}
	}
	table.Close()
	pair.Exit(table.Verdict())
}

// show measures one size.
func show(table *pair.Table, turns, nodes, step int, allocs bool) error {
	job := newJob(nodes, step)
	series, err := pair.Interleave(turns, pair.Side{Name: "controller", Run: func() (pair.Turn, error) { return job.turn(max(2, framesTurn/nodes)) }})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d nodes", nodes)
	table.AddFact(pair.Fact{Figure: name, Unit: "s", Ours: series[0].Costs(pair.CPU).Median, Peer: "limit", Bound: costMost})
	if allocs {
		table.AddFact(pair.Fact{Figure: name + ", allocations", Ours: job.allocated, Exact: true})
	}
	return nil
}
