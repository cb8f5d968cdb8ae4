package journal

import (
	"slices"

	"bellows"
	"bellows/core/recordlog"
	"bellows/link/wire"
)

// coverage follows which records every lane has.
//
// A saved state may replace an older one only when every lane has its record, since a controller that follows
// reads the later records from the lanes and none before. Lanes may forget records only when a stored state covers
// them.
type coverage struct {
	asked     bellows.CommitNumber // lanes were asked whether they have the records up to this
	open      []wire.Address       // lanes that have not said that they have
	covered   bellows.CommitNumber
	forgotten bellows.CommitNumber // lanes need not keep the records up to this
	meter     recordlog.Meter      // of the records that they keep
}

// keep returns the first record that lanes must keep; 0: all.
func (c *coverage) keep() bellows.CommitNumber {
	if c.forgotten == 0 {
		return 0
	}
	return c.forgotten + 1
}

// ask waits for the answers of lanes.
func (c *coverage) ask(upTo bellows.CommitNumber, lanes []wire.Address) {
	c.meter.Asked()
	c.asked, c.open = upTo, append(c.open[:0], lanes...)
}

// answer takes a lane's answer. One that has fewer records is to say so again when it has more.
func (c *coverage) answer(from wire.Address, last bellows.CommitNumber) {
	if last < c.asked {
		return
	}
	c.remove(from)
	if len(c.open) == 0 {
		c.covered = max(c.covered, c.asked)
	}
}

// remove stops waiting for a lane.
func (c *coverage) remove(lane wire.Address) {
	c.open = slices.DeleteFunc(c.open, func(a wire.Address) bool { return a == lane })
}

// forget lets go records that a stored state covers.
func (c *coverage) forget(upTo bellows.CommitNumber) {
	c.forgotten = max(c.forgotten, min(upTo, c.covered))
	c.meter.Saved(c.forgotten)
}
