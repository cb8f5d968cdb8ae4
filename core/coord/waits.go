package coord

import (
	"fmt"

	"bellows"
	"bellows/core/jobend"
	"bellows/core/planted"
)

// What the controller waits for, one thing at a time: that all nodes are ready, lanes' words when
// it follows another, a commit while tasks are out, the last words, the state. Each is named when
// it lasts and given up at last, by the table of times (liveness.Times); none of them counts time
// in which the controller slept.

// awaitTasks returns a sentence about the task that is furthest behind, if nothing has been committed for long, and in
// the end the outcome of the job.
func (c *machines) awaitTasks() (sentence string, late *Outcome) {
	waited, name := c.waits.Look(c.nowMillis, c.cfg.Times.Notice)
	isLate := waited > c.cfg.Times.Task
	if !name && !isLate {
		return "", nil
	}
	who, out := c.claims.NameSlowest(c.membership.Route(), c.nowMillis, 2*c.cfg.Times.Notice)
	if isLate {
		return "", &Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf(
			"%s has not ended, and nothing has been committed for %.1f s", who, float64(waited)/1000)}
	}
	if out > 1 {
		who += fmt.Sprintf(" and %d more", out-1)
	}
	if planted.On("task-unnamed") {
		return "", nil
	}
	return fmt.Sprintf("the job has waited %.1f s for %s, and gives up after %.1f s", float64(waited)/1000, who,
		float64(c.cfg.Times.Task)/1000), nil
}

// awaitLanes returns a sentence about the lanes that keep the controller from continuing where the previous one has
// ended, and in the end the outcome of the job.
func (c *machines) awaitLanes() (sentence string, late *Outcome) {
	waited, name := c.waits.Look(c.nowMillis, c.cfg.Times.Notice)
	isLate := waited > c.cfg.Times.Task
	if !name && !isLate {
		return "", nil
	}
	open := c.recovery.Awaited(c.membership)
	if isLate {
		return "", &Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf(
			"the job cannot be recovered: %v has not said what it holds for %.1f s", open[0], float64(waited)/1000)}
	}
	return jobend.NameWait("the controller has waited %.1f s for what %s holds, and gives up after %.1f s",
		waited, open, c.cfg.Times.Task), nil
}
