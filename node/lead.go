package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	m.start(p.bus, p.lead.disconnected)
	return p.lead.run(ctx)
}

// lead is node 0's shell around the controller.
type lead struct {
	*process
	controller *coord.Controller
	fx         coord.Effects
	interrupt  interrupted
	outcome    chan *coord.Outcome
	ready      map[bellows.NodeID]bool // nodes that have said so; the controller starts when all have
	started    bool
	named      int64 // when late nodes were last named
	losses     []loss
	gathering  *gathering

	busy    time.Time     // when training last began; zero while no training task is out
	trained time.Duration // before busy
}

// What the shell tells the controller's actor, in the queue with what others send it.
type (
	tick struct{ wire.Message }
	// loss says that a node cannot be reached any more, and from when on that is believed: a better reason
	// may come until then.
	loss struct {
		wire.Message
		node   bellows.NodeID
		reason string
		due    int64 // milliseconds
	}
)

// How long a broken connection waits for a better reason: that the process died, or, where two other nodes
// have lost each other, that one of them is lost to node 0 too.
const (
	brokenMillis  = 1000
	severedMillis = 3000
)

// tell puts a word of the shell into the controller's queue.
func (l *lead) tell(m wire.Message) { l.bus.send(controllerAddress, controllerAddress, m) }

// disconnected is told by the mesh that a node's connection has ended.
func (l *lead) disconnected(n bellows.NodeID, err error) {
	l.tell(loss{node: n, reason: fmt.Sprintf("node %d is gone: %v", n, err), due: l.millis() + brokenMillis})
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
	if len(rest) > 0 && l.started { // before, there are signs of life only
		l.controller.Step(rest, &l.fx)
	}
	if !l.started && len(l.ready) == len(l.cluster.Members) {
		l.started = true
		l.controller.Start(&l.fx)
	}
	l.account()
	for _, e := range l.fx.Epochs {
		if l.opt.OnEpoch != nil {
			l.opt.OnEpoch(e, Spent{l.trainedFor(), l.computed()})
		}
	}
	for _, sentence := range l.fx.Notices {
		l.notice(sentence)
	}
	if l.fx.Outcome != nil {
		l.outcome <- l.fx.Outcome
	}
	out.Envelopes = append(out.Envelopes, l.fx.Envelopes...)
	l.fx.Reset()
}

// take handles what is for the shell itself.
func (l *lead) take(e wire.Envelope) bool {
	switch m := e.Message.(type) {
	case *wire.Ready:
		l.ready[e.From.Node] = true
	case *wire.Notice:
		l.notice(m.Sentence)
	case *wire.Severed:
		l.losses = append(l.losses, loss{node: m.Node, reason: m.Reason, due: l.millis() + severedMillis})
	case *wire.Slab:
		l.gathering.take(m)
	case *wire.Collected:
		l.gathering.end(m)
	case loss:
		l.losses = append(l.losses, m)
		l.believe()
	case tick:
		l.controller.Tick(l.millis(), &l.fx)
		l.believe()
		l.awaitReady()
	default:
		return false
	}
	return true
}

// believe acts on the losses that are due: they end the job, or the gathering of its state.
func (l *lead) believe() {
	now := l.millis()
	l.losses = slices.DeleteFunc(l.losses, func(o loss) bool {
		if o.due > now {
			return false
		}
		l.started = true // a job that has ended does not start
		l.controller.Lost(o.node, o.reason, &l.fx)
		l.gathering.fail(o.reason)
		return true
	})
}

// awaitReady names the nodes that keep the job from starting.
func (l *lead) awaitReady() {
	now := l.millis()
	if l.started || now < l.named+noticeMillis {
		return
	}
	l.named = now
	var late []string
	for _, m := range l.cluster.Members {
		if !l.ready[m.Node] {
			late = append(late, fmt.Sprintf("node %d", m.Node))
		}
	}
	l.notice(fmt.Sprintf("the job waits for %s to be ready since %.1f s", strings.Join(late, ", "), float64(now)/1000))
}

// noticeMillis is how long the start may be waited for before it is named, and named again.
const noticeMillis = 2000

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

func (l *lead) computed() time.Duration {
	if l.runner == nil {
		return 0
	}
	return l.runner.Computed()
}

// run drives the job to its end.
func (l *lead) run(ctx context.Context) (*Result, error) {
	l.bus.send(clientAddress(0), controllerAddress, &wire.Ready{})
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
			l.tell(loss{node: d.Node, reason: d.Reason})
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
