package elastic

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/node"
	"bellows/policy/advise"
	"bellows/policy/gauge"
	"bellows/policy/reshape"
	"bellows/policy/shape"
)

// Measured is a job that measures itself. node.Commands are one.
type Measured interface {
	// AwaitClocks returns when so many more clocks were completed in one shape, without those with a move or a cut.
	AwaitClocks(ctx context.Context, clocks int) error
	Moment(ctx context.Context) (advise.Moment, error)
}

// Advice is how a Shaper chooses the shape of its job.
type Advice struct {
	advise.Advisor
	Acts bool // else it only reports what it would do
}

// advisor asks for advice again and again, on one goroutine, while its job runs.
//
// Invariants:
//   - It asks only if nothing is wanted of the Shaper, so that it supersedes nothing that a person has asked for.
//   - What it remembers is reported before a change that rests on it begins, so that the run's log has it
//     (TestFollowerTriesNoShapeAgain). So are the bounds of a command that has scaled the job (TestScaleIsRemembered).
//   - While a command scales the job, nothing is decided, and what was decided before does not begin
//     (TestScaleStopsWhatWasDecided).
//
// Locks: mu guards the advice, and is not held while anything is awaited. It is locked before that of the Shaper.
type advisor struct {
	*Shaper
	job    Measured
	acts   bool
	scales atomic.Int64 // commands that have begun to scale the job
	noted  atomic.Int64 // those of them that have ended

	mu     sync.Mutex
	advice advise.Advisor
	said   map[string]bool // what was reported, by the shapes
}

// Advise makes the Shaper choose the shape of the job by what that measures, until Close. It is called at most once.
func (s *Shaper) Advise(job Measured, a Advice) {
	d := &advisor{Shaper: s, job: job, acts: a.Acts, advice: a.Advisor, said: map[string]bool{}}
	s.mu.Lock()
	s.advisor = d
	s.mu.Unlock()
	s.ops.Go(func() {
		if d.begin() {
			for d.look() {
			}
		}
	})
}

// begin makes the job begin in the shape that is demanded, when it can change. It returns false if it never can.
func (d *advisor) begin() bool {
	for {
		_, err := d.job.Moment(d.ctx)
		if bellows.KindOf(err) == bellows.Config {
			d.remark("the shape of the job cannot be chosen: " + err.Error())
			return false
		}
		if _, err = d.Shaper.job.Layout(d.ctx); err == nil {
			break
		}
		if bellows.KindOf(err) != bellows.Unavailable || !d.rest() {
			return false
		}
	}
	scales := d.scales.Load()
	d.mu.Lock()
	p, demanded := d.advice.Begin()
	d.mu.Unlock()
	if !demanded {
		return true
	}
	if _, err := d.take(p, scales); err != nil && d.ctx.Err() == nil {
		d.remark("the shape of the job stays: " + err.Error())
	}
	return d.ctx.Err() == nil
}

// rest waits for a while. It returns false if the Shaper is closed.
func (d *advisor) rest() bool {
	timer := time.NewTimer(joinEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.ctx.Done():
		return false
	}
}

// joinEvery is how often the advisor looks whether the job has begun to join.
const joinEvery = 250 * time.Millisecond

// look waits for some clocks, and does what is advised then. It returns false if it is not to look again.
func (d *advisor) look() bool {
	err := d.job.AwaitClocks(d.ctx, gauge.ClocksLeast)
	if err == nil {
		var m advise.Moment
		ctx, cancel := context.WithTimeout(d.ctx, answerWithin)
		m, err = d.job.Moment(ctx)
		cancel()
		if err == nil {
			d.follow(&m)
			return d.ctx.Err() == nil
		}
		if bellows.KindOf(err) == bellows.Unavailable { // too few clocks count
			return d.ctx.Err() == nil
		}
	}
	return false // the job is over
}

// follow carries out the advice about a moment.
func (d *advisor) follow(m *advise.Moment) {
	if d.wanted() || m.Clocks < gauge.ClocksLeast {
		return
	}
	scales := d.scales.Load()
	d.mu.Lock()
	if d.noted.Load() != scales {
		d.mu.Unlock()
		return
	}
	ask := d.advice.Step
	if !d.acts {
		ask = d.advice.Preview
	}
	a, err := ask(m)
	if err != nil {
		d.say(node.Change{Sentence: "the shape stays: " + err.Error()}, "", err.Error())
		return
	}
	state := d.advice.State.Clone()
	switch {
	case !d.acts && a.Change:
		d.say(node.Change{Sentence: "nothing is done, but " + a.Sentence()}, "", a.Now+a.To)
	case !d.acts:
		d.say(node.Change{Sentence: "the shape would stay: " + a.Reason}, "", a.Now)
	case a.Change:
		d.say(node.Change{Sentence: a.Sentence(), Advice: &state}, a.Judged, "")
		d.change(m, &a, scales)
	default:
		d.say(node.Change{Sentence: "the shape stays: " + a.Reason, Advice: &state}, a.Judged, a.Now)
	}
}

// say reports a decision, unless one with its key was reported, and releases the lock. It always reports a judgement,
// and what has no key. So the log has the newest memory last.
func (d *advisor) say(c node.Change, judged, key string) {
	again := key != "" && d.said[key] && judged == ""
	d.said[key] = true
	if !again {
		c.Kind = node.Planned
		d.leave(c)
	}
	d.mu.Unlock()
	d.notify()
}

// wanted reports whether something is wanted of the Shaper.
func (s *Shaper) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wanted := s.machine.Progress()
	return wanted
}

// change makes the change that is advised, unless something is wanted by now, or was when so many commands had scaled
// the job.
func (d *advisor) change(m *advise.Moment, a *advise.Advice, scales int64) {
	begun, err := d.take(a.Policy(m.Figures), scales)
	switch kind := bellows.KindOf(err); {
	case !begun || err != nil && kind == bellows.Config:
		d.mu.Lock()
		d.advice.State.Withdraw(a.To)
		d.mu.Unlock()
	case err != nil && d.ctx.Err() == nil && kind != bellows.Interrupted:
		d.remark("the shape that is faster was not reached: " + err.Error())
	}
}

// take makes the job take the shape that a policy decides, unless something is wanted of the Shaper or another command
// has begun to scale the job: then it returns false.
func (d *advisor) take(p shape.Policy, scales int64) (begun bool, err error) {
	got := d.asks(d.ctx, "change the shape", func(m *reshape.Machine, fx *reshape.Effects) []reshape.AskID {
		if _, wanted := m.Progress(); wanted || d.scales.Load() != scales {
			return nil
		}
		begun = true
		return []reshape.AskID{m.Ask(reshape.Ask{Shape: p}, fx)}
	}, 1)[0]
	return begun, got.err
}

// scaled notes and reports the bounds of a command that has scaled the job.
func (d *advisor) scaled(workers, servers int, before *node.Layout) {
	nodes := func(list []bellows.NodeID) int {
		some := map[bellows.NodeID]bool{}
		for _, n := range list {
			some[n] = true
		}
		return len(some)
	}
	var holders []bellows.NodeID
	for _, h := range before.Partitions {
		holders = append(holders, h.Node)
	}
	d.mu.Lock()
	d.advice.State.Scaled(workers, servers, nodes(before.Splits), nodes(holders))
	state := d.advice.State.Clone()
	d.say(node.Change{Sentence: "no advice undoes the numbers of nodes that were asked for", Advice: &state}, "", "")
}
