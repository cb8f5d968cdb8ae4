package node

import (
	"time"

	"bellows/core/migration"
	"bellows/core/server"
	"bellows/link/fabric"
	"bellows/link/wire"
)

// A copy of a partition that is not urgent yields to the job's work, because the job's clocks would wait for the
// processors and links that it uses. The part of it in progress at once is a window (server.Limits). When all of a
// window has been taken, the copy rests for a multiple of the time that took. So it takes the same small part of a slow
// machine, of a busy one and of a narrow link, without a rate to choose.
//
// The rest is here and not in the lane, which knows no time except ticks: the lane gets the acknowledgement of a window
// later, as with a slow link.
//
// Rejected: pauses between single pieces, which leave several of them in progress at once; and a share of what training
// sends, because a job that computes and sends little would still lose its processors.
const (
	restTimes = 30
	restMost  = 250 * time.Millisecond // a machine that is as slow as that is not made faster by waiting
)

// pace is of a lane that copies. Only the lane's step touches it.
type pace struct {
	lane interface { // server.Lane
		CopyOf(from wire.Address, m *wire.Taken) migration.CopyState
	}
	later func(rest time.Duration, e wire.Envelope)
	since map[uint64]time.Time // by copy: when the lane heard last of it, and sent what followed
	held  map[*wire.Taken]bool // acknowledgements that come again, and are due then
}

func newPace(l *server.Lane, b *fabric.Bus) *pace {
	return &pace{lane: l, later: b.After, since: map[uint64]time.Time{}, held: map[*wire.Taken]bool{}}
}

// due returns the part of a batch that is for the lane now. The rest will be sent again, or is superseded by a later
// message.
func (p *pace) due(batch []wire.Envelope) []wire.Envelope {
	now := batch[:0]
	for _, e := range batch {
		if m, ok := e.Message.(*wire.Taken); !ok || !p.waits(e, m) {
			now = append(now, e)
		}
	}
	return now
}

// waits reports whether an acknowledgement is not for the lane yet.
func (p *pace) waits(e wire.Envelope, m *wire.Taken) bool {
	state := p.lane.CopyOf(e.From, m)
	switch {
	case p.held[m]:
		delete(p.held, m)
	case state == migration.CopyUnderWay:
		return true
	case state == migration.CopyRests:
		p.held[m] = true
		p.later(min(restTimes*time.Since(p.since[m.Copy]), restMost), e)
		return true
	}
	if state == migration.CopyHurries {
		delete(p.since, m.Copy)
	} else {
		p.since[m.Copy] = time.Now()
	}
	return false
}
