package lab

import (
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/policy/gauge"
	"bellows/sim/lab/script"
	"bellows/train"
	"bellows/vec"
)

// Result is what an experiment leaves.
type Result struct {
	Tables    [][]float32     // per table: rows x width, as kept or as they ended
	Keys      [][]bellows.Key // per sparse table: the keys of its rows, ascending, as the rows are
	Epochs    []Epoch
	Time      time.Duration // virtual, until node 0 had the tables
	Trained   time.Duration // virtual, while a task that visits items was out
	Phases    tally.Spent   // of the compute slots of all nodes
	Nodes     []NodeResult  // by node
	Cores     time.Duration // virtual time of cores, in all
	Hash      uint64        // of everything that happened, in order
	Events    int64         // how many things that was
	Kernels   string        // the kernel set that computed
	Commits   bellows.CommitNumber
	Sent      int64           // row deltas, by clients
	Applied   int64           // of these, by lanes
	Dropped   int64           // of these, never recorded
	Staleness []int64         // reads by the clocks that they missed, the last bin being that and more
	Arrivals  []Arrived       // in the order of their numbers
	Script    []script.Result // in the order of Config.Script
	Cuts      []Taken         // in order
	Lives     int             // how often the job began or was rolled back
	Figures   *gauge.Figures  // that the job has measured; nil: none
	Missing   error           // why Figures is nil
	Advised   []Advised       // what the job has decided about its shape, in order
}

// Epoch is what the driver reported, and where the cluster stood.
type Epoch struct {
	train.Epoch
	Time    time.Duration // virtual, since the job began
	Trained time.Duration // of it, while a task that visits items was out
	Phases  tally.Spent   // of the compute slots of all nodes, since the epoch before
	Traffic tally.Flow    // between nodes, since the epoch before
	Local   tally.Flow    // messages within nodes and the bytes of deltas in them, since the epoch before
	Wakes   int64         // how often messages found a node handling none, since the epoch before
	Cores   time.Duration // virtual time of cores, in all, since the job began
}

// NodeResult is what a node did.
type NodeResult struct {
	Phases         tally.Spent
	Sent, Received tally.Traffic // to and from other nodes: the bytes of its link; a message in parts counts once
	Local          tally.Flow    // messages within the node and the bytes of deltas in them
}

// endEpoch closes an epoch that the driver reports.
func (w *world) endEpoch(e train.Epoch) {
	total := Epoch{Epoch: e, Time: w.elapsed(), Trained: w.life.trained + w.nodes[0].lead.training.Total(w.elapsed()),
		Cores: time.Duration(w.work)}
	for _, n := range w.nodes {
		spent := n.meter.Spent(w.elapsed())
		total.Phases.Add(&spent)
		total.Traffic.Add(n.sent.Total())
		total.Local.Add(n.local)
		total.Wakes += n.wakes
	}
	epoch := total
	epoch.Phases = total.Phases.Since(&w.before.Phases)
	epoch.Traffic = total.Traffic.Since(w.before.Traffic)
	epoch.Local = total.Local.Since(w.before.Local)
	epoch.Wakes = total.Wakes - w.before.Wakes
	w.before = total
	w.epochs = append(w.epochs, epoch)
	if w.cfg.OnEpoch != nil {
		w.cfg.OnEpoch(epoch)
	}
}

// result returns the result when the job is over.
func (w *world) result() (*Result, error) {
	if w.err != nil {
		return nil, w.err
	}
	l := w.nodes[0].lead
	o := l.outcome
	if err := o.Failure("run experiment"); err != nil {
		return nil, err
	}
	r := &Result{Epochs: w.epochs, Time: w.elapsed(), Trained: w.life.trained + l.training.Total(w.elapsed()), Cores: time.Duration(w.work),
		Events: w.events, Kernels: vec.Kernels(), Commits: o.Commits, Sent: o.Counts.Sent, Applied: o.Counts.Applied,
		Dropped: o.Counts.Dropped, Staleness: o.Counts.Staleness[:], Arrivals: w.arrivals(), Script: w.happen.list, Cuts: w.cuts.taken, Lives: w.life.number + 1}
	for _, n := range w.nodes {
		spent := n.meter.Spent(w.elapsed())
		r.Phases.Add(&spent)
		r.Nodes = append(r.Nodes, NodeResult{spent, n.sent, n.received, n.local})
	}
	r.Advised = w.advising.list
	if w.cfg.Measure {
		r.Figures, r.Missing = w.feed.Figures(measured{w}.Whole())
	}
	r.Tables, r.Keys = l.State.Tables()
	for _, t := range r.Tables {
		w.sum.Values(t)
	}
	r.Hash = uint64(w.sum)
	return r, nil
}
