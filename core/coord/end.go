package coord

import (
	"errors"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The end of a job has three parts: everybody is told the last commit that counts; everybody
// answers with the last word; and, if the job has finished or was interrupted, the state is
// collected. A node that is lost on the way is waited for no more. Only one that still owes a part
// of the state takes the state with it.

// word is an actor's last word of a job that ends.
type word struct {
	from   wire.Address
	closed *wire.Closed
}

// closing is the end of a job. It is over once: its outcome is out when every actor has closed, and the state has been
// collected or cannot be.
type closing struct {
	outcome    *Outcome       // nil: the job continues
	open       []wire.Address // actors that have not said Closed
	words      []word         // of those that have
	collecting bool           // all have closed, and the state is on its way
	over       bool           // the outcome is out
}

// end closes the job: everybody is told the last commit that counts, and answers with its counts. Those
// who are lost are told too, for when they come back, but not waited for.
func (c *Controller) end(o *Outcome, fx *Effects) {
	if c.recovery != nil && c.recovery.failed != nil { // before this
		o = c.recovery.failed
	}
	o.Commits, o.State = c.log.Number(), c.state()
	o.Out = len(c.claims.Claims())
	if c.recovery != nil { // what is not replayed counts, and nothing else does
		o.Commits = c.recovery.Last()
		c.log.Discard()
	}
	c.closing.outcome = o
	c.giveUpCut("the job is over", fx)
	c.waits.Restart(c.nowMillis)
	c.sendRecords(fx)
	if c.recovery != nil {
		c.ask(fx) // the answer comes before the last word
	}
	told := slices.Concat(c.roster.Lanes(), c.roster.Clients())
	for _, a := range c.roster.Leavers() {
		if !slices.Contains(told, a) {
			told = append(told, a)
		}
	}
	c.tellEnd(told, fx)
	c.closeWhenAll(fx)
}

// tellEnd tells actors the end, and waits for their last words.
func (c *Controller) tellEnd(list []wire.Address, fx *Effects) {
	for _, a := range list {
		switch {
		case planted.On("gone-not-told") && c.roster.Lost(a.Node):
			continue
		case !c.roster.Lost(a.Node) && !c.roster.HasLeft(a.Node): // who has left may not know it yet
			c.closing.open = append(c.closing.open, a)
		}
		c.sendEnd(a, fx)
	}
}

// endAdded takes what a lane holds of a job that was over before its controller knew what the one
// before had recorded, since somebody was lost: who has begun since, by that lane, is told the end,
// too, and its last word is waited for. Clients are told of lanes to which they perhaps have not
// passed the end on, and lanes of nodes that have left.
func (c *Controller) endAdded(m *wire.Holding, fx *Effects) {
	if c.closing.over || planted.On("failed-too-soon") {
		return
	}
	lanes, clients, left := len(c.roster.Lanes()), len(c.roster.Clients()), len(c.roster.AllLeft())
	c.askAdded(m, fx)
	c.recovery.Excuse(m.Adopted, c.roster)
	c.spare(m.Adopted)
	if added := c.roster.Lanes()[lanes:]; len(added) > 0 {
		for _, a := range c.roster.Clients()[:clients] {
			c.sendEnd(a, fx)
		}
		c.tellEnd(added, fx)
	}
	c.tellEnd(c.roster.Clients()[clients:], fx)
	if len(c.roster.AllLeft()) > left {
		c.tellLoss(c.closing.open, fx)
	}
	c.closeWhenAll(fx)
}

// sendEnd tells an actor the end, with who is lost: a lane waits for every other client to pass the
// end on, behind all that it sent (docs/decisions/0006).
func (c *Controller) sendEnd(to wire.Address, fx *Effects) {
	m := &wire.End{Term: c.cfg.Term, Commit: c.closing.outcome.Commits, Reason: c.closing.outcome.Reason, Kind: c.closing.outcome.Kind}
	if lost := c.roster.AllLost(); len(lost) > 0 && !planted.On("gone-awaited") {
		m.Gone = slices.Clone(lost) // a message is its receiver's
	}
	if c.recovery != nil || slices.Contains(c.roster.Leavers(), to) && !planted.On("left-awaited-by-leaver") { // a lane that is behind, or takes no record any more, does not know who has left
		m.Gone = append(m.Gone, c.roster.AllLeft()...)
	}
	if to.Role == wire.Client { // one that does not go on, or has ended for the controller before, takes no route (TestTheEndNamesLanesOfWhichAClientHasNotHeard)
		for _, l := range slices.Concat(c.roster.Lanes(), c.roster.Leavers()) {
			if l.Role == wire.Lane && !c.roster.IsFirst(l) && !planted.On("lane-unnamed-at-the-end") {
				m.Lanes = append(m.Lanes, wire.LaneName{Node: l.Node, Index: l.Index})
			}
		}
	}
	fx.Send(c.cfg.Controller, to, m)
}

// takeClosed takes an actor's last word. It is said to each controller once; what comes twice is
// nothing. Whose counts are in it is not waited for: he may have left, of which a controller that
// follows another and ends at once has not heard.
func (c *Controller) takeClosed(from wire.Address, m *wire.Closed, fx *Effects) {
	i := slices.Index(c.closing.open, from)
	if c.closing.outcome == nil || i < 0 {
		return
	}
	if from.Role == wire.Lane && !c.failed() { // it has them all
		c.log.Confirm(c.closing.outcome.Commits)
	}
	c.closing.words = append(c.closing.words, word{from, m})
	c.closing.open = slices.Delete(c.closing.open, i, i+1)
	c.spare(m.Adopted)
	c.closeWhenAll(fx)
}

// spare waits no more for the last words of those whose counts a lane has.
func (c *Controller) spare(adopted []bellows.Control) {
	for _, r := range adopted {
		a, _ := c.roster.Route().Removed(r)
		c.closing.open = slices.DeleteFunc(c.closing.open, func(b wire.Address) bool { return a == b })
	}
}

// closeWhenAll goes on when nobody's last word is waited for any more: to the state, if there is
// one to collect.
func (c *Controller) closeWhenAll(fx *Effects) {
	if len(c.closing.open) > 0 || c.closing.over || c.closing.collecting {
		return
	}
	c.closing.outcome.Counts = c.total()
	if !c.collects() {
		c.conclusion(fx)
		return
	}
	c.closing.collecting = true
	c.waits.Restart(c.nowMillis)
	c.cfg.Collector.Follow(c.roster.Route())
	c.cfg.Collector.Begin(c.closing.outcome.Interrupted)
	for _, a := range c.cfg.Collector.Open() {
		if c.roster.Lost(a.Node) {
			c.uncollected(errors.New(c.roster.Why(a.Node)), fx)
			return
		}
	}
	for _, a := range c.cfg.Collector.Open() {
		c.collect(a, c.cfg.Collector.Ask(), fx)
	}
	c.collected(fx)
}

// collects reports whether a job that ends gives its state.
func (c *Controller) collects() bool {
	return c.cfg.Collector != nil && !c.failed()
}

// failed reports whether a job that ends has neither finished nor been interrupted.
func (c *Controller) failed() bool {
	return c.closing.outcome.Reason != "" && !c.closing.outcome.Interrupted
}

// collector is who takes the state: one that has asked for nothing, if nobody wants it.
func (c *Controller) collector() *checkpoint.Collector {
	if c.cfg.Collector == nil {
		return &checkpoint.Collector{}
	}
	return c.cfg.Collector
}

// collect asks a lane for state.
func (c *Controller) collect(from wire.Address, m *wire.Collect, fx *Effects) {
	m.Term = c.cfg.Term
	fx.Send(c.cfg.Controller, from, m)
}

// takeSlab takes a piece of the state, and asks for another.
func (c *Controller) takeSlab(from wire.Address, m *wire.Slab, fx *Effects) {
	if c.closing.over || m.Term > 0 && m.Term < c.cfg.Term {
		return
	}
	if err := c.collector().Take(from, m); err != nil {
		c.lose(from.Node, err.Error(), true, fx)
		return
	}
	c.waits.Next(c.nowMillis)
	c.collect(from, c.cfg.Collector.More(), fx)
}

func (c *Controller) takeCollected(from wire.Address, m *wire.Collected, fx *Effects) {
	if c.closing.over || m.Term > 0 && m.Term < c.cfg.Term {
		return
	}
	if err := c.collector().End(from, m); err != nil {
		c.lose(from.Node, err.Error(), true, fx)
		return
	}
	c.waits.Next(c.nowMillis)
	c.collected(fx)
}

// Withholds tells the controller that nothing of what a node still owes of the state will come, and
// why. A node that owes nothing takes nothing with it.
func (c *Controller) Withholds(n bellows.NodeID, reason string, fx *Effects) {
	if c.closing.collecting && !c.closing.over && c.cfg.Collector.Owes(n) {
		c.uncollected(errors.New(reason), fx)
	}
}

// uncollected ends the job without its state.
func (c *Controller) uncollected(err error, fx *Effects) {
	c.cfg.Collector.Fail(err)
	c.collected(fx)
}

// collected ends the controller's work when the state is there, or cannot come.
func (c *Controller) collected(fx *Effects) {
	if !c.cfg.Collector.Over() {
		return
	}
	if err := c.cfg.Collector.Err(); err != nil {
		c.closing.outcome.Uncollected = &bellows.Error{Kind: bellows.Lost, Op: "collect the model", Err: err}
	}
	c.conclusion(fx)
}

// conclusion is the end of the controller's work: the outcome is out, once.
func (c *Controller) conclusion(fx *Effects) {
	if !c.closing.over {
		c.closing.over = true
		c.publish(fx) // what is left
		fx.Outcome = c.closing.outcome
	}
}

// addMissed adds what a lane that was removed has missed of flushes that never got a number.
func (c *Controller) addMissed(to *wire.Counts, list []wire.Missed) {
	if len(list) > 0 {
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, len(c.cfg.Tables)))
	}
	for _, o := range list {
		if !c.log.Counted(o.Flush) && !c.roster.IsRemoved(o.Flush.Client) {
			to.Dropped += o.Rows
			to.Ledgers[o.Ref.Table].Dropped += o.Bits
		}
	}
}

// total is the counts of a job that ends, by the last words: but for those who were removed, where an heir's has
// theirs.
func (c *Controller) total() (counts wire.Counts) {
	var adopted []wire.Address
	for _, w := range c.closing.words {
		for _, r := range w.closed.Adopted {
			a, _ := c.roster.Route().Removed(r)
			adopted = append(adopted, a)
		}
	}
	for _, w := range c.closing.words {
		if !slices.Contains(adopted, w.from) || planted.On("bequest-counted-twice") {
			counts.Add(&w.closed.Counts)
			c.addMissed(&counts, w.closed.Missed)
		}
	}
	c.roster.AddLostCounts(&counts)
	return counts
}
