package node

import (
	"time"

	"bellows/core/migration"
	"bellows/core/server"
	"bellows/link/fabric"
	"bellows/link/wire"
)

// pace delivers reports about copies as a migration.Pace decides. It is of a lane that copies. Only the lane's step
// touches it.
type pace struct {
	migration.Pace
	lane interface { // server.Lane
		CopyOf(from wire.Address, m *wire.Taken) migration.CopyState
	}
	later func(rest time.Duration, e wire.Envelope)
	began time.Time
}

func newPace(l *server.Lane, b *fabric.Bus) *pace {
	return &pace{lane: l, later: b.After, began: time.Now()}
}

// due returns the part of a batch that is for the lane now. The rest will be sent again, or is superseded by a later
// message.
func (p *pace) due(batch []wire.Envelope) []wire.Envelope {
	now := batch[:0]
	for _, e := range batch {
		m, ok := e.Message.(*wire.Taken)
		if !ok {
			now = append(now, e)
			continue
		}
		switch what, rest := p.Take(m, p.lane.CopyOf(e.From, m), time.Since(p.began)); what {
		case migration.Deliver:
			now = append(now, e)
		case migration.Rest:
			p.later(rest, e)
		}
	}
	return now
}
