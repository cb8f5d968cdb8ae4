package node

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/shell"
	"bellows/core/tally"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/train"
)

// Train runs a job in this process and returns when it has finished, failed, or was interrupted. An error beside a result that has tables
// says what went wrong behind the end of the training: executors that did not close, or a task that did not return. The tables are whole.
func Train(ctx context.Context, job train.Job, opt Options) (*Result, error) {
	p, err := assemble(&job, alone(opt), nil, opt)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.lead.run(ctx)
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
	p.start(p.lead.disconnected)
	return p.lead.run(ctx)
}

// lead drives node 0's shell, which is the controller and what is around it, and carries out its effects.
type lead struct {
	*process
	shell     *shell.Lead
	fx        coord.Effects
	interrupt atomic.Bool
	outcome   chan *coord.Outcome
	kept      chan string // why tasks of this node are waited for no more; has room
	reporter  *reporter
	books     []book          // by node; not of this one
	begun     bool            // the first tasks have left
	finished  bool            // the outcome is out
	training  tally.Stopwatch // while a task that visits items is out
}

// What the shell tells the controller's actor, in the queue with what others send it.
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
		node   bellows.NodeID
		reason string
		breach bool // by this side, since what came cannot be
	}
)

// tell puts a word of the shell into the controller's queue.
func (l *lead) tell(m wire.Message) { l.bus.Send(wire.ControllerAt(), wire.ControllerAt(), m) }

// disconnected is told by the mesh that a node's connections have ended.
func (l *lead) disconnected(n bellows.NodeID, err error) {
	var b *fabric.Breach
	l.tell(&cut{node: n, reason: err.Error(), breach: errors.As(err, &b)})
}

// step is the controller's step, and carries out its effects. It is an actor's step: never two at a
// time.
func (l *lead) step(batch []wire.Envelope, out *wire.Outbox) {
	if l.interrupt.Load() {
		l.shell.Interrupt(&l.fx)
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
	if !l.begun && l.shell.Begun() {
		l.begun = true
		l.reportStart()
	}
	if on := l.shell.Training(); on != l.training.On() {
		l.training.Set(time.Since(l.began), on)
	}
	for _, e := range l.fx.Epochs {
		l.reportEpoch(e)
	}
	for _, sentence := range l.fx.Notices {
		l.notice(sentence)
	}
	if l.fx.Outcome != nil {
		l.finished = true
		l.outcome <- l.fx.Outcome
	}
	out.Envelopes = append(out.Envelopes, l.fx.Envelopes...)
	l.fx.Reset()
}

func (l *lead) reportStart() {
	if l.opt.OnStart != nil {
		nodes := l.progress().Nodes
		l.reporter.say(func() { l.opt.OnStart(nodes) })
	}
}

func (l *lead) reportEpoch(e train.Epoch) {
	if l.opt.OnEpoch != nil {
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
	case *death:
		l.shell.Lost(m.Node, m.Reason, &l.fx)
	case *cut:
		l.shell.Disconnected(m.node, m.reason, m.breach, &l.fx)
	case *tasksEnded:
		l.shell.TasksEnded(&l.fx)
	case *start:
		l.shell.Start(&l.fx)
	case *tick:
		if why := l.shell.Tick(l.millis(), m.heard, l.process.over(), l.unfinished(), &l.fx); why != "" {
			select {
			case l.kept <- why:
			default: // it is known
			}
		}
	default:
		return false
	}
	return true
}

func (l *lead) trainedFor() time.Duration { return l.training.Total(time.Since(l.began)) }

// run drives the job to its end.
func (l *lead) run(ctx context.Context) (*Result, error) {
	l.reporter = newReporter()
	defer l.reporter.close()
	if l.opt.Watch != nil {
		l.opt.Watch.lead.Store(l)
	}
	l.awaitTasks()
	l.tell(&start{})
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done, deaths := ctx.Done(), l.opt.Deaths
	var outcome *coord.Outcome
	var late error // of what goes on behind the end of the training
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
		case <-done:
			l.interrupt.Store(true)
			done = nil
		case d := <-deaths:
			l.tell(&death{Death: d})
		case <-ticker.C:
			l.tick()
		}
	}
	r, err := l.result(outcome)
	return r, errors.Join(err, late)
}

// tick tells this node's actors the time. Others run them: who keeps the time waits for nobody.
func (l *lead) tick() {
	if l.runner != nil {
		l.runner.Tick(l.millis())
	}
	m := &tick{}
	if l.mesh != nil {
		l.mesh.Tick()
		m.heard = l.mesh.Heard()
	}
	l.leave(m)
}

// leave puts a word into the controller's queue for others to take.
func (l *lead) leave(m wire.Message) {
	var out wire.Outbox
	out.Send(wire.ControllerAt(), wire.ControllerAt(), m)
	l.bus.Enqueue(&out)
	l.bus.Leave()
}

// result is what the lanes hold when the job is over.
func (l *lead) result(o *coord.Outcome) (*Result, error) {
	names := make([]string, len(l.job.Tables))
	for i := range names {
		names[i] = l.job.Tables[i].Name
	}
	r := &Result{Commits: o.Commits, Trained: l.trainedFor(), Total: time.Since(l.began),
		Audit: Audit{Account: o.Counts.Account(names), Staleness: o.Counts.Staleness[:]}}
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
