package migration

import (
	"time"

	"bellows/link/wire"
)

// A copy of a partition that is not urgent yields to the job's work, because the job's clocks would wait for the
// processors and links that it uses. The part of it in progress at once is a window (server.Limits). When all of a
// window has been taken, the copy rests for restTimes the time that took, and at most for RestMost. So it takes the
// same small part of a slow machine, of a busy one and of a narrow link, without a rate to choose.
//
// Rejected: pauses between single pieces, which leave several of them in progress at once; and a share of what training
// sends, because a job that computes and sends little would still lose its processors.
const (
	restTimes = 30
	// RestMost bounds a rest: a machine that is as slow as that is not made faster by waiting.
	RestMost = 250 * time.Millisecond
)

// A Pace decides when a lane gets the reports about the copies that it sends. The shell of the lane asks it about each
// report and carries out the rests; the lane itself knows no time except ticks, and sees a slow link. The zero Pace is
// ready for one lane.
type Pace struct {
	since map[uint64]time.Duration // by copy: when the lane last got a report, and sent what followed
	held  map[*wire.Taken]bool     // reports that rest, and are due when they are given again
}

// Delivery is what becomes of a report.
type Delivery uint8

const (
	// Deliver: the lane gets it now.
	Deliver Delivery = iota
	// Drop: a later report will say all that it does.
	Drop
	// Rest: it is to be given to Take again after a rest.
	Rest
)

// Take decides on a report. state is that of its copy, and now the time from any fixed moment on.
func (p *Pace) Take(m *wire.Taken, state CopyState, now time.Duration) (what Delivery, rest time.Duration) {
	switch {
	case p.held[m]:
		delete(p.held, m)
	case state == CopyUnderWay:
		return Drop, 0
	case state == CopyRests:
		if p.held == nil {
			p.held = map[*wire.Taken]bool{}
		}
		p.held[m] = true
		return Rest, min(restTimes*(now-p.since[m.Copy]), RestMost)
	}
	if state == CopyHurries {
		delete(p.since, m.Copy)
		return Deliver, 0
	}
	if p.since == nil {
		p.since = map[uint64]time.Duration{}
	}
	p.since[m.Copy] = now
	return Deliver, 0
}
