package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A split that waits for nobody runs ahead of its commits, and the words that its flushes are done come by way of different
// lanes, or from the client itself: one may come before that of the split's clock before. It waits here.

// early is dones that came too early.
type early struct {
	bySplit [][]sent // each with the first of its units' splits that is not there yet
	count   int
}

// sent is a done and who sent it.
type sent struct {
	from wire.Address
	done *wire.Done
}

// ahead is the split of the first unit that was dispatched and is not its split's next; false: there is none.
func (c *Controller) ahead(m *wire.Done) (bellows.SplitID, bool) {
	for i := range m.Results {
		u := &m.Results[i].Unit
		if int(u.Split) < len(c.next) && u.Clock > c.progress.Split(u.Split)+1 && u.Clock < c.next[u.Split] && !planted.On("overlap-accepted") {
			return u.Split, true
		}
	}
	return 0, false
}

// takeDone numbers a flush when its turn has come, and then those that had to wait for it.
func (c *Controller) takeDone(from wire.Address, m *wire.Done, fx *Effects) {
	if c.ending != nil && !planted.On("done-after-end") {
		wire.Free(m)
		return
	}
	if c.counted.Has(m.Flush) && !planted.On("done-counted-twice") { // its client has said so, and a lane
		wire.Free(m)
		return
	}
	if r := c.recovery; r != nil {
		if r.dones = append(r.dones, sent{from, m}); len(r.dones) > donesMost {
			c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("%d flushes are done before the controller knows what was recorded", donesMost)}, fx)
		}
		return
	}
	if s, ahead := c.ahead(m); ahead {
		c.keepEarly(s, sent{from, m}, fx)
		return
	}
	c.commit(from, m, fx)
	for i := range m.Results {
		s := m.Results[i].Unit.Split
		if int(s) >= len(c.early.bySplit) {
			continue
		}
		list := c.early.bySplit[s]
		c.early.bySplit[s] = nil
		c.early.count -= len(list)
		for _, d := range list {
			c.takeDone(d.from, d.done, fx)
		}
	}
	wire.Free(m)
}

// keepEarly keeps a done until its split has come so far. There cannot be more of them than tasks are out: each has finished one.
func (c *Controller) keepEarly(s bellows.SplitID, d sent, fx *Effects) {
	if int(s) < len(c.early.bySplit) && slices.ContainsFunc(c.early.bySplit[s], func(o sent) bool { return o.done.Flush == d.done.Flush }) {
		wire.Free(d.done)
		return
	}
	if c.early.count >= c.tasks {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("%v refused: %d flushes wait for splits to catch up, and no more tasks are out", d.done.Flush, c.early.count)}, fx)
		return
	}
	if c.early.bySplit == nil {
		c.early.bySplit = make([][]sent, len(c.next))
	}
	c.early.bySplit[s] = append(c.early.bySplit[s], d)
	c.early.count++
}
