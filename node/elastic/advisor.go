package elastic

import (
	"context"
	"sync"
	"time"

	"bellows"
	"bellows/node"
	"bellows/policy/advise"
	"bellows/policy/gauge"
	"bellows/policy/reshape"
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
//     (TestFollowerTriesNoShapeAgain).
//
// Locks: mu guards the advice, and is not held while anything is awaited.
type advisor struct {
	*Shaper
	job  Measured
	acts bool

	mu     sync.Mutex
	advice advise.Advisor
	said   string // what was reported last
}

// Advise makes the Shaper choose the shape of the job by what that measures, until Close. It is called at most once.
func (s *Shaper) Advise(job Measured, a Advice) {
	d := &advisor{Shaper: s, job: job, acts: a.Acts, advice: a.Advisor}
	s.mu.Lock()
	s.advisor = d
	s.mu.Unlock()
	s.ops.Go(func() {
		for d.look() {
		}
	})
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
	switch bellows.KindOf(err) {
	case bellows.Unavailable: // the job's nodes have not begun to join
		select {
		case <-time.After(joinEvery):
			return true
		case <-d.ctx.Done():
		}
	case bellows.Config:
		d.remark("the shape of the job cannot be chosen: " + err.Error())
	}
	return false
}

// follow does what is advised.
func (d *advisor) follow(m *advise.Moment) {
	if d.wanted() {
		return
	}
	d.mu.Lock()
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
		d.change(m, &a)
	default:
		d.say(node.Change{Sentence: "the shape stays: " + a.Reason, Advice: &state}, a.Judged, a.Now)
	}
}

// say reports a decision, unless it is what was said last, and releases the lock. What was judged is always reported.
func (d *advisor) say(c node.Change, judged, key string) {
	same := key != "" && key == d.said && judged == ""
	d.said = key
	d.mu.Unlock()
	if !same {
		c.Kind = node.Planned
		d.report(c)
	}
}

// wanted reports whether something is wanted of the Shaper.
func (s *Shaper) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wanted := s.machine.Progress()
	return wanted
}

// change makes the change that is advised, unless something is wanted by now.
func (d *advisor) change(m *advise.Moment, a *advise.Advice) {
	policy, wanted := a.Policy(m.Figures), false
	got := d.asks(d.ctx, "change the shape", func(m *reshape.Machine, fx *reshape.Effects) []reshape.AskID {
		if _, wanted = m.Progress(); wanted {
			return nil
		}
		return []reshape.AskID{m.Ask(reshape.Ask{Shape: policy}, fx)}
	}, 1)[0]
	switch kind := bellows.KindOf(got.err); {
	case wanted || got.err != nil && kind == bellows.Config: // nothing was begun
		d.mu.Lock()
		d.advice.State.Withdraw(a.To)
		d.mu.Unlock()
	case got.err != nil && d.ctx.Err() == nil && kind != bellows.Interrupted:
		d.remark("the shape that is faster was not reached: " + got.err.Error())
	}
}

// scaled notes the bounds of a person who has scaled the job.
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
	defer d.mu.Unlock()
	d.advice.State.Scaled(workers, servers, nodes(before.Splits), nodes(holders))
}
