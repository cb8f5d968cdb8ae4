package coord

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// waits is how long the controller has waited for what is next: a commit while tasks are out, the last words, the state. What comes ends
// one wait and begins the next.
//
// A wait is named once, when it lasts longer than notice says; one for a commit only when it also lasts four times as long as any before it, so
// that a job whose clocks take long is not told of each (TestOnlyAnUnusualWaitIsNamed).
type waits struct {
	sinceMillis   int64
	longestMillis int64 // of the waits for commits that have ended
	named         bool
}

// unusual is how many times longer than any before a wait must be to be named.
const unusual = 4

// began starts a wait for a commit: tasks are out, and none were.
func (w *waits) began(nowMillis int64) { w.sinceMillis, w.named = nowMillis, false }

// moved ends a wait and begins another.
func (w *waits) moved(nowMillis int64) {
	w.longestMillis = max(w.longestMillis, nowMillis-w.sinceMillis)
	w.began(nowMillis)
}

// end begins a wait of another kind, of which nothing is known.
func (w *waits) end(nowMillis int64) { *w = waits{sinceMillis: nowMillis} }

// slept leaves out time in which the controller did not run. Some of each sleep counts, so that a controller that is always slow comes to the
// end of its waits, too (TestASlowControllerEndsItsWaits).
func (w *waits) slept(millis int64) { w.sinceMillis += millis }

// look is how long the wait has lasted, and whether it is to be named now.
func (w *waits) look(nowMillis, noticeMillis int64) (waitedMillis int64, name bool) {
	waitedMillis = nowMillis - w.sinceMillis
	if w.named || waitedMillis <= max(noticeMillis, unusual*w.longestMillis) {
		return waitedMillis, false
	}
	w.named = true
	return waitedMillis, true
}

// computed is what a node has said of a task that it computes for long.
type computed struct {
	clock       bellows.Clock
	millis      int64 // how long it had computed
	heardMillis int64 // when that was said
}

// takeComputing takes note of a task that a node has computed for long. Its node says so again while it goes on.
func (c *Controller) takeComputing(m *wire.Computing) {
	if c.computing == nil {
		c.computing = make([]computed, len(c.next))
	}
	c.computing[m.Unit.Split] = computed{m.Unit.Clock, m.Millis, c.nowMillis}
}

// culprit is who keeps the split that is furthest behind from its clock's end: the task that its node has computed for longest, as it says, which the others
// there wait for, with what they have finished too. A node that says nothing is silent, or computes nothing for long.
func (c *Controller) culprit(behind bellows.SplitID, clock bellows.Clock) (bellows.SplitID, bellows.Clock) {
	longest := int64(0)
	for s := range c.computing {
		split, said := bellows.SplitID(s), &c.computing[s]
		fresh := c.nowMillis-said.heardMillis <= 2*c.cfg.Times.Notice && said.clock > c.progress.Split(split) && said.clock < c.next[s]
		if fresh && said.millis > longest && c.cfg.Route.Node(split) == c.cfg.Route.Node(behind) && !planted.On("neighbour-named") {
			longest = said.millis
			behind, clock = split, said.clock
		}
	}
	return behind, clock
}
