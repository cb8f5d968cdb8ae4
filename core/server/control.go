package server

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// takeControl applies a control record, between those of the flushes before and after it.
func (l *Lane) takeControl(from wire.Address, c *bellows.Control, out *wire.Outbox) {
	switch c.Kind {
	case bellows.KeepTables:
		if planted.On("keep-lost") {
			return
		}
		for _, p := range l.owned {
			p.applied = l.applied
			if !p.gone {
				p.keep()
			}
		}
	case bellows.SetStaleness:
		l.setStaleness(c.Table, table.Consistency(c.Clocks), out)
	case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit:
		l.reroute(from, c, out)
	}
}
