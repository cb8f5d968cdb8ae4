package coord

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/collect"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The end of a job has three parts: everybody is told the last commit that counts; everybody answers with the last word; and, if the job
// has finished or was interrupted, the state is collected. A node that is lost on the way is waited for no more. Only one that still owes
// a part of the state takes the state with it.

// end closes the job: everybody is told the last commit that counts, and answers with its counts. Those
// who are lost are told too, for when they come back, but not waited for.
func (c *Controller) end(o *Outcome, fx *Effects) {
	o.Commits, o.State = c.number, c.state()
	if c.recovery != nil { // what is not replayed counts, and nothing else does
		o.Commits, c.records = c.recovery.last(), nil
	}
	c.ending = o
	c.waits.end(c.nowMillis)
	c.sendRecords(fx)
	for _, list := range [][]wire.Address{c.cfg.Lanes, c.cfg.Clients} {
		for _, a := range list {
			if !c.roll.Lost(a.Node) {
				c.open = append(c.open, a)
			} else if planted.On("gone-not-told") {
				continue
			}
			c.sendEnd(a, fx)
		}
	}
	c.closeWhenAll(fx)
}

func (c *Controller) sendEnd(to wire.Address, fx *Effects) {
	m := &wire.End{Term: c.cfg.Term, Commit: c.ending.Commits, Reason: c.ending.Reason, Kind: c.ending.Kind}
	if lost := c.roll.AllLost(); len(lost) > 0 && !planted.On("gone-awaited") {
		m.Gone = slices.Clone(lost) // a message is its receiver's
	}
	if r := c.recovery; r != nil && slices.Index(c.cfg.Lanes, to) >= r.first { // which clients know only by a route that they were perhaps not told
		for _, a := range c.cfg.Clients {
			m.Gone = append(m.Gone, a.Node)
		}
	}
	fx.Send(c.cfg.Controller, to, m)
}

func (c *Controller) takeClosed(from wire.Address, m *wire.Closed, fx *Effects) {
	i := slices.Index(c.open, from)
	if c.ending == nil || i < 0 {
		return
	}
	c.ending.Counts.Add(&m.Counts)
	c.open = slices.Delete(c.open, i, i+1)
	c.closeWhenAll(fx)
}

// closeWhenAll goes on when nobody's last word is waited for any more: to the state, if there is one to collect.
func (c *Controller) closeWhenAll(fx *Effects) {
	if len(c.open) > 0 || c.over || c.collecting {
		return
	}
	if c.cfg.Collector == nil || c.ending.Reason != "" && !c.ending.Interrupted {
		c.conclusion(fx)
		return
	}
	c.collecting = true
	c.waits.end(c.nowMillis)
	c.cfg.Collector.Follow(c.cfg.Route)
	c.cfg.Collector.Begin(c.ending.Interrupted)
	for _, a := range c.cfg.Collector.Open() {
		if c.roll.Lost(a.Node) {
			c.uncollected(errors.New(c.roll.Why(a.Node)), fx)
			return
		}
	}
	for _, a := range c.cfg.Collector.Open() {
		c.collect(a, c.cfg.Collector.Ask(), fx)
	}
	c.collected(fx)
}

// collector is who takes the state: one that has asked for nothing, if nobody wants it.
func (c *Controller) collector() *collect.Collector {
	if c.cfg.Collector == nil {
		return &collect.Collector{}
	}
	return c.cfg.Collector
}

// takeSlab takes a piece of the state, and asks for another.
func (c *Controller) takeSlab(from wire.Address, m *wire.Slab, fx *Effects) {
	if c.over || m.Term > 0 && m.Term < c.cfg.Term {
		return
	}
	if err := c.collector().Take(from, m); err != nil {
		c.lose(from.Node, err.Error(), fx)
		return
	}
	c.waits.moved(c.nowMillis)
	c.collect(from, c.cfg.Collector.More(), fx)
}

func (c *Controller) takeCollected(from wire.Address, m *wire.Collected, fx *Effects) {
	if c.over || m.Term > 0 && m.Term < c.cfg.Term {
		return
	}
	if err := c.collector().End(from, m); err != nil {
		c.lose(from.Node, err.Error(), fx)
		return
	}
	c.waits.moved(c.nowMillis)
	c.collected(fx)
}

// collect asks a lane for state.
func (c *Controller) collect(from wire.Address, m *wire.Collect, fx *Effects) {
	m.Term = c.cfg.Term
	fx.Send(c.cfg.Controller, from, m)
}

// fence tells the lanes that are left that a node is gone, behind the records of what counts of it.
func (c *Controller) fence(n bellows.NodeID, fx *Effects) {
	c.sendRecords(fx)
	for _, l := range c.cfg.Lanes {
		if !c.roll.Lost(l.Node) {
			fx.Send(c.cfg.Controller, l, &wire.Fence{Term: c.cfg.Term, Node: n, Incarnation: c.cfg.Incarnation(wire.Address{Node: n})})
		}
	}
}

// uncollected ends the job without its state.
func (c *Controller) uncollected(err error, fx *Effects) {
	c.cfg.Collector.Fail(err)
	c.collected(fx)
}

// Withholds tells the controller that nothing of what a node still owes of the state will come, and why. A node that owes nothing takes
// nothing with it.
func (c *Controller) Withholds(n bellows.NodeID, reason string, fx *Effects) {
	if c.collecting && !c.over && c.cfg.Collector.Owes(n) {
		c.uncollected(errors.New(reason), fx)
	}
}

// collected ends the controller's work when the state is there, or cannot come.
func (c *Controller) collected(fx *Effects) {
	if !c.cfg.Collector.Over() {
		return
	}
	if err := c.cfg.Collector.Err(); err != nil {
		c.ending.Uncollected = &bellows.Error{Kind: bellows.Lost, Op: "collect the model", Err: err}
	}
	c.conclusion(fx)
}

func (c *Controller) conclusion(fx *Effects) {
	if !c.over {
		c.over = true
		fx.Outcome = c.ending
	}
}

// Broken tells the controller that the connection to a node has ended, and why: the node is lost soon, if
// no better reason comes.
func (c *Controller) Broken(n bellows.NodeID, reason string) {
	c.roll.Suspect(n, reason, c.cfg.Times.Broken)
}

// Lost tells the controller that a node is dead, and why: the job ends, and nothing is expected of the
// node any more.
func (c *Controller) Lost(n bellows.NodeID, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	c.lose(n, reason, fx)
}

func (c *Controller) lose(n bellows.NodeID, reason string, fx *Effects) {
	if !c.roll.Lose(n, reason) {
		return
	}
	fx.Losses = append(fx.Losses, reason)
	c.fence(n, fx)
	switch {
	case c.ending == nil:
		c.end(&Outcome{Kind: bellows.Lost, Reason: reason}, fx)
	case c.collecting:
		if c.cfg.Collector.Owes(n) {
			c.uncollected(errors.New(reason), fx)
		}
		c.tellLoss(c.cfg.Collector.Open(), fx) // whose last word was perhaps not waited for
	default:
		c.open = slices.DeleteFunc(c.open, func(a wire.Address) bool { return a.Node == n })
		c.tellLoss(c.open, fx)
		c.closeWhenAll(fx)
	}
}

// tellLoss tells lanes again of the end, with who is lost: they may wait for him to pass it on, and have no last word and no state before.
func (c *Controller) tellLoss(list []wire.Address, fx *Effects) {
	for _, a := range list {
		if a.Role == wire.Lane {
			c.sendEnd(a, fx)
		}
	}
}

// Tick tells the controller the time, which it passes on as a sign of life, and by node how many bytes have come from it so far
// (nil: nobody counts): a node silent for a lease ends the job, and who does not answer the end in time is not waited for. Tick goes on until
// the outcome is there.
func (c *Controller) Tick(nowMillis int64, heard []uint64, fx *Effects) {
	fx.Era = c.cfg.Era
	c.nowMillis = nowMillis
	c.sendRecords(fx)
	c.waits.slept(c.roll.Tick(nowMillis, heard))
	if c.timeless {
		c.timeless = false
		c.waits.end(nowMillis)
	}
	c.roll.Beat(c.cfg.Controller, &fx.Outbox)
	for c.ending == nil || !planted.On("ending-unwatched") {
		loss, found := c.roll.Verdict()
		if !found {
			break
		}
		c.lose(loss.Node, loss.Reason, fx)
	}
	if c.over {
		return
	}
	for s := c.roll.NameSilent(); s != ""; s = c.roll.NameSilent() {
		fx.Notices = append(fx.Notices, s)
	}
	switch {
	case c.collecting:
		c.awaitState(fx)
	case c.ending != nil:
		c.awaitEnd(fx)
	case c.Recovering():
		c.awaitLanes(fx)
	case !c.begun:
		c.awaitReady(fx)
	case c.tasks > 0:
		c.awaitTasks(fx)
	}
}

// awaitReady names the nodes that keep the job from starting, and gives up in the end.
func (c *Controller) awaitReady(fx *Effects) {
	sentence, late, isLate := c.roll.NameAwaited()
	if sentence != "" {
		fx.Notices = append(fx.Notices, sentence)
	}
	if isLate {
		c.lose(late.Node, late.Reason, fx)
	}
}

// awaitTasks names the task that is furthest behind when nothing has been committed for long, and ends the job in the end.
func (c *Controller) awaitTasks(fx *Effects) {
	waited, name := c.waits.look(c.nowMillis, c.cfg.Times.Notice)
	late := waited > c.cfg.Times.Task
	if !name && !late {
		return
	}
	behind, clock, out := bellows.SplitID(0), bellows.Clock(0), 0
	for s := range c.next {
		at := c.progress.Split(bellows.SplitID(s)) + 1
		if at >= c.next[s] {
			continue
		}
		if out++; out == 1 || at < clock {
			behind, clock = bellows.SplitID(s), at
		}
	}
	behind, clock = c.culprit(behind, clock)
	who := fmt.Sprintf("split %d clock %d on node %d", behind, clock, c.cfg.Route.Node(behind))
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

// awaitEnd names those who keep the job from ending, and in the end waits for them no longer.
func (c *Controller) awaitEnd(fx *Effects) {
	waited, name := c.waits.look(c.nowMillis, c.cfg.Times.Notice)
	if waited > c.cfg.Times.End {
		c.open = nil
		c.closeWhenAll(fx)
		return
	}
	if name {
		c.nameOpen("the end of the job has waited %.1f s for the last word of %s, and goes on without after %.1f s", waited, c.open, c.cfg.Times.End, fx)
	}
}

// awaitState names the lanes that keep the state from being complete when nothing has come of it for long, and in the end gives
// it up.
func (c *Controller) awaitState(fx *Effects) {
	waited, name := c.waits.look(c.nowMillis, c.cfg.Times.Notice)
	if open := c.cfg.Collector.Open(); waited > c.cfg.Times.Collect {
		c.uncollected(fmt.Errorf("nothing has come of %v for %.1f s", open[0], float64(waited)/1000), fx)
	} else if name {
		c.nameOpen("collecting the model has waited %.1f s for %s, and gives up after %.1f s", waited, open, c.cfg.Times.Collect, fx)
	}
}

func (c *Controller) nameOpen(format string, waitedMillis int64, list []wire.Address, lateMillis int64, fx *Effects) {
	if planted.On("end-unnamed") {
		return
	}
	var names []string
	for _, a := range list {
		names = append(names, a.String())
	}
	fx.Notices = append(fx.Notices, fmt.Sprintf(format, float64(waitedMillis)/1000, strings.Join(names, ", "), float64(lateMillis)/1000))
}
