package train

import (
	"sync"
	"time"

	"bellows/core/client"
	"bellows/core/tally"
	"bellows/link/wire"
)

// phases measures how the runner's compute slots spend their time. It has a separate lock, because tasks begin and end
// computing without the client's lock (docs/decisions/0021).
type phases struct {
	mu    sync.Mutex // guards meter
	meter tally.Meter
	base  time.Time   // what the meter's times are counted from: a difference is read faster than a date
	waits tally.Waits // as the meter knows them; under the runner's lock
}

// compute adds to the number of computing tasks; a negative number subtracts.
func (p *phases) compute(more int) {
	p.mu.Lock()
	p.meter.Compute(time.Since(p.base), more)
	p.mu.Unlock()
}

// follow updates the meter's waits from the client, if they have changed. The caller holds the runner's lock.
func (p *phases) follow(c *client.Client, ended bool) {
	w := c.Waits()
	if w == p.waits && !ended {
		return
	}
	p.waits = w
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ended:
		p.meter.End(time.Since(p.base))
	case p.meter.Busy(): // most changes are such, and would need a reading of the clock each
		p.meter.Wait(0, w)
	default:
		p.meter.Wait(time.Since(p.base), w)
	}
}

// spent returns how the slots have spent their time so far.
func (p *phases) spent() tally.Spent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.meter.Spent(time.Since(p.base))
}

// Waits returns what the runner's node waits for.
func (r *Runner) Waits() tally.Waits {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client.Waits()
}

// Spent returns how the runner's slots have spent their time since the first task.
func (r *Runner) Spent() tally.Spent { return r.phases.spent() }

// Count writes the runner's measurements: the time of its slots, the staleness of its reads, and the items that it has
// visited.
func (r *Runner) Count(to *tally.Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(to)
}

// count writes them under the runner's lock.
func (r *Runner) count(to *tally.Tally) {
	to.Spent = r.phases.spent()
	to.Staleness = r.client.Counts().Staleness
	to.Work.Items = r.items
}

// reportEvery is the minimum interval between reports.
const reportEvery = 50 * time.Millisecond

// Report makes the runner send reports from one address to another. A report precedes the results of a clock, unless
// one was sent recently, and precedes the runner's last message. fill adds values that the runner does not know. Report
// is called before the first task.
func (r *Runner) Report(from, to wire.Address, fill func(*wire.Report)) {
	r.fill, r.route = fill, wire.Envelope{From: from, To: to}
}

// report adds a due report to the effects of a step, before the message with results, so that node 0 knows the costs of
// a clock when it receives the clock. The caller holds the runner's lock.
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
