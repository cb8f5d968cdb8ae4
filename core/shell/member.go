package shell

import (
	"bellows"
	"bellows/core"
	"bellows/core/heartbeat"
	"bellows/core/server"
	"bellows/link/wire"
)

// Member is the shell of a node that does not lead. It keeps the node's part in the membership (heartbeat.Follower),
// and passes its lanes the time, the bytes received from node 0, and the end of tasks.
type Member struct {
	follower *heartbeat.Follower
	lanes    []wire.Address // those of the node
	over     bool           // the node knows that the job is over
	ended    bool           // no task runs here any more
}

// NewMember makes the shell of a node.
func NewMember(job core.Job, self bellows.NodeID) *Member {
	return &Member{follower: heartbeat.NewFollower(self, job.Controller, job.Times), lanes: lanesAt(job, self)}
}

// lanesAt returns a node's lanes.
func lanesAt(job core.Job, n bellows.NodeID) (list []wire.Address) {
	for _, a := range job.Lanes {
		if a.Node == n && a.Role == wire.Lane {
			list = append(list, a)
		}
	}
	return list
}

// Start announces that the node is ready for a job of that fingerprint.
func (m *Member) Start(job bellows.Fingerprint, fx *heartbeat.Effects) {
	m.follower.Start(&wire.Ready{Fingerprint: job}, fx)
}

// Followed reports that another process leads, which knows nothing of what this node sent the previous one. The node
// announces again that it is ready, if it was, and which nodes it has lost.
func (m *Member) Followed(fx *heartbeat.Effects) { m.follower.Followed(fx) }

// Tick passes the time. heard is the number of bytes received from node 0; over says that the node knows that the job
// is over; unfinished are the tasks that run here.
func (m *Member) Tick(nowMillis int64, heard uint64, over bool, unfinished []bellows.Unit, fx *heartbeat.Effects) {
	m.knows(over)
	for _, a := range m.lanes {
		fx.Send(a, a, &server.Tick{NowMillis: nowMillis, Heard: heard})
	}
	m.follower.Tick(nowMillis, heard, unfinished, fx)
}

// Disconnected reports that the connections to a node have ended for good, and why. breach says that this node closed
// them because of an invalid message. over is that of Tick: if node 0 disconnects without it, node 0 is lost; with
// it, node 0 has left.
func (m *Member) Disconnected(n bellows.NodeID, reason string, breach, over bool, fx *heartbeat.Effects) {
	m.knows(over)
	m.follower.Disconnected(n, reason, breach, fx)
}

func (m *Member) knows(over bool) {
	if over && !m.over {
		m.over = true
		m.follower.JobOver()
	}
}

// TasksEnded reports that no task runs here any more.
func (m *Member) TasksEnded(fx *heartbeat.Effects) {
	m.ended = true
	tasksEnded(m.lanes, &fx.Outbox)
	m.follower.TasksEnded(fx)
}

// Host adds a lane of the node that takes part later, before the controller hears of it.
func (m *Member) Host(a wire.Address, fx *heartbeat.Effects) {
	m.lanes = append(m.lanes, a)
	if m.ended {
		tasksEnded(m.lanes[len(m.lanes)-1:], &fx.Outbox)
	}
}

// tasksEnded lets lanes look at the memory that tasks may have changed in place.
func tasksEnded(lanes []wire.Address, out *wire.Outbox) {
	for _, a := range lanes {
		out.Send(a, a, &server.TasksEnded{})
	}
}
