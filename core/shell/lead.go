package shell

import (
	"fmt"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/members"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Lead is the shell of node 0: the controller, with the membership of all nodes in it, the state
// that it collects, and the node's wait for its own tasks at the end. What it does not change of
// the controller's steps is the controller's.
type Lead struct {
	*coord.Controller
	State *checkpoint.Collector // the tables, when the outcome is there and says so
	// Joins is what has become of newcomers (Invite) since the caller has taken it. The connections
	// to one that takes no part are to end.
	Joins []join.Outcome
	// Calls are newcomers that are to call the others now, since the caller has taken it.
	Calls     []Call
	admission *join.Admission
	came      []wire.Address   // actors that were admitted since the job's beginning, and were not told to leave
	uncalled  []bellows.NodeID // whom the guest whose turn it is does not call
	follows   bool             // the controller follows another,
	known     bool             // and has the records
	over      bool             // there is an outcome
	nowMillis int64
	closing   members.Closing
	self      bellows.NodeID
	lanes     []wire.Address // of the node
	ended     bool           // no task runs here any more
}

// NewLead makes the shell of node 0 and the controller. It sets the options' Collector.
func NewLead(job core.Job, opt coord.Options) (*Lead, error) {
	return newLead(job, opt, func(opt coord.Options) (*coord.Controller, error) { return coord.New(job, opt), nil })
}

// RecoverLead is NewLead with a controller that follows that of another Lead (coord.Recover). Every
// node is to say once more that it is ready, and of whom it has lost; this one, too, and that its
// tasks have ended, if they have. Who is on its way stays so, and who was admitted takes part: no
// controller is asked for that, whose records need not have left.
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

// FollowLead is RecoverLead in another process, of which all that the one before knew besides is gone: nodes that it had invited and that take no part are nobody's guests,
// and whom they call turns them away. Numbers of nodes below nodes were given. Every node is to say once more that it is ready, as Member.Followed does.
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
	state, err := checkpoint.New(job.Tables, job.Route)
	if err != nil {
		return nil, err
	}
	opt.Collector = state
	c, err := controller(opt)
	if err != nil {
		return nil, err
	}
	n := job.Controller.Node
	return &Lead{Controller: c, State: state, closing: members.NewClosing(job.Times), self: n, lanes: lanesAt(job, n),
		admission: join.NewAdmission(n, job.Nodes, opt.Fingerprint, job.Times)}, nil
}

// Tick tells the time, and by node how many bytes have come from it; nil where there is no other.
// over and unfinished are as of Member.Tick. Once tasks of this node have kept it from its end for
// too long, it says why they are waited for no more: what they may work on, a part of the model, is
// then lost with them.
func (l *Lead) Tick(nowMillis int64, heard []uint64, over bool, unfinished []bellows.Unit, fx *coord.Effects) (givenUp string) {
	l.nowMillis = nowMillis
	l.Controller.Tick(nowMillis, heard, fx)
	named, away := l.admission.Tick(nowMillis)
	if named != "" {
		fx.Notices = append(fx.Notices, named)
	}
	l.turned(away)
	if over {
		l.closing.Over(nowMillis)
	}
	sentence, why := l.closing.Tick(nowMillis, unfinished)
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

// Disconnected tells that the connections to a node have ended for good, and why. Where this node
// ended them, since what came cannot be, no reason is better; else one may come.
func (l *Lead) Disconnected(n bellows.NodeID, reason string, breach bool, fx *coord.Effects) {
	if l.suspectGuest(n, reason) {
		return
	}
	if breach {
		l.Mistrust(n, fmt.Sprintf("node %d is not heard any more: %s", n, reason), fx)
		l.admit(fx)
		return
	}
	l.Broken(n, fmt.Sprintf("node %d is gone: %s", n, reason))
}

// TasksEnded tells that no task runs here any more.
func (l *Lead) TasksEnded(fx *coord.Effects) {
	l.closing.TasksEnded()
	l.ended = true
	tasksEnded(l.lanes, &fx.Outbox)
}

// Host is that of Member.
func (l *Lead) Host(a wire.Address, fx *coord.Effects) {
	l.lanes = append(l.lanes, a)
	if l.ended {
		tasksEnded(l.lanes[len(l.lanes)-1:], &fx.Outbox)
	}
}
