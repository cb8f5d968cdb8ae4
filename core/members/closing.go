package members

import (
	"fmt"

	"bellows"
	"bellows/lease"
)

// Closing is a node's wait for its own tasks when the job is over: their results do not count any more, but they may still work
// in place on what they leased. Time in which its caller slept is no part of the wait (TestWhoSleptGivesNoTaskUp).
type Closing struct {
	times        lease.Times
	over         bool
	ended        bool
	nowMillis    int64 // at the last tick
	waitedMillis int64
	namedMillis  int64 // of the wait, when it was last named
}

// NewClosing is the wait of a node whose job goes on.
func NewClosing(times lease.Times) Closing { return Closing{times: times.Or()} }

// Over says that the job is over, once.
func (c *Closing) Over(nowMillis int64) {
	if !c.over {
		c.over, c.nowMillis = true, nowMillis
	}
}

// TasksEnded says that no task runs any more.
func (c *Closing) TasksEnded() { c.ended = true }

// Tick is a sentence, without its subject, where the wait has lasted; and whether it has lasted too long.
func (c *Closing) Tick(nowMillis int64, unfinished []bellows.Unit) (sentence string, giveUp bool) {
	if !c.over || c.ended {
		return "", false
	}
	c.waitedMillis += c.times.Awake(nowMillis - c.nowMillis)
	c.nowMillis = nowMillis
	waited := c.waitedMillis
	if waited > c.times.Tasks {
		return "", true
	}
	if waited-c.namedMillis <= c.times.Notice {
		return "", false
	}
	c.namedMillis = waited
	what := "its executors to close"
	if len(unfinished) > 0 {
		if what = unfinished[0].String() + " to return"; len(unfinished) > 1 {
			what += fmt.Sprintf(", and %d more tasks", len(unfinished)-1)
		}
	}
	return fmt.Sprintf("has waited %.1f s for %s; the job is over, and this is given up after %.1f s", float64(waited)/1000, what,
		float64(c.times.Tasks)/1000), false
}
