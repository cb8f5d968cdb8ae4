package shell

import (
	"fmt"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/heartbeat"
	"bellows/core/join"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Lead is the shell of node 0: the controller, with the membership of all nodes in it, the state that it collects,
// and the node's wait for its own tasks at the end. Methods that Lead does not define are the controller's.
type Lead struct {
	*coord.Controller
	State *checkpoint.Collector // the tables, if the outcome includes them
	// Joins has the newcomers (Invite) that were admitted or turned away since the caller last took it. The caller
	// closes the connections to those that were turned away.
	Joins []join.Outcome
	// Calls has the newcomers that are to connect to the others now. The caller takes and clears it.
	Calls     []Call
	admission *join.Admission
	came      []wire.Address   // actors that were admitted since the job's beginning, and were not removed
	uncalled  []bellows.NodeID // nodes that the current joiner does not call
	follows   bool             // the controller follows another
	known     bool             // it has the records
	over      bool             // there is an outcome
	nowMillis int64
	taskWait  heartbeat.TaskWait
	self      bellows.NodeID
	lanes     []wire.Address // of the node
	ended     bool           // no task runs here any more
}

// NewLead makes the shell of node 0 and the controller. It sets the options' Collector.
func NewLead(job core.Job, opt coord.Options) (*Lead, error) {
	return newLead(job, opt, func(opt coord.Options) (*coord.Controller, error) { return coord.New(job, opt), nil })
}

// RecoverLead makes a Lead, as NewLead does, with a controller that follows that of another Lead (coord.Recover). Every
// node, this one included, announces again that it is ready and which nodes it has lost; this one also that its tasks
// have ended, if they have. Newcomers keep their place, and admitted nodes take part without asking the controller,
// since the records of their admission need not have left.
func RecoverLead(before *Lead, job core.Job, opt coord.Options, from coord.Saved) (*Lead, error) {
	l, err := recoverLead(job, opt, from)
	if err != nil {
		return nil, err
	}
	l.nowMillis = before.nowMillis
	if !planted.On("guest-forgotten") {
		l.admission, l.Joins, l.Calls, l.came, l.uncalled = before.admission, before.Joins, before.Calls, before.came, before.uncalled
	}
	return l, nil
}

// FollowLead works like RecoverLead in another process, where everything else that the previous one knew is gone.
// No node remembers the joiners that it had invited and not admitted; the nodes that they call turn them away. Node
// numbers below nodes are taken. Every node announces again that it is ready, as Member.Followed does.
func FollowLead(job core.Job, opt coord.Options, from coord.Saved, nodes int) (*Lead, error) {
	l, err := recoverLead(job, opt, from)
	if err == nil {
		l.admission = join.NewAdmission(l.self, nodes, opt.Fingerprint, job.Times)
	}
	return l, err
}

func recoverLead(job core.Job, opt coord.Options, from coord.Saved) (*Lead, error) {
	l, err := newLead(job, opt, func(opt coord.Options) (*coord.Controller, error) { return coord.Recover(job, opt, from) })
	if err == nil {
		l.follows = true
	}
	return l, err
}

func newLead(job core.Job, opt coord.Options, controller func(coord.Options) (*coord.Controller, error)) (*Lead, error) {
	n := job.Controller.Node
	state, err := checkpoint.New(job.Tables, job.Route, n)
	if err != nil {
		return nil, err
	}
	opt.Collector = state
	c, err := controller(opt)
	if err != nil {
		return nil, err
	}
	return &Lead{Controller: c, State: state, taskWait: heartbeat.NewTaskWait(job.Times), self: n,
		lanes: lanesAt(job, n), admission: join.NewAdmission(n, job.Nodes, opt.Fingerprint, job.Times)}, nil
}

// Tick passes the time, and by node the number of bytes received from it; nil if the job has one node. over and
// unfinished are those of Member.Tick. If tasks of this node keep it from ending for too long, Tick returns why it
// waits no longer: the part of the model that they may still change is then lost.
func (l *Lead) Tick(nowMillis int64, heard []uint64, over bool, unfinished []bellows.Unit, fx *coord.Effects) (givenUp string) {
	l.nowMillis = nowMillis
	l.Controller.Tick(nowMillis, heard, fx)
	named, away := l.admission.Tick(nowMillis)
	if named != "" {
		fx.Notices = append(fx.Notices, named)
	}
	l.turned(away)
	if over {
		l.taskWait.JobOver(nowMillis)
	}
	sentence, why := l.taskWait.Tick(nowMillis, unfinished)
	if sentence != "" {
		fx.Notices = append(fx.Notices, fmt.Sprintf("node %d %s", l.self, sentence))
	}
	if why != "" {
		givenUp = fmt.Sprintf("node %d waits no longer: %s", l.self, why)
		if !planted.On("own-tasks-awaited") {
			l.Controller.Withholds(l.self, givenUp, fx)
		}
	}
	l.admit(fx)
	return givenUp
}

// Disconnected reports that the connections to a node have ended for good, and why. If this node closed them because
// of an invalid message, that is the reason; else a better reason may still come.
func (l *Lead) Disconnected(n bellows.NodeID, reason string, breach bool, fx *coord.Effects) {
	if l.suspectJoiner(n, reason) {
		return
	}
	if breach {
		l.Mistrust(n, fmt.Sprintf("node %d is not heard any more: %s", n, reason), fx)
		l.admit(fx)
		return
	}
	l.Broken(n, fmt.Sprintf("node %d is gone: %s", n, reason))
}

// TasksEnded reports that no task runs here any more.
func (l *Lead) TasksEnded(fx *coord.Effects) {
	l.taskWait.TasksEnded()
	l.ended = true
	tasksEnded(l.lanes, &fx.Outbox)
}

// Host adds a lane, as Member.Host does.
func (l *Lead) Host(a wire.Address, fx *coord.Effects) {
	l.lanes = append(l.lanes, a)
	if l.ended {
		tasksEnded(l.lanes[len(l.lanes)-1:], &fx.Outbox)
	}
}
