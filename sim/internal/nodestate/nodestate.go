// Package nodestate records the state of each node of a simulated job: whether its process runs, and whether the job
// may lose it. An injected fault decides that.
//
// The simulation sets the fields, a Watch those that follow from messages; checkers read them. The package refuses to know how a
// node stops.
package nodestate

import (
	"slices"

	"bellows"
	"bellows/core/join"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/trace"
)

// Node is the state of one node.
//
// A node runs, or is paused until a time while its connections stand, or has left, or has crashed, alone or with its host. Gone and
// Severed only allow the job to lose it: what does happen is held against them.
type Node struct {
	Number      bellows.NodeID
	PausedUntil int64 // in milliseconds
	Crashed     bool
	HostGone    bool // it crashed together with its host, so that no connection is closed
	Left        bool // its work is over, or it has given up
	Gone        bool // lost to the job, or about to be: its last message may be missing
	Severed     bool // a fault may have cut it off from node 0
	Departed    bool // the job has removed it and let it go
	Buried      bool // a record says that it is lost, and the job continues without it
	Ready       bool // it has reported that it is ready
	Closed      bool // no task runs on it any more, and its lanes know that
	Hung        bool // it has given up tasks that never end

	// Of its client.
	Begun  bool // it has received tasks
	Told   bool // the controller has sent it the end of the job
	Failed bool // it has ended the job for a lost message, and reports nothing more

	Joiner *Joiner // nil: the job has begun with the node
}

// Joiner is how far a node is that joins while the job runs.
type Joiner struct {
	schedule.Guest
	Who       join.Newcomer
	Gone      []bellows.NodeID // nodes that it does not call
	Up        bool             // its process has started
	Called    bool             // node 0 has asked it to call the other nodes
	Visits    bool             // it calls them, or has
	Joined    bool             // it is connected to all of them, and has its actors
	TakesPart bool             // by a record
	Outcome   *join.Outcome    // nil: not known yet
	Sent      bool             // it was asked to leave
	Removed   bool             // by a plan
}

// ID returns the number of the node.
func (n *Node) ID() bellows.NodeID { return n.Number }

// Done reports whether nothing happens at the node any more.
func (n *Node) Done() bool { return n.Crashed || n.Left }

// OnTheWay reports whether the node joins and it is not known yet whether it will take part.
func (n *Node) OnTheWay() bool { return n.Joiner != nil && n.Joiner.Outcome == nil }

// Watch is the states of all nodes of a life of a job, and sets what follows from messages.
type Watch struct {
	*trace.Trace
	All []*Node
}

// Lookup returns the state of a node, or nil if the job has no such node.
func (w *Watch) Lookup(n bellows.NodeID) *Node {
	if int(n) < len(w.All) {
		return w.All[n]
	}
	return nil
}

// Done reports whether the work of every node is over.
func (w *Watch) Done() bool {
	return !slices.ContainsFunc(w.All, func(n *Node) bool { return !n.Done() })
}

// Posted notes what a node's actors report, and checks that lanes send their state only after their node's tasks have ended (P1).
func (w *Watch) Posted(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.End:
		if !m.Parts && e.To.Role == wire.Client && e.From == wire.ControllerAt() {
			w.All[e.To.Node].Told = true
		}
	case *wire.Failed:
		if e.From.Role == wire.Client && m.Kind == bellows.Lost {
			w.All[e.From.Node].Failed = true
		}
	case *wire.Slab, *wire.Collected:
		if !w.All[e.From.Node].Closed {
			w.Violated("P1: %v gives its state away, and tasks run beside it", e.From)
		}
	}
}

// Delivered notes which clients have received tasks, and checks that their nodes were ready.
func (w *Watch) Delivered(e wire.Envelope) {
	if _, tasks := e.Message.(*wire.Dispatch); !tasks {
		return
	}
	n := w.All[e.To.Node]
	n.Begun = true
	if !n.Ready && n.Number != 0 {
		w.Violated("node %d is given tasks before it has said that it is ready", n.Number)
	}
}
