package heartbeat

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
	// Leave, once set, ends the node's part of the job, for a reason. An empty reason means that the job is over and
	// node 0 has let the node go.
	Leave *Leave
}

// Leave is why a node leaves a job.
type Leave struct{ Reason string }

// A Follower is the end of a node that does not lead: it sends heartbeats, reports the loss of others, and
// watches node 0.
//
// It is joining until Start, then working. After JobOver the loss of node 0 is no loss: the end of that connection
// lets the node leave as soon as its own tasks have ended, so that what their executors write at the end is whole
// (TestReleasedNodeWaitsForItsTasks). It leaves once (TestAFollowerLeavesOnce).
//
// It judges node 0 alone, and late: Times.Leader is several leases. Without node 0 no other node can continue, so
// haste gains nothing (docs/decisions/0016). Node 0 decides what the loss of others means. Rejected: no limit at all,
// with a rule that a node's standard input ends with node 0: that does not help if node 0 is stopped, or on another
// host.
type Follower struct {
	self     wire.Address // the node's client, whether or not it has one
	leader   wire.Address
	times    liveness.Times
	watch    *liveness.Detector
	heard    uint64 // bytes from node 0 at the last tick
	now      int64
	taskWait TaskWait
	letGo    bool // node 0 has let it go, and its tasks have not ended
	saidWhy  bool // it leaves with the next tick, since its tasks do not end
	left     bool
	ready    *wire.Ready      // its announcement; nil: it is joining
	lost     []wire.Complaint // its complaints about others
}

// NewFollower returns the follower of a node.
func NewFollower(self bellows.NodeID, leader wire.Address, times liveness.Times) *Follower {
	f := &Follower{self: wire.ClientAt(self), leader: leader, times: times.Or()}
	f.watch = liveness.NewDetector(max(f.times.Leader, f.times.Successor))
	f.watch.Add(leader.Node, 0)
	f.taskWait.times = f.times
	return f
}

// Start announces that the node has assembled its roles and is joined to every other.
func (f *Follower) Start(ready *wire.Ready, fx *Effects) {
	again := *ready
	f.ready = &again
	fx.Send(f.self, f.leader, ready)
}

// Followed notes that another process has taken the place of node 0 and knows nothing that was sent to the previous
// one. Messages that count are sent again (TestNewLeaderHearsEverythingAgain). Bytes from the new process count as those of
// node 0.
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

// Tick sends a heartbeat and watches node 0. heard is the number of bytes that have come from there so far;
// unfinished are the tasks that run here.
func (f *Follower) Tick(nowMillis int64, heard uint64, unfinished []bellows.Unit, fx *Effects) {
	f.now = nowMillis
	if !f.taskWait.over || !planted.On("silent-after-end") {
		fx.Send(f.self, f.leader, &wire.Beat{})
	}
	sentence, givenUp := f.taskWait.Tick(nowMillis, unfinished)
	if sentence != "" {
		fx.Send(f.self, f.leader, &wire.Notice{Sentence: fmt.Sprintf("node %d %s", f.self.Node, sentence)})
	}
	switch {
	case givenUp == "":
	case !f.saidWhy: // node 0, if it waits for this node's state, learns why before the connection ends, which may lose messages
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

// Disconnected reports that a connection has ended for good, and why; or, if breach, that this node closed it because
// of an invalid message. Node 0 decides what follows from the loss of others.
func (f *Follower) Disconnected(n bellows.NodeID, reason string, breach bool, fx *Effects) {
	switch {
	case n == f.leader.Node && breach: // at the job's end too: an invalid message is never a peaceful leave
		f.leave(fmt.Sprintf("node %d is gone: %s", n, reason), fx)
	case n == f.leader.Node:
		f.lostLeader(reason, fx)
	case breach:
		f.complain(wire.Complaint{Node: n, Breach: true, Reason: fmt.Sprintf("node %d hears no more of node %d: %s", f.self.Node, n, reason)}, fx)
	default:
		f.complain(wire.Complaint{Node: n, Reason: fmt.Sprintf("node %d lost its connection to node %d: %s", f.self.Node, n, reason)}, fx)
	}
}

// complain reports the loss of another node to node 0.
func (f *Follower) complain(m wire.Complaint, fx *Effects) {
	f.lost = append(f.lost, m)
	fx.Send(f.self, f.leader, &m)
}

// JobOver notes that an actor of this node knows that the job is over.
func (f *Follower) JobOver() { f.taskWait.JobOver(f.now) }

// TasksEnded notes that no task of this node runs any more.
func (f *Follower) TasksEnded(fx *Effects) {
	f.taskWait.TasksEnded()
	if f.letGo {
		f.leave("", fx)
	}
}

// lostLeader ends a node that has no node 0 any more: in peace if the job is over, else by name.
func (f *Follower) lostLeader(reason string, fx *Effects) {
	switch {
	case !f.taskWait.over:
		f.leave(fmt.Sprintf("node %d is gone: %s", f.leader.Node, reason), fx)
	case f.taskWait.ended:
		f.leave("", fx)
	default:
		f.letGo = true
	}
}

// leave ends the node's part of the job. The first reason stays.
func (f *Follower) leave(reason string, fx *Effects) {
	if !f.left {
		f.left = true
		fx.Leave = &Leave{reason}
	}
}
