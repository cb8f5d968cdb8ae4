package coord

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// replay repeats the driver's calls, and emits nothing. The records have what the driver got, and what it asked for. It
// returns how the job ends if the driver fails; nil: it has not.
func (c *training) replay(fx *Effects) *Outcome {
	r := c.recovery
	tail, saved := r.Tail(), c.log.Number()
	for i := range tail {
		if tail[i].Number > saved && !planted.On("tail-unmeasured-after-failover") {
			c.log.Measure(&tail[i])
		}
	}
	last := max(saved, r.Next()-1)
	if saved == 0 {
		if one := r.Record(1); one != nil && one.Control.Kind == bellows.Drain && one.Control.Clock == bellows.NoClock {
			c.log.Advance()
			c.agenda.ReplayDrain() // before anything was dispatched
		}
		c.dispatchFirst(fx)
	}
	for c.log.Number() < last && r.driver == nil {
		one := r.Record(c.log.Number() + 1)
		switch one.Control.Kind {
		case bellows.NoControl:
			if o := c.replayFlush(one, fx); o != nil {
				return o
			}
		case bellows.Drain:
			c.log.Replay(one)
			c.agenda.ReplayDrain()
		case bellows.CutTables:
			c.log.Replay(one)
		case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane,
			bellows.RemoveClient, bellows.LoseClient:
			c.replayRoute(one)
		default:
			r.driver = fmt.Errorf("record %d is %+v, for which it has not asked", one.Number, one.Control)
		}
	}
	return nil
}

// replayFlush takes the record of a flush that counts.
func (c *training) replayFlush(one *wire.Record, fx *Effects) *Outcome {
	c.log.Replay(one)
	c.membership.AddSent(one.Flush.Client, one.Sent)
	if c.tells(0) {
		c.log.AddVisits(one.Results, &fx.Told)
	}
	for i := range one.Results {
		if err := c.claims.Replay(one.Results[i].Unit); err != nil {
			c.recovery.driver = fmt.Errorf("record %d: %w", one.Number, err)
			return nil
		}
	}
	return c.tellDriver(one.Flush.Client, one.Results, fx)
}
