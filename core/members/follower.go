package members

import (
	"fmt"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Effects are what a Follower wants done.
type Effects struct {
	wire.Outbox
	// Leave, once set, ends the node's part of the job, for a reason; an empty one: the job is
	// over, and it was let go.
	Leave *Leave
}

// Leave is why a node leaves a job.
type Leave struct{ Reason string }

// Follower is the membership of a node that does not lead: it says that it lives, tells of the loss
// of others, and watches over node 0.
//
// It is joining until Start, then working; once it is told that the job is Over nothing is lost
// with node 0, and the end of that connection lets it go in peace, as soon as its own tasks have
// ended: what their executors write at the end is whole (TestWhoIsLetGoWaitsForItsTasks). It leaves
// once (TestAFollowerLeavesOnce).
//
// It judges node 0 alone, and that late: Times.Leader is several leases, since without node 0 no
// other node can go on, so that nothing is gained by haste (docs/decisions/0016). What the loss of
// others means is node 0's to say. Turned down: no limit at all, with a rule that a node's standard
// input ends with node 0: that does not help where node 0 is stopped, or on another host.
type Follower struct {
	self    wire.Address // the node's client, or who would be
	leader  wire.Address
	times   liveness.Times
	watch   *liveness.Detector
	heard   uint64 // bytes from node 0 at the last tick
	now     int64
	closing Closing
	letGo   bool // node 0 has let it go, and its tasks have not ended
	saidWhy bool // it leaves with the next tick, since they do not
	left    bool
	ready   *wire.Ready      // what it has said; nil: it is joining
	lost    []wire.Complaint // what it has said of others
}

// NewFollower makes the membership of a node.
func NewFollower(self bellows.NodeID, leader wire.Address, times liveness.Times) *Follower {
	f := &Follower{self: wire.ClientAt(self), leader: leader, times: times.Or()}
	f.watch = liveness.NewDetector(max(f.times.Leader, f.times.Successor))
	f.watch.Add(leader.Node, 0)
	f.closing.times = f.times
	return f
}

// Start says that the node has assembled its roles and is joined to every other.
func (f *Follower) Start(ready *wire.Ready, fx *Effects) {
	again := *ready
	f.ready = &again
	fx.Send(f.self, f.leader, ready)
}

// Followed tells that another process is in the place of node 0. It has heard nothing of what was said to the one before: what counts is said again
// (TestWhoLeadsFromNowOnIsToldAgain). What is heard of it counts as of node 0.
func (f *Follower) Followed(fx *Effects) {
	for i := range f.lost {
		again := f.lost[i]
		fx.Send(f.self, f.leader, &again)
	}
	if f.ready != nil {
		again := *f.ready
		fx.Send(f.self, f.leader, &again)
	}
}

// Tick says that the node lives and watches over node 0. heard is how many bytes have come from
// there so far; unfinished are the tasks that run here.
func (f *Follower) Tick(nowMillis int64, heard uint64, unfinished []bellows.Unit, fx *Effects) {
	f.now = nowMillis
	if !f.closing.over || !planted.On("silent-after-end") {
		fx.Send(f.self, f.leader, &wire.Beat{})
	}
	sentence, givenUp := f.closing.Tick(nowMillis, unfinished)
	if sentence != "" {
		fx.Send(f.self, f.leader, &wire.Notice{Sentence: fmt.Sprintf("node %d %s", f.self.Node, sentence)})
	}
	switch {
	case givenUp == "":
	case !f.saidWhy: // who waits for what it has of the model learns that before the connection ends, which may lose what is under way
		f.saidWhy = true
		fx.Send(f.self, f.leader, &wire.Complaint{Node: f.self.Node, Reason: fmt.Sprintf("node %d leaves: %s", f.self.Node, givenUp)})
	default:
		f.leave(givenUp, fx)
		return
	}
	f.watch.Tick(nowMillis)
	if heard != f.heard {
		f.heard = heard
		f.watch.Beat(f.leader.Node, nowMillis)
	}
	if _, silent, found := f.watch.Expired(nowMillis); found {
		f.lostLeader(fmt.Sprintf("it has been silent for %.1f s", float64(silent)/1000), fx)
	}
}

// Disconnected tells that a connection has ended for good, and why; or, where it is a breach, that
// this node hears no more of the other, since what that sent cannot be. Node 0 decides what follows
// from the loss of others.
func (f *Follower) Disconnected(n bellows.NodeID, reason string, breach bool, fx *Effects) {
	switch {
	case n == f.leader.Node && breach: // at the job's end too: nobody leaves in peace from what cannot be
		f.leave(fmt.Sprintf("node %d is gone: %s", n, reason), fx)
	case n == f.leader.Node:
		f.lostLeader(reason, fx)
	case breach:
		f.complain(wire.Complaint{Node: n, Breach: true, Reason: fmt.Sprintf("node %d hears no more of node %d: %s", f.self.Node, n, reason)}, fx)
	default:
		f.complain(wire.Complaint{Node: n, Reason: fmt.Sprintf("node %d lost its connection to node %d: %s", f.self.Node, n, reason)}, fx)
	}
}

// complain tells node 0 of the loss of another.
func (f *Follower) complain(m wire.Complaint, fx *Effects) {
	f.lost = append(f.lost, m)
	fx.Send(f.self, f.leader, &m)
}

// Over tells that an actor of this node knows that the job is over.
func (f *Follower) Over() { f.closing.Over(f.now) }

// TasksEnded tells that no task of this node runs any more.
func (f *Follower) TasksEnded(fx *Effects) {
	f.closing.TasksEnded()
	if f.letGo {
		f.leave("", fx)
	}
}

// lostLeader ends a node that has no node 0 any more: in peace if the job is over, else by name.
func (f *Follower) lostLeader(reason string, fx *Effects) {
	switch {
	case !f.closing.over:
		f.leave(fmt.Sprintf("node %d is gone: %s", f.leader.Node, reason), fx)
	case f.closing.ended:
		f.leave("", fx)
	default:
		f.letGo = true
	}
}

// leave ends the node's part of the job, for the first reason that there is.
func (f *Follower) leave(reason string, fx *Effects) {
	if !f.left {
		f.left = true
		fx.Leave = &Leave{reason}
	}
}
