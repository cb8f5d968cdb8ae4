// Package tally counts what a node did, for people to read: time of its compute slots by phase, frames and bytes by
// class, staleness of reads.
//
// The caller's duties, in order:
//
//  1. A shell makes a Meter for its compute slots. It tells it when a task begins or stops to compute, when
//     what the node waits for changes, and when the job ends, each with the time.
//  2. It counts frames where they are written and read, with Traffic.
//
// 3. It puts both into a Tally when that is asked for. Tallies of several nodes are added up.
//
// The package reads no clock and holds no lock: its caller does both.
package tally

import "time"

// StalenessBins is the number of bins of the measured staleness: 0 .. StalenessBins-2 clocks, and more.
const StalenessBins = 16

// Tally is what a node has counted since the job began.
type Tally struct {
	Spent          Spent   // time of compute slots by phase
	Sent, Received Traffic // frames to and from other nodes
	// Staleness counts reads by the clocks that they missed, the last bin being that and more.
	Staleness [StalenessBins]int64
	Work      Work
}

// Work is what a node has done, and the processor time that it took.
type Work struct {
	Items     int64         // visited by tasks that have run to their end, whether or not they count
	Rows      int64         // row deltas, and rows of copies at the end of leases, that its lanes have written
	Serving   time.Duration // wall time of its lanes' steps
	Processor time.Duration // of its process, by the operating system; 0 where that does not tell
	// Delayed is the time in which threads of its process were ready and had no processor; 0 where the system does not
	// tell.
	Delayed time.Duration
}

// Link is what a node has sent to one other node.
type Link struct {
	To    uint16        // number of the receiver
	Bytes int64         // headers included
	Busy  time.Duration // in which some of them waited or were on their way
}

// Add adds the work of another node.
func (w *Work) Add(o *Work) {
	w.Items += o.Items
	w.Rows += o.Rows
	w.Serving += o.Serving
	w.Processor += o.Processor
	w.Delayed += o.Delayed
}

// Add adds the counts of another node.
func (t *Tally) Add(o *Tally) {
	t.Spent.Add(&o.Spent)
	t.Sent.Add(&o.Sent)
	t.Received.Add(&o.Received)
	t.Work.Add(&o.Work)
	for i, n := range o.Staleness {
		t.Staleness[i] += n
	}
}
