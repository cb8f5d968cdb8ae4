package lab

import (
	"time"

	"bellows/wire"
)

// Phases is what compute slots did, summed over slots: slot-time, not time.
type Phases struct {
	Compute    time.Duration `json:"compute"`     // ran a task that computes
	PullWait   time.Duration `json:"pull_wait"`   // a task waited for rows or a lease
	PushWait   time.Duration `json:"push_wait"`   // no task, and lanes did not hold all parts of what was pushed
	CommitWait time.Duration `json:"commit_wait"` // no task, and what was pushed was not visible everywhere
	Idle       time.Duration `json:"idle"`        // nothing of all this: no task was dispatched
}

func (p *Phases) add(o Phases) {
	p.Compute += o.Compute
	p.PullWait += o.PullWait
	p.PushWait += o.PushWait
	p.CommitWait += o.CommitWait
	p.Idle += o.Idle
}

func (p Phases) minus(o Phases) Phases {
	return Phases{p.Compute - o.Compute, p.PullWait - o.PullWait, p.PushWait - o.PushWait, p.CommitWait - o.CommitWait, p.Idle - o.Idle}
}

// Total is all slot-time.
func (p Phases) Total() time.Duration {
	return p.Compute + p.PullWait + p.PushWait + p.CommitWait + p.Idle
}

// account is what the slots of a node do, and have done.
type account struct {
	w     *world
	slots int
	past  Phases
	since int64 // the counts below hold since then
	counts

	computing, waiting int // tasks
	unheld, invisible  int // pushes without an answer, and those not committed to the end
}

// counts is how many slots are in each phase.
type counts struct{ compute, pull, push, commit, idle int }

// says looks at a message that the node's client sends, hears at one that it gets.
func (a *account) says(e wire.Envelope) {
	if m, ok := e.Message.(*wire.Push); ok {
		a.invisible++
		if m.Done == nil { // else the only lane will not say that it holds it
			a.unheld++
		}
	}
}

func (a *account) hears(m wire.Message) {
	switch m := m.(type) {
	case *wire.Held:
		a.unheld--
	case *wire.Full: // it will be pushed again
		a.unheld--
		a.invisible--
	case *wire.Committed:
		for _, c := range m.List {
			if !c.Waiting {
				a.invisible--
			}
		}
	}
}

// pass books the time up to now.
func (a *account) pass() {
	now := a.w.agenda.Now()
	d := time.Duration(now - a.since)
	a.since = now
	a.past.add(Phases{d * time.Duration(a.compute), d * time.Duration(a.pull), d * time.Duration(a.push),
		d * time.Duration(a.commit), d * time.Duration(a.idle)})
}

// look books the time up to now and sees what the slots do from now on.
func (a *account) look() {
	a.pass()
	rest := a.slots - a.computing
	a.counts = counts{compute: a.computing, pull: min(rest, a.waiting)}
	switch rest -= a.pull; {
	case a.unheld > 0:
		a.push = rest
	case a.invisible > 0:
		a.commit = rest
	default:
		a.idle = rest
	}
}
