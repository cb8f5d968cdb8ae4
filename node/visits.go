package node

import (
	"math"

	"bellows"
	"bellows/core/visits"
)

// visitsMost is how many passagees wait for the end of their epoch: some 30 KiB of a log.
const visitsMost = 1 << 10

// gather records what the step has numbered, and reports it when an epoch, a cut or the job has ended, or much has
// accumulated. Epochs and cuts are reported in their place in between.
func (l *lead) gather() {
	if l.visits == nil {
		l.visits = visits.NewGatherer(l.job.Splits)
		if f := l.opt.Follow; f != nil {
			l.visits.StartAfter(f.Counted)
		}
	}
	cut, epochs := l.shell.CutAt(), l.fx.Epochs
	stops := cut > l.saving.told
	before := func(n bellows.CommitNumber) {
		for {
			switch {
			case stops && cut < n && (len(epochs) == 0 || cut < epochs[0].Commit):
				l.tellStop(cut)
				stops = false
			case len(epochs) > 0 && epochs[0].Commit < n:
				l.tellVisits()
				l.reportEpoch(epochs[0])
				epochs = epochs[1:]
			default:
				return
			}
		}
	}
	for _, v := range l.fx.Visits {
		before(v.Commit)
		if l.opt.OnVisits != nil {
			l.visits.Add(v)
		}
	}
	before(math.MaxUint64)
	if l.fx.Outcome != nil || l.visits.Len() >= visitsMost {
		l.tellVisits()
	}
}

// tellVisits tells what has come together, if anything has.
func (l *lead) tellVisits() {
	if b, some := l.visits.Take(); some && l.opt.OnVisits != nil {
		l.reporter.say(func() { l.opt.OnVisits(b) })
	}
}

// tellStop reports what counts up to a cut from which the job may resume.
func (l *lead) tellStop(at bellows.CommitNumber) {
	l.saving.told = at
	b, some := l.visits.Take()
	if !some {
		b.First, b.Last = at, at
	}
	b.Stop = true
	if l.opt.OnVisits == nil {
		return
	}
	l.reporter.say(func() { l.opt.OnVisits(b) })
}
