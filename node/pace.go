package node

import (
	"time"

	"bellows/core/server"
	"bellows/link/fabric"
	"bellows/link/wire"
)

// A copy of a partition that nobody hurries stands back behind the job's work: what it takes of processors and links, the job's clocks would wait for. What is under way of
// it at once is a window (server.Limits); when all of that has been taken, it rests for some times as long as that took. So it takes the same small part of a machine that is slow, of
// one that is busy and of a link that is narrow, without a rate that somebody would have to choose.
//
// The rest is here and not in the lane, which knows no time but that of ticks: the word that a window was taken is given to the lane later, which is what a slow link would do.
//
// Turned down: pauses between single pieces, which leave several of them under way at once; a share of what training sends, since a job that computes and
// sends little is kept from its processors all the same.
const (
	restTimes = 30
	restMost  = 250 * time.Millisecond // a machine that is as slow as that is not made faster by waiting
)

// pace is of a lane that copies. Only the lane's step touches it.
type pace struct {
	lane interface { // server.Lane
		CopyOf(from wire.Address, m *wire.Taken) server.CopyState
	}
	later func(rest time.Duration, e wire.Envelope)
	since map[uint64]time.Time // by copy: when the lane heard last of it, and sent what followed
	held  map[*wire.Taken]bool // words that come again, and are due then
}

func newPace(l *server.Lane, b *fabric.Bus) *pace {
	return &pace{lane: l, later: b.After, since: map[uint64]time.Time{}, held: map[*wire.Taken]bool{}}
}

// due is what of a batch is for the lane now. The rest comes again, or is said again by a later word.
func (p *pace) due(batch []wire.Envelope) []wire.Envelope {
	now := batch[:0]
	for _, e := range batch {
		if m, ok := e.Message.(*wire.Taken); !ok || !p.waits(e, m) {
			now = append(now, e)
		}
	}
	return now
}

// waits reports whether a word is not for the lane now.
func (p *pace) waits(e wire.Envelope, m *wire.Taken) bool {
	state := p.lane.CopyOf(e.From, m)
	switch {
	case p.held[m]:
		delete(p.held, m)
	case state == server.CopyUnderWay:
		return true
	case state == server.CopyRests:
		p.held[m] = true
		p.later(min(restTimes*time.Since(p.since[m.Copy]), restMost), e)
		return true
	}
	if state == server.CopyHurries {
		delete(p.since, m.Copy)
	} else {
		p.since[m.Copy] = time.Now()
	}
	return false
}
