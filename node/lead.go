package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bellows"
	"bellows/coord"
	"bellows/train"
	"bellows/transport"
	"bellows/wire"
)

// Train runs a job in this process and returns when it has finished, failed, or was interrupted.
func Train(ctx context.Context, job train.Job, opt Options) (*Result, error) {
	p, err := assemble(&job, alone(opt), nil, opt)
	if err != nil {
		return nil, err
	}
	return p.lead.run(ctx)
}

// leaseDefault is how long a node may be silent, where Options do not say.
const leaseDefault = 10 * time.Second

// Lead runs a job as node 0 of a cluster that Connect has joined, and returns like Train. The others
// are let go when it returns.
func Lead(ctx context.Context, job train.Job, c Cluster, conns []transport.Conn, opt Options) (*Result, error) {
	if opt.LeaseMillis == 0 {
		opt.LeaseMillis = leaseDefault.Milliseconds()
	}
	m := newMesh(conns)
	defer m.close()
	p, err := assemble(&job, c, m, opt)
	if err != nil {
		return nil, err
	}
	m.start(p.bus, p.newGuard(), p.formats(), p.lead.disconnected)
	return p.lead.run(ctx)
}

// lead is node 0's shell around the controller.
type lead struct {
	*process
	controller *coord.Controller
	fx         coord.Effects
	interrupt  interrupted
	outcome    chan *coord.Outcome
	gathering  *gathering
	reporter   *reporter
	books      []book // by node; not of this one
	begun      bool   // the first tasks have left
	over       bool   // the outcome is out

	busy    time.Time     // when training last began; zero while no training task is out
	trained time.Duration // before busy
}

// What the shell tells the controller's actor, in the queue with what others send it.
type (
	start struct{ wire.Message }
	tick  struct{ wire.Message }
	// loss says that a node cannot be reached any more: its process has died, or its connection has ended.
	loss struct {
		wire.Message
		node   bellows.NodeID
		reason string
		known  bool // why, for sure: by the end of its process, or by what it sent
	}
)

// tell puts a word of the shell into the controller's queue.
func (l *lead) tell(m wire.Message) { l.bus.send(controllerAddress, controllerAddress, m) }

// disconnected is told by the mesh that a node's connection has ended. No reason is better than a breach.
func (l *lead) disconnected(n bellows.NodeID, err error) {
	if b := (*breach)(nil); errors.As(err, &b) { // no reason is better
		l.tell(loss{node: n, reason: fmt.Sprintf("node %d is not heard any more: %v", n, err), known: true})
		return
	}
	l.tell(loss{node: n, reason: fmt.Sprintf("node %d is gone: %v", n, err)})
}

// step is the controller's step, and carries out its effects. It is an actor's step: never two at a
// time.
func (l *lead) step(batch []wire.Envelope, out *wire.Outbox) {
	if l.interrupt.Load() {
		l.controller.Interrupt(&l.fx)
	}
	rest := batch[:0]
	for _, e := range batch {
		if !l.take(e) {
			rest = append(rest, e)
		}
	}
	if len(rest) > 0 {
		l.controller.Step(rest, &l.fx)
	}
	if !l.begun && l.controller.Begun() {
		l.begun = true
		l.reportStart()
	}
	l.account()
	for _, e := range l.fx.Epochs {
		l.reportEpoch(e)
	}
	for _, sentence := range l.fx.Notices {
		l.notice(sentence)
	}
	for _, reason := range l.fx.Losses {
		l.gathering.fail(reason)
	}
	if l.fx.Outcome != nil {
		l.over = true
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
	case *wire.Slab:
		l.refuse(e.From, l.gathering.take(e.From, m))
	case asking:
		l.gathering.begin(m.whole)
		for _, a := range l.cluster.lanes() {
			l.fx.Send(controllerAddress, a, &wire.Collect{Whole: m.whole})
		}
	case *wire.Collected:
		l.refuse(e.From, l.gathering.end(e.From, m))
	case *wire.Report:
		l.enter(e.From.Node, m)
	case look:
		m.answer <- l.progress()
	case loss:
		if m.known {
			l.controller.Lost(m.node, m.reason, &l.fx)
		} else {
			l.controller.Broken(m.node, m.reason)
		}
	case start:
		l.controller.Start(&l.fx)
	case tick:
		l.controller.Tick(l.millis(), &l.fx)
	default:
		return false
	}
	return true
}

// refuse ends the job if an actor sent what cannot be.
func (l *lead) refuse(from wire.Address, breach error) {
	if breach != nil {
		l.controller.Lost(from.Node, breach.Error(), &l.fx)
	}
}

// account stops and starts the clock of training.
func (l *lead) account() {
	switch training := l.controller.Training(); {
	case training && l.busy.IsZero():
		l.busy = time.Now()
	case !training && !l.busy.IsZero():
		l.trained += time.Since(l.busy)
		l.busy = time.Time{}
	}
}

func (l *lead) trainedFor() time.Duration {
	if l.busy.IsZero() {
		return l.trained
	}
	return l.trained + time.Since(l.busy)
}

// run drives the job to its end.
func (l *lead) run(ctx context.Context) (*Result, error) {
	l.reporter = newReporter()
	defer l.reporter.close()
	if l.opt.Watch != nil {
		l.opt.Watch.lead.Store(l)
	}
	l.tell(start{})
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done, deaths := ctx.Done(), l.opt.Deaths
	for {
		select {
		case o := <-l.outcome:
			if l.runner != nil {
				if err := l.runner.Close(); err != nil {
					return nil, err
				}
			}
			return l.result(o)
		case <-done:
			l.interrupt.Store(true)
			done = nil
		case d := <-deaths:
			l.tell(loss{node: d.Node, reason: d.Reason, known: true})
		case <-ticker.C:
			l.tick()
		}
	}
}

func (l *lead) tick() {
	if l.runner != nil {
		l.runner.Tick(l.millis())
	}
	if l.mesh != nil {
		l.tell(tick{})
	}
}

// result is what the lanes hold when the job is over.
func (l *lead) result(o *coord.Outcome) (*Result, error) {
	r := &Result{Commits: o.Commits, Trained: l.trained, Total: time.Since(l.began),
		Audit: Audit{Sent: o.Counts.Sent, Applied: o.Counts.Applied, Dropped: o.Counts.Dropped, Staleness: o.Counts.Staleness[:]}}
	if o.Reason != "" && !o.Interrupted {
		cause := o.Err
		if cause == nil {
			cause = errors.New(o.Reason)
		} else {
			cause = fmt.Errorf("%s: %w", o.Reason, cause)
		}
		return r, &bellows.Error{Kind: o.Kind, Op: "train", Err: cause}
	}
	if err := l.gather(o.Interrupted); err != nil {
		return r, err
	}
	if o.Interrupted {
		r.Image = l.gathering.image(o.State)
	}
	r.Tables, r.Keys = l.gathering.tables()
	return r, nil
}
