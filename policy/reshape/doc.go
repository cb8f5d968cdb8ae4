// Package reshape changes the shape of a running job on request (scale, drain, switch a role): which operations begin,
// and what their ends mean. It is a step function, which returns what is to begin and takes what has ended.
//
// The caller's duties, in order:
//
//  1. Make a Machine, and Observe the job as it is.
//  2. Give it requests (Ask): to scale, to drain a node, to switch a node's role. A policy makes a shape of it (package
//     shape), and package plan the way there.
//  3. Begin the operations in Effects, each Op on its own, and report the end of each, with the job as it is then (Ended).
//     An Op that is abandoned also ends, as soon as it can, done or not.
//  4. Report the time (Tick): refused operations are tried again, and a notice runs out.
//  5. Answer each Ask with its one Outcome.
//
// It follows the observed state and not a plan: after anything unexpected (a failed step, a lost node, a newer Ask) it
// plans anew from the current shape. Operations under way that are still wanted continue; the others are abandoned. So
// nothing has to be undone, and a later leader does not need to know its predecessor's intentions
// (TestAnyOrderReachesTheGoal).
//
// The package does not bring back what a lost node had: its partitions and splits stay with it until they have been
// given to another.
package reshape

import (
	"fmt"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// Facts is a job as it is.
type Facts struct {
	// Version grows with each change: of two Facts the one with the higher is newer.
	Version uint64
	shape.Job
	Nodes      []shape.Node     // what each can run, by number
	Splits     []bellows.NodeID // where each is active
	Partitions []bellows.NodeID // the owner of each, as in shape.Shape
	Sizes      plan.Sizes
}

// Leader is the node that never leaves.
const Leader bellows.NodeID = 0

// AskID names something that was asked, from 1.
type AskID int

// Ask is a request. Exactly one of Scale, Drain, Switch and Shape is set.
type Ask struct {
	Scale  *Scale
	Drain  *Drain
	Switch *Switch
	Shape  shape.Policy // whatever it decides. Its shares hold for later requests, until another policy
}

// Scale asks for numbers of nodes that run tasks, and that hold partitions; 0: the current number. If every worker
// holds partitions and no other node does, Servers must be 0, and new nodes do both.
type Scale struct{ Workers, Servers int }

// Drain asks for a node to leave. Nobody comes in its place.
type Drain struct {
	Node bellows.NodeID
	// NoticeMillis is how long the node will be there; 0: as long as the drain takes. Moves that do not fit are left out.
	NoticeMillis int64
}

// Role is what a node is for.
type Role uint8

// The roles.
const (
	Worker Role = 1 << iota // it runs tasks
	Server                  // it holds partitions
	Both   = Worker | Server
)

// String returns the role as shown to users.
func (r Role) String() string {
	switch r {
	case Worker:
		return "a worker"
	case Server:
		return "a server"
	case Both:
		return "a worker and a server"
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// Switch asks for a node to have a role, and no other.
type Switch struct {
	Node bellows.NodeID
	Role Role
}

// OpID names something that is under way, from 1.
type OpID int

// Op is a step that is to begin: to add, to move or to delete. A node that is added has no number yet: Step.Node is one that no node has.
type Op struct {
	ID OpID
	plan.Step
	Urgent bool // of Move: its node is to leave, so that it does not yield to the job's work
}

// End is how an Op has ended.
type End struct {
	Node  bellows.NodeID // of Add: the new node
	Err   string         // a sentence without its end; empty: it is done
	Final bool           // of Err: to ask again is of no use
}

// Effects are what is to be done by the caller, in order.
type Effects struct {
	Begin    []Op
	Abandon  []OpID // to be ended soon; they end still
	Notes    []Note
	Outcomes []Outcome
}

// NoteKind is what a note is about.
type NoteKind uint8

// The kinds of notes.
const (
	Planned NoteKind = iota // it was decided what to do
	Refused                 // a step was refused, and is asked again, or is given up
	Ended                   // what was planned has ended
)

// Note is a decision, or what has become of one: a sentence for the log of events, with its figures.
type Note struct {
	Kind     NoteKind
	Sentence string
	Steps    []plan.Step // of Planned: all; of Ended: what was left
	Bytes    int64       // that are to move, or have
	Millis   int64       // of Ended: since it was asked
}

// Outcome answers an Ask.
type Outcome struct {
	Ask AskID
	// Err says why it has not come about, or not all; empty: it has.
	Err        string
	Bad        bool // Err is that it cannot be asked for; nothing was begun for it
	Superseded bool // Err is that something else was asked since
	Left       []Left
	Moved      int   // splits and partitions
	Bytes      int64 // that moved
	Millis     int64 // since it was asked
}

// Left is something that was to be done and was not.
type Left struct {
	plan.Step
	Why string
}
