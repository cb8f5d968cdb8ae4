// Package node assembles the roles of a job and runs them: here, all of them in one process, joined
// by queues instead of sockets.
//
// Train runs a job to its end. Cancelling the context winds the job down to a point from which
// Options.Resume continues it; nothing is lost. Every actor is the same state machine that the
// simulation runs; this package adds the locks, the goroutines and the clock, and decides nothing.
package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/client"
	"bellows/coord"
	"bellows/route"
	"bellows/server"
	"bellows/store"
	"bellows/train"
	"bellows/wire"
)

// Options are the choices of a run that do not change its result.
type Options struct {
	Slots   int                           // compute slots; 0: 1
	Lanes   int                           // server lanes; 0: one per slot
	OnEpoch func(e train.Epoch, so Spent) // called in order, from any goroutine
	Notice  func(sentence string)         // long waits, by name; nil: not told
	Resume  *train.Image                  // continue from here instead of the beginning
}

// Spent is the time that a job has taken so far.
type Spent struct {
	Trained  time.Duration // while a task that visits items was out
	Computed time.Duration // in which such tasks ran, over all slots: less than Slots x Trained by the waits
}

// Result is what a job leaves.
type Result struct {
	Tables  [][]float32  // per table: rows x width, as kept or as they ended
	Image   *train.Image // set if the job was interrupted: how to go on
	Audit   Audit
	Commits bellows.CommitNumber
	Trained time.Duration // while a task that visits items was out
	Total   time.Duration
}

// Audit compares what clients sent with what lanes applied, in row deltas after aggregation.
type Audit struct {
	Sent, Applied, Dropped int64
	Staleness              []int64 // reads by the clocks that they missed, the last bin being that and more
}

// tickEvery is how often actors are told the time.
const tickEvery = 250 * time.Millisecond

// Train runs a job in this process and returns when it has finished, failed, or was interrupted.
func Train(ctx context.Context, job train.Job, opt Options) (*Result, error) {
	p, err := assemble(&job, opt)
	if err != nil {
		return nil, err
	}
	return p.run(ctx)
}

// process is one job's roles in one process.
type process struct {
	job        *train.Job
	opt        Options
	bus        *bus
	route      *route.Route
	lanes      []*server.Lane
	runner     *train.Runner
	controller *coord.Controller
	fx         coord.Effects
	outcome    chan *coord.Outcome
	interrupt  atomic.Bool

	began   time.Time
	busy    time.Time     // when training last began; zero while no training task is out
	trained time.Duration // before busy
}

var (
	controllerAddress = wire.Address{Role: wire.Controller}
	clientAddress     = wire.Address{Role: wire.Client}
)

func laneAddress(i int) wire.Address { return wire.Address{Role: wire.Lane, Index: uint16(i)} }

func validate(job *train.Job) error {
	if job.Splits < 1 || job.Splits > 1<<20 {
		return bellows.Errorf(bellows.Config, "start job", "", "%d splits; must be 1 to 2^20", job.Splits)
	}
	if job.Driver == nil || job.NewExecutor == nil || job.Items == nil {
		return bellows.Errorf(bellows.Config, "start job", "", "a job needs Items, a Driver and NewExecutor")
	}
	for i := range job.Tables {
		if err := job.Tables[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

func assemble(job *train.Job, opt Options) (*process, error) {
	if err := validate(job); err != nil {
		return nil, err
	}
	opt.Slots = max(1, opt.Slots)
	if opt.Lanes == 0 {
		opt.Lanes = opt.Slots
	}
	p := &process{job: job, opt: opt, bus: newBus(), outcome: make(chan *coord.Outcome, 1)}
	var lanes []wire.Address
	for i := range opt.Lanes {
		lanes = append(lanes, laneAddress(i))
	}
	p.route = route.Spread(job.Tables, job.Splits, lanes, []bellows.NodeID{0})
	for _, a := range lanes {
		l, err := server.NewLane(server.Config{Self: a, Controller: controllerAddress, Clients: []wire.Address{clientAddress},
			Tables: job.Tables, Route: p.route, Items: job.Items})
		if err != nil {
			return nil, err
		}
		p.lanes = append(p.lanes, l)
		p.bus.add(a, l.Step)
	}
	p.controller = coord.New(coord.Config{Self: controllerAddress, Lanes: lanes, Clients: []wire.Address{clientAddress},
		Route: p.route, Items: job.Items, Driver: job.Driver})
	p.bus.add(controllerAddress, p.stepController)
	if err := p.addRunner(); err != nil {
		return nil, err
	}
	if opt.Resume != nil {
		return p, p.resume(opt.Resume)
	}
	return p, nil
}

func (p *process) addRunner() error {
	c := client.New(client.Config{Self: clientAddress, Controller: controllerAddress, Tables: p.job.Tables, Route: p.route})
	active := make([]bellows.SplitID, p.job.Splits)
	for s := range active {
		active[s] = bellows.SplitID(s)
	}
	notice := p.opt.Notice
	if notice == nil {
		notice = func(string) {}
	}
	r, err := train.NewRunner(c, p.job, active, p.opt.Slots, p.bus, notice)
	p.runner = r
	p.bus.add(clientAddress, func(batch []wire.Envelope, _ *wire.Outbox) { r.Step(batch) })
	return err
}

func (p *process) resume(im *train.Image) error {
	if len(im.Tables) != len(p.job.Tables) {
		return bellows.Errorf(bellows.BadData, "resume", "", "the saved run has %d tables, this one %d", len(im.Tables), len(p.job.Tables))
	}
	if err := p.each(func(t, i int, ref bellows.PartitionRef) error {
		if i >= len(im.Tables[t]) {
			return bellows.Errorf(bellows.BadData, "resume", p.job.Tables[t].Name, "the saved table has %d partitions, this one more", len(im.Tables[t]))
		}
		if im.Kept != nil && i < len(im.Kept[t]) {
			p.lane(ref).LoadKept(ref, &im.Kept[t][i])
		}
		return p.lane(ref).Load(ref, &im.Tables[t][i])
	}); err != nil {
		return err
	}
	for _, l := range p.lanes {
		if err := l.Resume(im.State.Complete); err != nil {
			return err
		}
	}
	return p.controller.Resume(im.State)
}

// each calls f for every partition of every table, in order, until it fails.
func (p *process) each(f func(t, i int, ref bellows.PartitionRef) error) error {
	for t := range p.job.Tables {
		for i := range p.route.Cut(bellows.TableID(t)).Len() {
			if err := f(t, i, bellows.PartitionRef{Table: bellows.TableID(t), Partition: bellows.PartitionID(i)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *process) lane(ref bellows.PartitionRef) *server.Lane {
	return p.lanes[p.route.Owner(ref).Lane.Index]
}

// stepController runs the controller and carries out its effects. It is an actor's step: never two at
// a time.
func (p *process) stepController(batch []wire.Envelope, out *wire.Outbox) {
	if p.interrupt.Load() {
		p.controller.Interrupt(&p.fx)
	}
	if batch[0].Message == nil { // the first message of all: begin
		p.controller.Start(&p.fx)
		batch = batch[1:]
	}
	p.controller.Step(batch, &p.fx)
	p.account()
	for _, e := range p.fx.Epochs {
		if p.opt.OnEpoch != nil {
			p.opt.OnEpoch(e, Spent{p.trainedFor(), p.runner.Computed()})
		}
	}
	if p.fx.Outcome != nil {
		p.outcome <- p.fx.Outcome
	}
	out.Envelopes = append(out.Envelopes, p.fx.Envelopes...)
	p.fx.Reset()
}

// account stops and starts the clock of training.
func (p *process) account() {
	switch training := p.controller.Training(); {
	case training && p.busy.IsZero():
		p.busy = time.Now()
	case !training && !p.busy.IsZero():
		p.trained += time.Since(p.busy)
		p.busy = time.Time{}
	}
}

func (p *process) trainedFor() time.Duration {
	if p.busy.IsZero() {
		return p.trained
	}
	return p.trained + time.Since(p.busy)
}

func (p *process) run(ctx context.Context) (*Result, error) {
	p.began = time.Now()
	var begin wire.Outbox
	begin.Send(controllerAddress, controllerAddress, nil)
	p.bus.Enqueue(&begin)
	p.bus.Drain()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done := ctx.Done()
	for {
		select {
		case o := <-p.outcome:
			if err := p.runner.Close(); err != nil {
				return nil, err
			}
			return p.result(o)
		case <-done:
			p.interrupt.Store(true)
			done = nil
		case now := <-ticker.C:
			p.runner.Tick(now.Sub(p.began).Milliseconds())
		}
	}
}

// result collects what the lanes hold when the job is over.
func (p *process) result(o *coord.Outcome) (*Result, error) {
	r := &Result{Commits: o.Commits, Trained: p.trained, Total: time.Since(p.began),
		Audit: Audit{Sent: o.Counts.Sent, Applied: o.Counts.Applied, Dropped: o.Counts.Dropped, Staleness: o.Counts.Staleness[:]}}
	if o.Reason != "" && !o.Interrupted {
		cause := o.Err
		if cause == nil {
			cause = errors.New(o.Reason)
		} else {
			cause = fmt.Errorf("%s: %w", o.Reason, cause)
		}
		return r, &bellows.Error{Kind: kindOf(o.Err), Op: "train", Err: cause}
	}
	if o.Interrupted {
		im, err := p.image(o)
		if err != nil {
			return r, err
		}
		r.Image = im
	}
	r.Tables = make([][]float32, len(p.job.Tables))
	err := p.each(func(t, _ int, ref bellows.PartitionRef) error {
		im := p.lane(ref).Kept(ref)
		if im == nil {
			live, err := p.lane(ref).Partition(ref)
			if err != nil {
				return err
			}
			im = &live
		}
		r.Tables[t] = append(r.Tables[t], im.Values...)
		return nil
	})
	return r, err
}

func kindOf(err error) bellows.Kind {
	if err == nil {
		return bellows.Lost
	}
	return bellows.KindOf(err)
}

// image collects what a run that was interrupted needs to go on.
func (p *process) image(o *coord.Outcome) (*train.Image, error) {
	n := len(p.job.Tables)
	im := &train.Image{State: o.State, Tables: make([][]store.Image, n)}
	err := p.each(func(t, _ int, ref bellows.PartitionRef) error {
		part, err := p.lane(ref).Partition(ref)
		im.Tables[t] = append(im.Tables[t], part)
		if kept := p.lane(ref).Kept(ref); kept != nil {
			if im.Kept == nil {
				im.Kept = make([][]store.Image, n)
			}
			im.Kept[t] = append(im.Kept[t], *kept)
		}
		return err
	})
	return im, err
}
