package train

import (
	"sync"
	"time"

	"bellows/core/client"
	"bellows/core/tally"
	"bellows/link/wire"
)

// phases measures what becomes of the time of a runner's compute slots. It has a lock of its own,
// since tasks begin and end to compute without the client's (docs/decisions/0021).
type phases struct {
	mu    sync.Mutex // guards meter
	meter tally.Meter
	base  time.Time   // what the meter's times are counted from: a difference is read faster than a date
	waits tally.Waits // as the meter knows them; under the runner's lock
}

// compute says that so many tasks more run, or with a negative number stop.
func (p *phases) compute(more int) {
	p.mu.Lock()
	p.meter.Compute(time.Since(p.base), more)
	p.mu.Unlock()
}

// follow tells the meter what the client waits for, if that has changed. The caller holds the
// runner's lock.
func (p *phases) follow(c *client.Client, ended bool) {
	w := c.Waits()
	if w == p.waits && !ended {
		return
	}
	p.waits = w
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended {
		p.meter.End(time.Since(p.base))
		return
	}
	p.meter.Wait(time.Since(p.base), w)
}

// spent is what became of the slots' time until now.
func (p *phases) spent() tally.Spent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.meter.Spent(time.Since(p.base))
}

// Waits is what the runner's node waits for.
func (r *Runner) Waits() tally.Waits {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client.Waits()
}

// Spent is what became of the time of the runner's slots since its first task.
func (r *Runner) Spent() tally.Spent { return r.phases.spent() }

// Count writes what the runner has measured: the time of its slots, and how stale its reads were.
func (r *Runner) Count(to *tally.Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(to)
}

// count is Count under the runner's lock.
func (r *Runner) count(to *tally.Tally) {
	to.Spent = r.phases.spent()
	to.Staleness = r.client.Counts().Staleness
}

// reportEvery is how long a report stays good enough.
const reportEvery = 50 * time.Millisecond

// Report makes the runner send a report, between these two, ahead of the results of a clock, unless
// it has just sent one, and ahead of its last word. fill adds what the runner does not know. It is
// called before the first task.
func (r *Runner) Report(from, to wire.Address, fill func(*wire.Report)) {
	r.fill, r.route = fill, wire.Envelope{From: from, To: to}
}

// report adds a report to what a step sends, where it is due, ahead of the message that brings
// results: node 0 then knows of the clock's costs when it hears of the clock. The caller holds the
// runner's lock.
func (r *Runner) report(fx *client.Effects) {
	if r.fill == nil {
		return
	}
	for i, e := range fx.Envelopes {
		_, last := e.Message.(*wire.Closed)
		_, results := e.Message.(*wire.Done)
		if push, ok := e.Message.(*wire.Push); ok {
			results = push.Done != nil
		}
		if !last && !results {
			continue
		}
		now := time.Now()
		if !last && now.Sub(r.reported) < reportEvery {
			return
		}
		r.reported = now
		m := &wire.Report{}
		r.count(&m.Tally)
		r.fill(m)
		fx.Send(r.route.From, r.route.To, m)
		told := fx.Envelopes[len(fx.Envelopes)-1]
		copy(fx.Envelopes[i+1:], fx.Envelopes[i:])
		fx.Envelopes[i] = told
		return
	}
}
