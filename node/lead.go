package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/shell"
	"bellows/core/tally"
	"bellows/core/visits"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/node/measure"
	"bellows/policy/gauge"
	"bellows/train"
)

// Train runs a job in this process and returns when it has finished, failed, or was interrupted. An error next to a
// result with tables describes a failure after the end of the training: executors that did not close, or a task that
// did not return. The tables are complete.
func Train(ctx context.Context, job train.Job, opt Options) (*Result, error) {
	p, err := assemble(&job, alone(opt), nil, opt)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.lead.ctx = ctx
	return p.lead.run()
}

// Lead runs a job as node 0 of a cluster that fabric.Connect has joined, and returns like Train. The others
// are let go when it returns.
func Lead(ctx context.Context, job train.Job, c Cluster, conns []transport.Conn, opt Options) (*Result, error) {
	m := fabric.NewMesh(conns)
	p, err := assemble(&job, c, m, opt)
	if err != nil {
		return nil, errors.Join(err, m.HangUp())
	}
	defer p.close()
	p.lead.ctx = ctx
	p.start(p.lead.disconnected, nil, nil)
	return p.lead.run()
}

// lead drives node 0's shell, which is the controller and what surrounds it, and carries out its effects. It has two
// halves. run keeps the time and receives outside events: the context, the ends of processes, the mesh. It sends them
// to the shell as messages in the controller's queue, and waits for the outcome. step is the controller's step on the
// bus, on whichever goroutine drains: it carries out these messages, in order among those of other nodes.
//
// States: assembled; begun, when the first tasks have been sent; finished, when the outcome is out. The controller is
// still stepped then, because lanes and other nodes must be released. run ends when it has the outcome, and either no
// task runs here or the shell has given them up.
//
// Invariants:
//   - run does not touch what step touches until the outcome has arrived through its channel: the collected state and
//     the stopwatch do not change after it (TestInterruptAndResume under the race detector).
//   - The timer's goroutine never waits: it leaves its messages for other goroutines, which run the controller
//     (fabric.Bus.Leave), and the channels to it have room.
//   - Reports about the run are sent in order, and all before run returns (TestTheEndWaitsForReports).
//
// Locks: none. An interrupt uses the context and no queued message, so that the next step sees it, whatever is queued
// before (TestInterruptStopsDispatch).
type lead struct {
	*process
	shell    *shell.Lead
	fx       coord.Effects       // of this step
	ctx      context.Context     // ends when the job is interrupted
	outcome  chan *coord.Outcome // has room
	kept     chan string         // why tasks of this node are waited for no more; has room
	reporter *reporter
	commands
	saving
	feed        measure.Feed        // of the figures of a job of several nodes
	figures     *gauge.Figures      // of a job that has ended; nil: too little was measured
	members     []Member            // that take part now
	route       *route.Route        // the current route
	fingerprint bellows.Fingerprint // of the job
	visits      *visits.Gatherer    // of what counts; nil: not reported
	books       []book              // by node: the last reports; not of this one
	begun       bool                // the first tasks have left
	stopping    bool                // it was reported that the job is interrupted
	collecting  bool                // it was reported that started work is finished, and that the state is being sent
	finished    bool                // the outcome is out
	recovered   bool                // it follows another, and knows what was recorded
	training    tally.Stopwatch     // while a task that visits items is out
}

// Messages from run to the controller's actor, in the queue with those of other nodes. They never leave the process.
type (
	start struct{ wire.Local }
	tick  struct {
		wire.Local
		heard []uint64 // by node: bytes that have come
	}
	tasksEnded struct{ wire.Local }
	death      struct { // of a process
		wire.Local
		Death
	}
	cut struct { // of the connections to a node
		wire.Local
		fabric.Loss
	}
)

// enqueue puts a message into the controller's queue and runs the actors with messages, the controller among them.
func (l *lead) enqueue(m wire.Message) { l.bus.Send(wire.ControllerAt(), wire.ControllerAt(), m) }

// disconnected handles the end of a node's connections. The mesh calls it on the goroutine of the reader that saw it.
func (l *lead) disconnected(n fabric.Loss) { l.enqueue(&cut{Loss: n}) }

// step runs the controller's step, and carries out its effects. It is an actor's step: never two run at a time. Messages
// for the shell are taken out of the batch first. The rest is one step of the controller, so that all dones that have
// arrived make one list of records.
func (l *lead) step(batch []wire.Envelope, out *wire.Outbox) {
	l.fx.Era = l.opt.Era
	if l.ctx.Err() != nil {
		l.shell.Interrupt(&l.fx)
		if l.begun && !l.stopping {
			l.stopping = true
			l.reportStop()
		}
	}
	rest := batch[:0]
	for _, e := range batch {
		if !l.take(e) {
			rest = append(rest, e)
		}
	}
	if len(rest) > 0 {
		l.shell.Step(rest, &l.fx)
	}
	if l.stopping && !l.collecting && l.shell.Collecting() {
		l.collecting = true
		l.reportStop()
	}
	if on := l.shell.Training(); on != l.training.Running() {
		l.training.Set(time.Since(l.began), on)
	}
	if l.checker != nil {
		l.checker.Meet(l.fx.Met)
	}
	if r := l.fx.Route; r != nil { // before what is said by it leaves
		l.route = r
		if l.checker != nil {
			l.checker.Learn(r)
		}
	}
	l.known()
	if !l.begun && l.shell.Begun() { // the nodes know the route
		l.begun = true
		l.beginSaving()
		l.reportStart()
	}
	l.settle()
	l.count()
	l.gather()
	l.takeCuts()
	l.measure()
	for _, sentence := range l.fx.Notices {
		l.notice(sentence)
	}
	if l.fx.Outcome != nil {
		l.finished = true
		l.figures = l.lastFigures()
		if l.checker != nil { // messages that are left need not be delivered
			l.checker.Lose(l.gone())
		}
		l.outcome <- l.fx.Outcome
	}
	out.Envelopes = append(out.Envelopes, l.fx.Envelopes...)
	l.fx.Reset()
}

// reportStart tells that all have joined: tasks leave only then.
func (l *lead) reportStart() {
	if l.opt.OnStart != nil {
		nodes := l.progress().Nodes
		l.reporter.say(func() { l.opt.OnStart(nodes) })
	}
}

// reportStop reports how much is left until the interrupted job reaches a point from which it can resume: nothing when
// its state is collected.
func (l *lead) reportStop() {
	if l.opt.OnStop != nil {
		left := l.shell.Remaining()
		l.reporter.say(func() { l.opt.OnStop(left) })
	}
}

// reportEpoch reports an epoch with its time so far, both as of this step. The previous process has reported its own.
func (l *lead) reportEpoch(e train.Epoch) {
	if f := l.opt.Follow; l.opt.OnEpoch != nil && (f == nil || e.Number > f.Epochs) {
		so := Spent{l.trainedFor(), l.spent()}
		e.Metrics = slices.Clone(e.Metrics) // which may be the driver's
		l.reporter.say(func() { l.opt.OnEpoch(e, so) })
	}
}

// take handles what is for the shell itself.
func (l *lead) take(e wire.Envelope) bool {
	switch m := e.Message.(type) {
	case *wire.Notice:
		l.notice(m.Sentence)
	case *wire.Report:
		l.enter(e.From.Node, m)
	case *look:
		m.answer <- l.progress()
	case *ask:
		m.do()
	case *death:
		l.shell.Lost(m.Node, m.Reason, &l.fx)
	case *cut:
		l.shell.Disconnected(m.Node, m.Reason, m.Breach, &l.fx)
	case *tasksEnded:
		l.shell.TasksEnded(&l.fx)
	case *written:
		l.takeWritten(m)
	case *start:
		l.shell.Start(&l.fx)
	case *tick:
		if why := l.shell.Tick(l.millis(), m.heard, l.process.hasEnded(), l.unfinished(), &l.fx); why != "" {
			select {
			case l.kept <- why:
			default: // it is known
			}
		}
		l.meterCopies()
		l.save()
	default:
		return false
	}
	return true
}

// trainedFor returns how long tasks that visit items were dispatched, without joining and pauses of the driver.
func (l *lead) trainedFor() time.Duration { return l.training.Total(time.Since(l.began)) }

// run drives the job to its end. The context is checked only once: after an interrupt the job still reaches a point
// from which it can resume, which takes as long as the dispatched tasks. If a process ends, its last lines are the
// reason; its connections, whose end the mesh reports, do not have them. The shell waits for the better reason.
func (l *lead) run() (*Result, error) {
	l.reporter = newReporter()
	defer l.reporter.close()
	if l.opt.Watch != nil {
		l.opt.Watch.lead.Store(l)
	}
	if l.opt.Commands != nil {
		l.opt.Commands.lead.Store(l)
	}
	l.awaitTasks()
	l.enqueue(&start{})
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done, deaths := l.ctx.Done(), l.opt.Deaths
	var outcome *coord.Outcome
	var late error // of failures after the end of the training
	closed := false
	for outcome == nil || !closed {
		select {
		case outcome = <-l.outcome:
		case late = <-l.closed:
			closed = true
			l.leave(&tasksEnded{})
		case why := <-l.kept: // again and again
			late = bellows.Errorf(bellows.Lost, "end the job", "", "%s", why)
			closed = true
		case <-done: // the next step looks for itself
			done = nil
			l.tick()
		case d := <-deaths:
			l.enqueue(&death{Death: d})
		case <-ticker.C:
			l.tick()
		}
	}
	r, err := l.result(outcome)
	return r, errors.Join(err, late)
}

// tick sends the time to this node's actors. Other goroutines run them: the timer's goroutine never waits.
func (l *lead) tick() {
	now := l.millis()
	l.spare.Measure(now)
	if l.runner != nil {
		l.runner.Tick(now)
	}
	m := &tick{}
	if l.mesh != nil {
		l.mesh.Tick()
		m.heard = l.mesh.Heard()
	}
	l.leave(m)
}

// leave enqueues a message from the timer's goroutine: other goroutines run the controller.
func (l *lead) leave(m wire.Message) {
	var out wire.Outbox
	out.Send(wire.ControllerAt(), wire.ControllerAt(), m)
	l.bus.Enqueue(&out)
	l.bus.Leave()
}

// result returns the state of the lanes at the end of the job, or the reason why there is none. For a failed job it
// also has what was trained, counted and committed.
func (l *lead) result(o *coord.Outcome) (*Result, error) {
	names := make([]string, len(l.job.Tables))
	for i := range names {
		names[i] = l.job.Tables[i].Name
	}
	r := &Result{Commits: o.Commits, Gone: l.gone(), Trained: l.trainedFor(), Total: time.Since(l.began),
		Since: l.since(), Figures: l.figures,
		Audit: Audit{Account: o.Counts.Account(names), Staleness: o.Counts.Staleness[:]}}
	r.Since.Out = o.Out
	if err := o.Failure("train"); err != nil {
		return r, err
	}
	if o.Interrupted {
		live, kept := l.shell.State.Images()
		r.Image = &train.Image{Tables: live, Kept: kept, State: o.State}
	}
	r.Tables, r.Keys = l.shell.State.Tables()
	return r, nil
}
