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

// StalenessBins is the number of bins of the measured staleness: 0 .. StalenessBins-2 clocks, and more.
const StalenessBins = 16

// Tally is what a node has counted since the job began.
type Tally struct {
	Spent          Spent   // time of compute slots by phase
	Sent, Received Traffic // frames to and from other nodes
	// Staleness counts reads by the clocks that they missed, the last bin being that and more.
	Staleness [StalenessBins]int64
}

// Add adds the counts of another node.
func (t *Tally) Add(o *Tally) {
	t.Spent.Add(&o.Spent)
	t.Sent.Add(&o.Sent)
	t.Received.Add(&o.Received)
	for i, n := range o.Staleness {
		t.Staleness[i] += n
	}
}
