// Package elastic changes the nodes of a job while it runs, by commands to node: how many work and serve, which leave,
// and their roles. These are EPS's four functions (EPS §3: adding and removing workers, adding and removing servers)
// and the switch of a role, as one API.
//
// Package reshape, a step function, decides; this package carries it out: it looks at the job, starts steps, each on a
// separate goroutine, and answers requests. Its caller's duties, in order:
//
//  1. Make a Shaper of a Job, when the job's nodes begin to join. launch.Control has one; other callers give
//     node.Commands and a function that starts a node's process (NewJob).
//  2. Call Scale, Drain, Switch, on any goroutine, several at once: each returns when it has succeeded, or says what
//     has not. A later request supersedes an earlier one, except for drains. Neither an error nor the end of a context
//     undoes anything: the job is consistent after each step.
//  3. Close it when the job is over.
//
// A new node can run tasks and hold partitions, whatever its first role is, so that it can be switched. A node that the
// job began with can be switched to the roles that it was started with.
//
// The package does not end processes: their owner notices by the end of a process that its node has left.
package elastic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/join"
	"bellows/node"
	"bellows/policy/plan"
	"bellows/policy/reshape"
	"bellows/policy/shape"
)

// A Job carries out a Shaper's changes. Each method returns when the job's controller has accepted the change, or why it
// does not. A channel receives the outcome when the change is complete, or never will be.
type Job interface {
	Layout(ctx context.Context) (node.Layout, error)
	// Add has a node come, and returns its number when it takes part.
	Add(ctx context.Context, slots, lanes int) (bellows.NodeID, error)
	MoveSplit(ctx context.Context, s bellows.SplitID, to bellows.NodeID) (moved <-chan error, err error)
	// StaySplit takes back a move of a split that has not been made.
	StaySplit(ctx context.Context, s bellows.SplitID) error
	MovePartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (moved <-chan error, err error)
	// HurryPartition is MovePartition as fast as it goes, whatever the job's clocks take meanwhile.
	HurryPartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (moved <-chan error, err error)
	// StayPartition takes back a move of a partition that has not been made.
	StayPartition(ctx context.Context, p bellows.PartitionRef) error
	// Remove has a node leave that has nothing any more, and returns when it has left.
	Remove(ctx context.Context, n bellows.NodeID) error
	// Planned tells how far the way to another shape is, and what was decided since.
	Planned(ctx context.Context, p *api.Plan, decided []node.Change) error
}

// Role is what a node is for.
type Role = reshape.Role

// The roles.
const (
	Worker = reshape.Worker // it runs tasks
	Server = reshape.Server // it holds partitions
	Both   = reshape.Both
)

// Of returns a Job that uses Commands. come starts the process of an invited node, as with node.Commands.Add.
func NewJob(c *node.Commands, come func(context.Context, node.Invitation) error) Job {
	return &invited{c, come}
}

type invited struct {
	*node.Commands
	come func(context.Context, node.Invitation) error
}

func (j *invited) Add(ctx context.Context, slots, lanes int) (bellows.NodeID, error) {
	return j.Commands.Add(ctx, slots, lanes, j.come)
}

// Options are the choices of a Shaper; zeros: the defaults.
type Options struct {
	Slots int // compute slots of a node that comes; 0: one
	Lanes int // lanes of it; 0: one
}

// Result is what has come of something that was asked.
type Result struct {
	Moved   int      // splits and partitions
	Bytes   int64    // that moved
	Seconds float64  // since it was asked
	Left    []string // what was not done, and why, if that is an error
}

// A Shaper changes the shape of one job.
//
// States: open, and closed, when nothing new is started. Steps that were started still end: Close waits for them.
//
// Invariants:
//   - One goroutine at a time steps the machine, and nothing waits for the job with the lock held
//     (TestShaperNeverWaitsLocked).
//   - Decisions are reported in their order (TestDecisionsAreToldInTheirOrder).
//   - Each request is answered once, by the end of its context at the latest (TestShaperAnswersRequests).
//
// Locks: mu guards all fields after it.
type Shaper struct {
	job   Job
	lanes int
	ctx   context.Context
	end   context.CancelFunc
	began time.Time
	ops   sync.WaitGroup

	mu      sync.Mutex
	machine *reshape.Machine
	refs    []bellows.PartitionRef                   // by their numbers
	waiting map[reshape.AskID]chan<- reshape.Outcome // with room
	under   map[reshape.OpID]context.CancelFunc
	timer   *time.Timer // of the machine's next tick; nil: none is needed
	decided []node.Change
	telling bool // a goroutine is reporting
	changed bool // there is something to tell
	closed  bool
	advisor *advisor // nil: persons alone choose the shape
}

// New returns a Shaper of a job.
func New(job Job, opt Options) *Shaper {
	ctx, end := context.WithCancel(context.Background())
	host := shape.Node{Slots: max(1, opt.Slots), Lanes: 1}
	return &Shaper{job: job, lanes: max(1, opt.Lanes), ctx: ctx, end: end, began: time.Now(), machine: reshape.New(reshape.Limits{Host: host, Limits: plan.Limits{Adds: join.GuestsMost}}),
		waiting: map[reshape.AskID]chan<- reshape.Outcome{}, under: map[reshape.OpID]context.CancelFunc{}}
}

// Scale changes the numbers of nodes that run tasks and of nodes that hold partitions; 0 keeps a number. If every node
// does both and servers is 0, new nodes do both as well. Errors are of kind Config for impossible requests, Interrupted
// if another request came since, and Unavailable if only a part was achieved.
func (s *Shaper) Scale(ctx context.Context, workers, servers int) (Result, error) {
	s.mu.Lock()
	d := s.advisor
	s.mu.Unlock()
	var before node.Layout
	if d != nil {
		d.scales.Add(1)
		defer d.noted.Add(1)
		var err error
		if before, err = s.job.Layout(ctx); err != nil {
			return Result{}, err
		}
	}
	r, err := s.ask(ctx, "scale", reshape.Ask{Scale: &reshape.Scale{Workers: workers, Servers: servers}})
	if kind := bellows.KindOf(err); d != nil && (err == nil || kind == bellows.Unavailable) {
		d.scaled(workers, servers, &before)
	}
	return r, err
}

// Drain removes a node: its work moves to other nodes, and no node replaces it. With a notice it ends within that time,
// and an error lists what the node still has; parts without a copy move first. 0: there is no time limit. Errors are
// like those of Scale.
func (s *Shaper) Drain(ctx context.Context, n bellows.NodeID, notice time.Duration) (Result, error) {
	results, errs := s.DrainAll(ctx, []bellows.NodeID{n}, notice)
	return results[0], errs[0]
}

// DrainAll drains several nodes by one plan, so that nothing moves from one of them to another one. Results and errors are by node.
func (s *Shaper) DrainAll(ctx context.Context, nodes []bellows.NodeID, notice time.Duration) ([]Result, []error) {
	var list []reshape.Drain
	results, errs := make([]Result, len(nodes)), make([]error, len(nodes))
	for i, n := range nodes {
		if notice < 0 || notice > 0 && notice < time.Millisecond {
			errs[i] = bellows.Errorf(bellows.Config, "drain", fmt.Sprintf("node %d", n), "a notice of %v; it must be at least 1ms", notice)
		}
		list = append(list, reshape.Drain{Node: n, NoticeMillis: notice.Milliseconds()})
	}
	if len(nodes) == 0 || errs[0] != nil {
		return results, errs
	}
	for i, a := range s.asks(ctx, "drain", func(m *reshape.Machine, fx *reshape.Effects) []reshape.AskID { return m.AskDrains(list, fx) }, len(nodes)) {
		results[i], errs[i] = a.Result, a.err
	}
	return results, errs
}

// Warn drains a node without waiting. The outcome is reported as a decision.
func (s *Shaper) Warn(n bellows.NodeID, notice time.Duration) {
	s.ops.Go(func() {
		if _, err := s.Drain(s.ctx, n, max(notice, time.Millisecond)); err != nil {
			s.remark(err.Error())
		}
	})
}

// Switch makes a node a worker, a server or both, without a restart. Errors are like those of Scale.
func (s *Shaper) Switch(ctx context.Context, n bellows.NodeID, role Role) (Result, error) {
	return s.ask(ctx, "switch", reshape.Ask{Switch: &reshape.Switch{Node: n, Role: role}})
}

// Shape makes the job take the shape that a policy decides.
func (s *Shaper) Shape(ctx context.Context, p shape.Policy) (Result, error) {
	return s.ask(ctx, "reshape", reshape.Ask{Shape: p})
}

// ask asks the machine, and waits for its answer.
func (s *Shaper) ask(ctx context.Context, what string, a reshape.Ask) (Result, error) {
	got := s.asks(ctx, what, func(m *reshape.Machine, fx *reshape.Effects) []reshape.AskID { return []reshape.AskID{m.Ask(a, fx)} }, 1)[0]
	return got.Result, got.err
}

// answered is what has come of an Ask.
type answered struct {
	Result
	err error
}

// asks asks the machine for so many things in one step, and waits for all answers.
func (s *Shaper) asks(ctx context.Context, what string, ask func(*reshape.Machine, *reshape.Effects) []reshape.AskID, n int) []answered {
	list := make([]answered, n)
	layout, err := s.job.Layout(ctx)
	if err != nil {
		for i := range list {
			list[i].err = err
		}
		return list
	}
	var ids []reshape.AskID
	var answers []chan reshape.Outcome
	s.step(func(m *reshape.Machine, fx *reshape.Effects) {
		m.Observe(s.facts(&layout), fx)
		ids = ask(m, fx)
		for _, id := range ids {
			answer := make(chan reshape.Outcome, 1)
			s.waiting[id] = answer
			answers = append(answers, answer)
		}
	})
	for i, answer := range answers {
		select {
		case o := <-answer:
			list[i].Result, list[i].err = result(what, &o)
		case <-ctx.Done():
			s.step(func(m *reshape.Machine, fx *reshape.Effects) { m.Withdraw(ids[i], fx) })
			o := <-answer // of that step, or of one before
			if list[i].Result, list[i].err = result(what, &o); list[i].err != nil {
				list[i].err = bellows.Errorf(bellows.Interrupted, what, "", "%w", context.Cause(ctx))
			}
		}
	}
	return list
}

// result converts an outcome to an answer for callers.
func result(what string, o *reshape.Outcome) (Result, error) {
	r := Result{Moved: o.Moved, Bytes: o.Bytes, Seconds: float64(o.Millis) / 1000}
	for i := range o.Left {
		r.Left = append(r.Left, fmt.Sprintf("%s: %s", o.Left[i].Step.String(), o.Left[i].Why))
	}
	kind := bellows.Unavailable
	switch {
	case o.Err == "":
		return r, nil
	case o.Bad:
		kind = bellows.Config
	case o.Superseded:
		kind = bellows.Interrupted
	}
	return r, bellows.Errorf(kind, what, "", "%s", o.Err)
}

// facts converts a layout for the machine.
func (s *Shaper) facts(l *node.Layout) reshape.Facts {
	f := reshape.Facts{Version: uint64(l.Version), Splits: l.Splits}
	for _, m := range l.Members {
		f.Nodes = append(f.Nodes, shape.Node{ID: m.Node, Slots: m.Slots, Lanes: m.Lanes})
	}
	f.Stays, f.Tables = l.Stays, make([]int, len(l.Tables))
	s.refs = s.refs[:0]
	for _, h := range l.Partitions {
		f.Tables[h.Table]++
		f.Partitions = append(f.Partitions, h.Node)
		f.Sizes.Partitions = append(f.Sizes.Partitions, h.Bytes)
		s.refs = append(s.refs, h.PartitionRef)
	}
	return f
}

// step steps the machine, and carries out its effects.
func (s *Shaper) step(do func(*reshape.Machine, *reshape.Effects)) {
	s.mu.Lock()
	var fx reshape.Effects
	s.machine.Tick(time.Since(s.began).Milliseconds(), &fx)
	do(s.machine, &fx)
	for _, op := range fx.Begin {
		s.begin(op)
	}
	for _, id := range fx.Abandon { // behind Begin: the time may begin what the rest of the step does not want
		if abandon := s.under[id]; abandon != nil { // else it has ended in this step
			abandon()
		}
	}
	for _, o := range fx.Outcomes {
		if answer := s.waiting[o.Ask]; answer != nil {
			answer <- o
			delete(s.waiting, o.Ask)
		}
	}
	for i := range fx.Notes {
		s.decided = append(s.decided, s.change(&fx.Notes[i]))
	}
	s.wake()
	s.changed = s.changed || len(fx.Begin)+len(fx.Outcomes)+len(fx.Notes) > 0
	s.mu.Unlock()
	s.notify()
}
