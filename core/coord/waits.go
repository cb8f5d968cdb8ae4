package coord

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
)

// What the controller waits for, one thing at a time: that all nodes are ready, lanes' words when
// it follows another, a commit while tasks are out, the last words, the state. Each is named when
// it lasts and given up at last, by the table of times (liveness.Times); none of them counts time
// in which the controller slept.

// Tick tells the controller the time, which it passes on as a sign of life, and by node how many
// bytes have come from it so far (nil: nobody counts): a node silent for a lease ends the job, and
// who does not answer the end in time is not waited for. Records that wait for their clock leave
// now, so that none waits for longer than a tick. Tick goes on until the outcome is there.
func (c *Controller) Tick(nowMillis int64, heard []uint64, fx *Effects) {
	fx.Era = c.cfg.Era
	c.nowMillis = nowMillis
	c.sendRecords(fx)
	c.confirm(fx)
	slept := c.roster.Tick(nowMillis, heard)
	c.waits.Skip(slept)
	c.ending.Skip(slept)
	c.roster.SkipWait(slept)
	c.cut.Skip(slept)
	switch {
	case c.timeless:
		c.timeless = false
		c.waits.Restart(nowMillis)
		c.ending.Restart(nowMillis)
	case c.opened && c.recovery != nil && !c.ending.Begun(): // who is not ready by now may have left
		c.ask(fx)
	}
	c.roster.Beat(c.cfg.Controller, &fx.Outbox)
	for !c.ending.Begun() || !planted.On("ending-unwatched") {
		loss, found := c.roster.Verdict(c.mayHaveLeft, c.spares)
		if !found {
			break
		}
		c.lose(loss.Node, loss.Reason, false, fx)
	}
	if c.ending.Finished() {
		return
	}
	for s := c.roster.NameSilent(); s != ""; s = c.roster.NameSilent() {
		fx.Notices = append(fx.Notices, s)
	}
	if !c.ending.Begun() {
		if s := c.nameLeaver(); s != "" {
			fx.Notices = append(fx.Notices, s)
		}
		if c.awaitCut(fx) && !planted.On("released-unconcluded") {
			c.conclude(fx) // what waited for it
		}
	}
	switch {
	case c.ending.Begun():
		if s := c.ending.Await(nowMillis); s != "" {
			fx.Notices = append(fx.Notices, s)
		}
		c.proceed(fx)
	case c.Recovering():
		c.awaitLanes(fx)
	case !c.begun:
		c.awaitReady(fx)
	case c.claims.Outstanding() > 0:
		c.awaitTasks(fx)
	}
}

// awaitReady names the nodes that keep the job from starting, and gives up in the end.
func (c *Controller) awaitReady(fx *Effects) {
	sentence, late, isLate := c.roster.NameAwaited()
	if sentence != "" {
		fx.Notices = append(fx.Notices, sentence)
	}
	if isLate {
		c.lose(late.Node, late.Reason, false, fx)
	}
}

// awaitTasks names the task that is furthest behind when nothing has been committed for long, and
// ends the job in the end.
func (c *Controller) awaitTasks(fx *Effects) {
	waited, name := c.waits.Look(c.nowMillis, c.cfg.Times.Notice)
	late := waited > c.cfg.Times.Task
	if !name && !late {
		return
	}
	behind, clock, out := c.claims.Slowest()
	behind, clock = c.culprit(behind, clock)
	who := fmt.Sprintf("split %d clock %d on node %d", behind, clock, c.roster.Route().Node(behind))
	if late {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("%s has not ended, and nothing has been committed for %.1f s", who, float64(waited)/1000)}, fx)
		return
	}
	if out > 1 {
		who += fmt.Sprintf(" and %d more", out-1)
	}
	if planted.On("task-unnamed") {
		return
	}
	fx.Notices = append(fx.Notices, fmt.Sprintf("the job has waited %.1f s for %s, and gives up after %.1f s", float64(waited)/1000, who,
		float64(c.cfg.Times.Task)/1000))
}

// culprit returns which unit keeps a split from the end of a clock, by what nodes have reported lately.
func (c *Controller) culprit(behind bellows.SplitID, clock bellows.Clock) (bellows.SplitID, bellows.Clock) {
	return c.claims.Culprit(behind, clock, c.roster.Route(), c.nowMillis, 2*c.cfg.Times.Notice)
}
