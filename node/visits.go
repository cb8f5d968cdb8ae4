package node

import "bellows/core/visits"

// visitsMost is how many passagees wait for the end of their epoch: some 30 KiB of a log.
const visitsMost = 1 << 10

// gather puts down what the step has numbered, and tells it where an epoch or the job has ended, or much has come together.
func (l *lead) gather() {
	if l.opt.OnVisits == nil {
		return
	}
	if l.visits == nil {
		l.visits = visits.NewGatherer(l.job.Splits)
	}
	for _, v := range l.fx.Visits {
		l.visits.Add(v)
	}
	if len(l.fx.Epochs) == 0 && l.fx.Outcome == nil && l.visits.Len() < visitsMost {
		return
	}
	if b, some := l.visits.Take(); some {
		l.reporter.say(func() { l.opt.OnVisits(b) })
	}
}
