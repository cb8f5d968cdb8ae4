package node

import (
	"bellows"
	"bellows/core/visits"
)

// visitsMost is how many passagees wait for the end of their epoch: some 30 KiB of a log.
const visitsMost = 1 << 10

// gather puts down what the step has numbered, and tells it where an epoch or the job has ended, or much has come together.
func (l *lead) gather() {
	if l.opt.OnVisits == nil {
		return
	}
	if l.visits == nil {
		l.visits = visits.NewGatherer(l.job.Splits)
		if f := l.opt.Follow; f != nil {
			l.visits.Behind(f.Counted)
		}
	}
	at := l.shell.CutAt()
	stops := at > l.saving.told
	for _, v := range l.fx.Visits {
		if stops && v.Commit > at {
			l.tellStop(at)
			stops = false
		}
		l.visits.Add(v)
	}
	if stops {
		l.tellStop(at)
	}
	if len(l.fx.Epochs) == 0 && l.fx.Outcome == nil && l.visits.Len() < visitsMost {
		return
	}
	if b, some := l.visits.Take(); some {
		l.reporter.say(func() { l.opt.OnVisits(b) })
	}
}

// tellStop tells what counts up to a cut, from which the job may go on.
func (l *lead) tellStop(at bellows.CommitNumber) {
	l.saving.told = at
	b, some := l.visits.Take()
	if !some {
		b.First, b.Last = at, at
	}
	b.Stop = true
	l.reporter.say(func() { l.opt.OnVisits(b) })
}
