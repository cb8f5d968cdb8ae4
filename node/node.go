// Package node runs the roles of a job with goroutines, connections and files, in one process or several; what it
// drives is decided in core/shell. Several processes are joined by a mesh of connections (package fabric).
//
// Train runs a job in this process to its end. With several processes, every process makes the same job of the same
// data and joins the others with fabric.Connect. Node 0 then calls Lead, which drives the job and returns its result;
// the others call Serve. Commands let more nodes join while it runs, and move splits. Cancelling the context of Train
// or Lead winds the job down to a point from which Options.Resume continues it; nothing is lost. Every actor is the
// same state machine that the simulation runs; this package adds the locks, the goroutines and the clock. The package
// itself decides only which nodes hold the tables (Place) and what its own processors do (turns.go). Packages coord and
// shell decide what a failure or a silence means.
package node

import (
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/audit"
	"bellows/core/liveness"
	"bellows/core/tally"
	"bellows/core/visits"
	"bellows/link/fabric"
	"bellows/policy/gauge"
	"bellows/train"
	"bellows/vec"
)

// Options are the choices of a run. Only Wire changes its result. The functions are called in the order of events, one
// call at a time, all before Train and Lead return (TestTheEndWaitsForReports). The job and its driver continue
// meanwhile.
type Options struct {
	Slots    int                           // of Train: compute slots; 0: 1
	Lanes    int                           // of Train: server lanes; 0: one per slot
	OnEpoch  func(e train.Epoch, so Spent) // nil: not told
	OnStart  func(nodes []api.Node)        // of Lead: all nodes have joined; nil: not told
	OnChange func(Change)                  // of Lead: nodes that came, splits that moved; nil: not told
	// OnVisits gets the visits that count, record by record. It has all visits of an epoch before OnEpoch is called for
	// that epoch, and those of the whole job before its end.
	OnVisits func(visits.Batch) // nil: not told
	OnStop   func(left int)     // of an interrupted job: items to visit; 0: its state is collected; nil: not told
	// OnWarning is called by Lead for a node whose process will end within a time (Warned); nil: not called.
	OnWarning func(n bellows.NodeID, notice time.Duration)
	// Warned tells Serve that its process will end within a time. It continues meanwhile, and node 0 is notified. nil:
	// no warnings.
	Warned <-chan time.Duration
	Notice func(sentence string) // long waits, by name; nil: not told
	// Era is the era of this attempt: higher than all eras that the job had, and than those of all existing cuts.
	// Messages of another era are refused, when a node connects and later.
	Era    bellows.Era
	Resume train.Saved // continue from here instead of the beginning; nil: from there
	// Follow makes Lead take the place of a process that led the job and has died, while the others continue; nil: the
	// job begins, or resumes from Resume. With Follow, Resume is what the dead process began with.
	Follow *Follow
	// Checkpoints are how the job is saved while it runs; nil: it is not.
	Checkpoints *Checkpoints
	Watch       *Watch       // of Train and Lead: shows the job to other goroutines; nil: to none
	Commands    *Commands    // for Lead: change the nodes and their work; nil: nothing does
	Deaths      <-chan Death // of Lead: processes that have ended; nil: only their connections tell
	// Wire is the format in which values of float32 tables are sent between nodes. In 16 bits they are rounded: the
	// model then differs from that of one process, or of another number of processes, but still repeats. All nodes of a
	// job must have the same; otherwise they are refused as nodes of different jobs.
	Wire vec.Format
	// Times are how long a node waits for what, all nodes of a job the same; zeros: the defaults.
	Times liveness.Times

	// Links is how connections that break are made again; nil: what breaks is lost.
	Links *fabric.Links

	// Alone declares, to Lead and Serve, that nothing else uses this process: settings of the whole process may be
	// changed, such as the number of its processors.
	Alone bool

	partMost, messageMost int // of tests: bytes of a part of a message, and of a message; 0: as wire has it
}

// Death is the end of a process that a node ran in.
type Death struct {
	Node   bellows.NodeID
	Reason string // a sentence: the process, how it ended, and its last lines
}

// Spent is the time that a job has taken so far.
type Spent struct {
	Trained time.Duration // while a task that visits items was out
	// Slots is what became of the time of compute slots since the first task of each node, as far as the
	// nodes have told. Another node tells it with the results of a clock, at most every 50 ms.
	Slots tally.Spent
}

// Result is what a job leaves.
type Result struct {
	Tables  [][]float32     // per table: rows x width, as kept or as they ended
	Keys    [][]bellows.Key // per sparse table: the keys of its rows, ascending, as the rows are
	Image   *train.Image    // set if the job was interrupted: the state to resume from
	Audit   Audit
	Commits bellows.CommitNumber
	Gone    []bellows.NodeID // nodes that were lost: whatever is left of their processes is of no use
	Since   Since            // the last cut, or the beginning
	Figures *gauge.Figures   // of a job of several nodes; nil: too little was measured
	Trained time.Duration    // while a task that visits items was out
	Total   time.Duration
}

// Audit compares what clients sent with what lanes applied: row deltas after aggregation, and sums over their bits. A
// finished job has no difference; its caller reports one, or fails.
type Audit struct {
	audit.Account
	Staleness []int64 // reads by the clocks that they missed, the last bin being that and more
}
