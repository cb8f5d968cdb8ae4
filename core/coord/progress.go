package coord

import "bellows"

// Progress is how far the job is: the last clock that every split has completed, the last that has been
// dispatched to any, and the number of the last commit.
func (c *Controller) Progress() (complete, furthest bellows.Clock, commit bellows.CommitNumber) {
	furthest = bellows.NoClock
	for _, next := range c.next {
		furthest = max(furthest, next-1)
	}
	return c.progress.Complete(), furthest, c.number
}

// Begun reports whether the first tasks have left: all nodes were ready.
func (c *Controller) Begun() bool { return c.begun }

// Recovering reports whether the controller follows another, and has asked lanes how far that had come.
func (c *Controller) Recovering() bool { return c.recovery != nil && c.recovery.asked }

// Collecting reports whether everybody has closed and the state is on its way.
func (c *Controller) Collecting() bool { return c.collecting && !c.over }

// Awaits reports whether a node has not said yet that it is ready.
func (c *Controller) Awaits(n bellows.NodeID) bool { return c.roll.Awaits(n) }

// Gone reports whether a node is lost.
func (c *Controller) Gone(n bellows.NodeID) bool { return c.roll.Lost(n) }
