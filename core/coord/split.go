package coord

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// finishMove moves a split that rests, and dispatches the claims that its node has given back.
func (c *training) finishMove(s bellows.SplitID, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	to, ended := c.claims.FinishMove(s)
	if !ended {
		return
	}
	if change := c.membership.MoveSplit(s, to); change.Kind != bellows.NoControl {
		c.recordChange(change, fx)
		c.claims.Rehome(s, to, c.log.Number())
	}
	if !planted.On("recalled-forgotten") {
		c.claims.Redispatch(s, c.membership.Route().Node(s))
	}
}

// replayMove takes the record of a split that moved between two of its clocks. It precedes the records that follow the
// dispatch of the second.
func (c *training) replayMove(s bellows.SplitID) {
	if !c.claims.Rests(s) {
		return // it moved because its claims were given back
	}
	one := c.recovery.Record(c.log.Number() + 1)
	if one != nil && one.Control.Kind == bellows.MoveSplit && one.Control.Split == s {
		c.replayRoute(one)
	}
}

// replayRoute takes the record of a change of the route.
func (c *training) replayRoute(one *wire.Record) {
	c.log.Replay(one)
	change := &one.Control
	if planted.On("replay-forgets-route") {
		return
	}
	if err := c.membership.Replay(*change, c.nowMillis); err != nil {
		c.recovery.driver = fmt.Errorf("record %d: %w", c.log.Number(), err)
		return
	}
	if change.Kind == bellows.MoveSplit {
		c.claims.Rehome(change.Split, change.Node, c.log.Number())
	}
}

// takeRecalled takes the answer of a client that has given back the units that it had not begun of a split.
func (c *training) takeRecalled(from wire.Address, m *wire.Recalled, fx *Effects) {
	if !c.ending.Begun() && c.claims.TakeRecalled(from.Node, c.membership.Route(), m) {
		c.finishMove(m.Split, fx)
	}
}
