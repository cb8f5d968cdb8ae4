package coord

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/link/wire"
)

// recovery is a controller that follows another and does not know yet how far that had come.
//
// It asks the lanes when all nodes are ready, or a tick later those of the ones that are; and goes on
// to reading when all nodes are ready and every lane has promised its term and said what it holds; it is over when the records have come and were
// replayed. It numbers nothing before (TestNothingIsNumberedBeforeEveryPromise): a lane that has not
// promised may still take a record of the controller before, which nobody else knows. Whatever
// reaches a controller meanwhile waits, or is said again.
//
// Nodes may have left, of which only those know that have their counts: a lane's word excuses them
// from being ready and from promising (excuse). As long as a lane that can be heard has not said its
// word, nobody else is judged (mayHaveLeft).
//
// Of all tails the longest is the truth, since whoever acted on a record has heard of it from a
// lane. Records that no lane has count nothing: their flushes are still held.
type recovery struct {
	from     Saved
	ready    bool                 // all nodes are
	asked    []bool               // by lane
	holdings []*wire.Holding      // by lane; nil: it has not promised
	best     int                  // the lane that is asked for its tail
	need     bellows.CommitNumber // the first record that is wanted; 0: it is not known yet
	upTo     bellows.CommitNumber // the last that a lane has
	tail     []wire.Record        // from need on, in messages
	kept     []*wire.Records
	dones    []journal.Arrival // that came meanwhile
	adopted  []bellows.Control // removals of those of whom nothing is needed
	driver   error             // what the driver did not do again
	end      *wire.End         // what a lane was told of the job's end; nil: none was
	failed   *Outcome          // the first failure since; nil: there is none
	gone     []bellows.NodeID  // who was declared gone
}

// donesMost bounds what may come before a recovery is over: as many flushes as a lane lets wait.
const donesMost = 1 << 16

// Recover makes the controller that follows one that is gone, of whom are left the records that the
// lanes keep and, perhaps, a state that was saved: from is the last one that is covered (Covers),
// or the state that the job began with. The driver is one that has done nothing yet.
//
// It goes by the newest route that was recorded. Lanes say who takes part since the job's
// beginning, and those are asked, too. Whoever was recorded to take part and has not begun does so
// now, and every client is told the route and the staleness as a whole, which it may know. What
// clients have heard of a route lanes have heard before (conclude). A client that knows a newer one
// than that all the same ends the job by name.
//
// Its shell gives it the next term, starts and drives it as any controller, and has every node say
// once more that it is ready: whoever is does so to each controller. Then the controller asks the
// lanes what they hold, replays the records through the driver, tells the lanes that are behind
// what the others have, dispatches once more what was out, and commits what is held whole. Nothing
// is emitted twice: dispatches and epochs of the replay are not, and a client takes no notice of a
// unit that it knows. A flush of which a part is missing is its client's matter, as always.
//
// Nodes that the one before had lost are lost again: at once, if a lane was told. A job that was
// ending ends again, by its records or as a lane was told (decided).
func Recover(job core.Job, opt Options, from Saved) (*Controller, error) {
	c := New(job, opt)
	if err := c.restore(from); err != nil {
		return nil, err
	}
	c.roster.Expect()
	c.timeless = true
	c.recovery = &recovery{from: from, best: none, holdings: make([]*wire.Holding, len(c.roster.Lanes())), asked: make([]bool, len(c.roster.Lanes()))}
	return c, nil
}

// none is no lane.
const none = -1

// ask asks the lanes of nodes that are ready what they hold, each once; of a job that has failed all.
func (c *Controller) ask(fx *Effects) {
	r := c.recovery
	for i, l := range c.roster.Lanes() {
		if i == len(r.asked) {
			r.asked, r.holdings = append(r.asked, false), append(r.holdings, nil)
		}
		if !r.asked[i] && (!c.roster.Awaits(l.Node) || c.ending != nil) {
			r.asked[i] = true
			fx.meet(l, c.roster.Route().Lanes())
			fx.Send(c.cfg.Controller, l, &wire.Query{Term: c.cfg.Term})
		}
	}
}

// takeHolding takes what a lane holds, and its promise.
func (c *Controller) takeHolding(from wire.Address, m *wire.Holding, fx *Effects) {
	i, r := slices.Index(c.roster.Lanes(), from), c.recovery
	switch {
	case i < 0 || m.Term != c.cfg.Term:
		return
	case r == nil:
		c.log.Confirm(m.Last)
		if c.ending == nil {
			c.log.TakeAnswer(from, m.Last)
		}
		return
	case c.ending != nil:
		r.holdings[i] = m
		c.endAdded(m, fx)
		return
	}
	c.waits.Restart(c.nowMillis)
	r.holdings[i] = m
	c.askAdded(m, fx)
	r.hears(m)
	c.excuse(m.Adopted)
	c.chooseTail(fx)
}

// excuse waits no more for those whose counts a lane has. Their node may be gone, where nobody else of
// the job is.
func (c *Controller) excuse(adopted []bellows.Control) {
	r := c.recovery
	for _, one := range adopted {
		if !slices.Contains(r.adopted, one) {
			r.adopted = append(r.adopted, one)
		}
	}
	for _, one := range r.adopted {
		a, _ := c.roster.Route().Removed(one)
		if i := slices.Index(c.roster.Lanes(), a); i >= 0 && r.holdings[i] == nil {
			r.holdings[i] = &absent
		}
		stays := func(b wire.Address) bool { return b.Node == a.Node && !c.hasAdopted(b) }
		if a.Node != c.cfg.Controller.Node && !slices.ContainsFunc(slices.Concat(c.roster.Lanes(), c.roster.Clients()), stays) {
			c.roster.Leave(a.Node)
		}
	}
}

// mayHaveLeft reports whether a node is perhaps one that has left, as a lane may say that has not
// said its word: one that can be heard, or one that is lost first, since it owes that word and the
// node owes none. Two that both owe theirs and are silent do not speak for each other.
func (c *Controller) mayHaveLeft(n bellows.NodeID) bool {
	if c.recovery == nil || c.ending != nil || planted.On("leaver-judged") {
		return false
	}
	owes, silent := false, false
	for i, l := range c.roster.Lanes() {
		switch {
		case c.recovery.holdings[i] != nil:
		case l.Node == n:
			owes = true
		case !c.roster.Due(l.Node):
			return true
		default:
			silent = true
		}
	}
	return silent && !owes
}

// hasAdopted reports whether a lane has said that it has the counts of an actor.
func (c *Controller) hasAdopted(a wire.Address) bool {
	return slices.ContainsFunc(c.recovery.adopted, func(one bellows.Control) bool {
		who, _ := c.roster.Route().Removed(one)
		return who == a
	})
}

// absent stands for the promise of a lane that has left.
var absent wire.Holding

// askAdded asks the lanes that have begun since, as a lane says. It has said so before the record
// that adds another is needed by anybody.
func (c *Controller) askAdded(m *wire.Holding, fx *Effects) {
	for _, add := range m.Added {
		if planted.On("added-lane-unasked") && add.Kind == bellows.AddLane {
			continue
		}
		a := wire.ClientAt(add.Node)
		if add.Kind == bellows.AddLane {
			a = wire.LaneAt(add.Node, int(add.Lane))
		}
		c.roster.Enrol(a)
		if a.Role == wire.Client {
			fx.meet(a, c.roster.Route().Clients())
		}
	}
	c.ask(fx)
}

// meet tells the checker of an actor that the route does not have which the controller goes by.
func (fx *Effects) meet(a wire.Address, known []wire.Address) {
	if !slices.Contains(known, a) && !planted.On("asked-unmet") {
		fx.Met = append(fx.Met, a)
	}
}

// hears takes note of what the one before has decided and was no record. Nothing is behind the end,
// and lanes alone judge by fences: so both are kept by the lanes that were told, and a lane is told
// before any client.
func (r *recovery) hears(m *wire.Holding) {
	if r.end == nil {
		r.end = m.End
	}
	for _, f := range m.Gone {
		r.gone = append(r.gone, f.Node)
	}
}

// decided does again what the one before had decided: who was declared gone is, and a job that had
// failed does. One that had finished, or was interrupted, comes to the same end by its records. A job
// that has failed since fails now, when all lanes have the same records and are known, so that its
// audit is whole: a lane that is behind takes what it holds for counted where it was sent first.
func (c *Controller) decided(r *recovery, fx *Effects) {
	for _, n := range r.gone {
		if r.end == nil && !planted.On("fence-forgotten") {
			c.lose(n, fmt.Sprintf("node %d is gone: the controller before has declared it so", n), false, fx)
		}
	}
	if r.end != nil && c.ending == nil && c.tasks > 0 {
		c.end(&Outcome{Kind: r.end.Kind, Reason: r.end.Reason}, fx)
	}
	if r.failed != nil && c.ending == nil && c.tasks > 0 {
		c.end(r.failed, fx)
	}
}

// fresh reports whether a lane was added and has not begun: no record is a lane's of which it knows none.
func (c *Controller) fresh(r *recovery, lane int) bool {
	h := r.holdings[lane]
	return !c.roster.IsFirst(c.roster.Lanes()[lane]) && h != nil && h.Last == 0
}

// chooseTail says which records are wanted, when all nodes are ready and all lanes have promised: those that some lane or the saved state lacks.
func (c *Controller) chooseTail(fx *Effects) {
	r := c.recovery
	if r.need > 0 || !c.roster.AllReady() || slices.Contains(r.holdings, nil) && !planted.On("recover-without-promise") {
		return
	}
	r.need = r.from.Commit + 1
	for i, h := range r.holdings {
		if h == nil || h == &absent || c.fresh(r, i) {
			continue
		}
		if !c.hasLeft(r, i) || planted.On("leaver-caught-up") {
			r.need = min(r.need, h.Last+1)
		}
		r.upTo = max(r.upTo, h.Last)
	}
	if r.upTo < r.from.Commit {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: its controller was saved after record %d, and no lane has more than %d", r.from.Commit, r.upTo)}, fx)
		return
	}
	c.askTail(fx)
}

// askTail asks a lane for the next of the records that are wanted: of those that have kept it the one that has come furthest. That need not be the furthest of all, which may have begun
// late (TestARecoveryIsOfSeveralTails). When there is none left to ask for, the recovery has what it needs.
func (c *Controller) askTail(fx *Effects) {
	r := c.recovery
	next := r.next()
	if next > r.upTo {
		c.recovered(fx)
		return
	}
	kept := bellows.CommitNumber(0) // by whoever has kept most
	r.best = none
	for i, h := range r.holdings {
		if h == nil || h == &absent || c.fresh(r, i) || h.Last < next {
			continue
		}
		if kept == 0 || h.Tail < kept {
			kept = h.Tail
		}
		if h.Tail <= next && (r.best == none || h.Last > r.holdings[r.best].Last) && (len(r.tail) == 0 || !planted.On("one-tail")) {
			r.best = i
		}
	}
	if r.best == none {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: records from %d on are needed, and lanes have kept those from %d on", next, kept)}, fx)
		return
	}
	fx.Send(c.cfg.Controller, c.roster.Lanes()[r.best], &wire.Query{Term: c.cfg.Term, From: next})
}

// next is the first record that is wanted and has not come.
func (r *recovery) next() bellows.CommitNumber { return r.need + bellows.CommitNumber(len(r.tail)) }

// hasLeft reports whether a lane that has answered had left before the controller was saved: it takes no records behind its removal, and the others may have let go those that follow
// (TestALaneThatHasLeftNeedsNoRecords).
func (c *Controller) hasLeft(r *recovery, lane int) bool {
	h := r.holdings[lane]
	return h.Last > 0 && h.Last < r.from.Commit && !slices.Contains(c.roster.Route().Lanes(), c.roster.Lanes()[lane])
}

// takeTail takes records that a lane has kept. It gives them in their order.
func (c *Controller) takeTail(from wire.Address, m *wire.Records, fx *Effects) {
	r := c.recovery
	if c.ending != nil || r == nil || r.best == none || from != c.roster.Lanes()[r.best] {
		wire.Free(m)
		return
	}
	c.waits.Restart(c.nowMillis)
	r.kept = append(r.kept, m)
	for i := range m.List {
		switch n := m.List[i].Number; {
		case n < r.next():
		case n > r.next():
			c.lose(from.Node, fmt.Sprintf("%v has kept record %d behind record %d", from, n, r.next()-1), true, fx)
			return
		default:
			r.tail = append(r.tail, m.List[i])
		}
	}
	if r.next() > r.holdings[r.best].Last {
		c.askTail(fx)
	}
}

// last is the newest record that the one before has numbered, as far as anybody knows.
func (r *recovery) last() (n bellows.CommitNumber) {
	for _, h := range r.holdings {
		if h != nil {
			n = max(n, h.Last)
		}
	}
	return n
}

// at is a record of the tail; nil: it has none of that number.
func (r *recovery) at(n bellows.CommitNumber) *wire.Record {
	if n < r.need || n >= r.need+bellows.CommitNumber(len(r.tail)) {
		return nil
	}
	return &r.tail[n-r.need]
}

// recovered goes on where the one before has ended: it replays, and then makes up for what was under way.
func (c *Controller) recovered(fx *Effects) {
	r := c.recovery
	c.replay(fx)
	if told := c.cfg.TellFrom; told > c.log.Number()+1 && c.ending == nil && !planted.On("told-and-lost") {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: the controller before has told of record %d, and no lane has more than %d", told-1, c.log.Number())}, fx)
	}
	if r.driver != nil && c.ending == nil {
		c.end(&Outcome{Kind: bellows.Bug, Err: r.driver, Reason: "the job cannot be recovered: the driver does not do again what it did"}, fx)
	}
	if c.ending != nil {
		return
	}
	c.recovery, c.begun = nil, true
	c.log.Confirm(r.upTo)
	fx.Route = c.roster.Route()
	c.catchUp(r, fx)
	c.partAll(r, fx)
	c.sendRecords(fx)
	c.roster.VoidCopies(&fx.Outbox)
	for _, n := range c.roster.Removed() { // whoever heard it from the controller before may not have acted on it
		fx.Buried = append(fx.Buried, Buried{Node: n, Reason: fmt.Sprintf("node %d is gone: the controller before has declared it so", n), Again: true})
	}
	c.announced = len(c.staleness)
	for _, a := range append(slices.Clone(c.roster.Clients()), c.roster.Leavers()...) {
		if a.Role == wire.Client && !planted.On("client-not-told-again") {
			c.welcome(a, c.roster.Whole(), fx)
		}
	}
	if c.decided(r, fx); c.ending == nil && !planted.On("dispatch-not-repeated") {
		for _, t := range c.outstanding() {
			c.dispatchTo(c.roster.Route().Node(t.Unit.Split), t.Commit).Append(t.Unit, t.Args)
		}
		c.waits.Restart(c.nowMillis)
	}
	for _, d := range append(r.whole(), r.dones...) {
		c.takeDone(d.From, d.Done, fx)
	}
	for _, m := range r.kept {
		wire.Free(m)
	}
	if c.ending == nil && c.tasks > 0 { // else it has ended before somebody wanted out
		c.drain()
	}
}

// replay lets the driver do again what it has done, with nothing emitted. The records are what it
// was told, and what it asked for.
func (c *Controller) replay(fx *Effects) {
	r := c.recovery
	for i := range r.tail {
		if r.tail[i].Number > r.from.Commit && !planted.On("tail-unmeasured-after-failover") {
			c.log.Measure(&r.tail[i])
		}
	}
	last := max(c.log.Number(), r.need-1+bellows.CommitNumber(len(r.tail)))
	if r.from.Commit == 0 {
		if one := r.at(1); one != nil && one.Control.Kind == bellows.Drain && one.Control.Clock == bellows.NoClock {
			c.log.Advance()
			c.draining = true // before anything was dispatched
		}
		c.dispatchFirst(fx)
	}
	for c.log.Number() < last && r.driver == nil && c.ending == nil {
		one := r.at(c.log.Number() + 1)
		switch one.Control.Kind {
		case bellows.NoControl:
			c.replayFlush(one, fx)
		case bellows.Drain:
			c.log.Replay(one)
			c.draining = true
		case bellows.CutTables:
			c.log.Replay(one)
		case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane, bellows.RemoveClient, bellows.LoseClient:
			c.replayRoute(one)
		default:
			r.driver = fmt.Errorf("record %d is %+v, for which it has not asked", one.Number, one.Control)
		}
	}
}

// replayFlush takes the record of a flush that counts.
func (c *Controller) replayFlush(one *wire.Record, fx *Effects) {
	c.log.Replay(one)
	c.gather(one.Pairs, one.Results)
	c.roster.AddSent(one.Flush.Client, one.Sent)
	if c.tells() {
		c.log.AddVisits(one.Results, &fx.Told)
	}
	for i := range one.Results {
		if err := c.completeUnit(one.Results[i].Unit); err != nil {
			c.recovery.driver = fmt.Errorf("record %d: %w", one.Number, err)
			return
		}
	}
	c.tellDriver(one.Flush.Client, one.Results, fx)
}

// tells reports whether the visits of the newest record are reported. During a replay, those are not that the controller
// before has reported for certain.
func (c *Controller) tells() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.log.Number() >= c.cfg.TellFrom
}

// tellsEpochs reports whether an epoch that ends with the newest record is reported. An epoch is reported after the
// visits up to its record, and the controller before may have reported only these. To report an epoch twice is harmless.
func (c *Controller) tellsEpochs() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.log.Number()+1 >= c.cfg.TellFrom
}

// replayRoute takes the record of a change of the route.
func (c *Controller) replayRoute(one *wire.Record) {
	c.log.Replay(one)
	change := &one.Control
	if planted.On("replay-forgets-route") {
		return
	}
	if err := c.roster.Replay(*change, c.nowMillis); err != nil {
		c.recovery.driver = fmt.Errorf("record %d: %w", c.log.Number(), err)
		return
	}
	if change.Kind == bellows.MoveSplit {
		c.renew(change.Split)
	}
}

// partAll counts those who were removed no more among the job's; those whom an heir has are not
// leaving either, and their nodes may go.
func (c *Controller) partAll(r *recovery, fx *Effects) {
	for _, a := range c.roster.SettleRemoved(r.adopted, c.nowMillis) {
		c.log.Remove(a)
	}
	for _, one := range r.adopted {
		if one.Kind != bellows.LoseClient && !planted.On("left-not-told-again") {
			c.vacate(one.Node, fx)
		}
	}
}

// replayMove takes the record of a split that moved between two of its clocks: it stands before
// what follows the dispatch of the second.
func (c *Controller) replayMove(s bellows.SplitID) {
	if c.progress.Split(s)+1 < c.next[s] {
		return // it moved since what was out of it was given back
	}
	if one := c.recovery.at(c.log.Number() + 1); one != nil && one.Control.Kind == bellows.MoveSplit && one.Control.Split == s {
		c.replayRoute(one)
	}
}

// repeats reports whether a control record is one that the driver has asked for before.
func (c *Controller) repeats(r bellows.Control) bool {
	if c.recovery == nil {
		return false
	}
	one := c.recovery.at(c.log.Number() + 1)
	if one == nil {
		return false
	}
	if one.Control != r {
		c.recovery.driver = errors.Join(c.recovery.driver, fmt.Errorf("record %d is %+v, and now it asks for %+v", one.Number, one.Control, r))
	}
	return true
}

// catchUp tells lanes that are behind what the others have.
func (c *Controller) catchUp(r *recovery, fx *Effects) {
	for i, l := range c.roster.Lanes() {
		switch {
		case r.holdings[i] == nil || r.holdings[i] == &absent || planted.On("lane-left-behind"):
			continue
		case c.fresh(r, i):
			c.welcome(l, c.roster.Whole(), fx)
			continue
		}
		var m *wire.Records
		for n := r.holdings[i].Last + 1; r.at(n) != nil; n++ {
			one := r.at(n)
			done := wire.Done{Flush: one.Flush, Pairs: one.Pairs, Results: one.Results, Sent: one.Sent}
			if m != nil && (len(m.List) >= c.cfg.Limits.Records || !m.Room(&done)) {
				fx.Send(c.cfg.Controller, l, m)
				m = nil
			}
			if m == nil {
				m = wire.New[wire.Records]()
				m.Term = c.cfg.Term
			}
			if one.Control.Kind != bellows.NoControl {
				m.AppendControl(n, one.Control)
			} else {
				m.Append(n, &done)
			}
		}
		if m != nil {
			fx.Send(c.cfg.Controller, l, m)
		}
	}
}

// whole are the flushes that the lanes hold and nobody has numbered, as if their clients said that
// they are done: every part of them is held. They come in the order of clocks.
func (r *recovery) whole() (list []journal.Arrival) {
	var all []wire.HeldFlush
	at := map[bellows.FlushID]int{}
	for _, h := range r.holdings {
		if h == nil || planted.On("held-not-asked") {
			continue
		}
		for _, f := range h.Flushes {
			i, known := at[f.Flush]
			if !known {
				i = len(all)
				at[f.Flush] = i
				all = append(all, f)
				all[i].Held = nil
			}
			all[i].Held = union(all[i].Held, f.Held)
			if len(f.Done) > 0 {
				all[i].Done, all[i].Sent = f.Done, f.Sent
			}
		}
	}
	for _, p := range all {
		if len(p.Done) == 0 || len(p.Held) < len(p.Pairs) && !planted.On("part-taken-for-whole") {
			continue
		}
		d := wire.New[wire.Done]()
		d.Flush, d.Clock, d.Pairs = p.Flush, p.Clock, append(d.Pairs, p.Held...)
		for _, one := range p.Done {
			d.Append(one.Unit, one.Values)
		}
		d.Sent = append(d.Sent, p.Sent...)
		list = append(list, journal.Arrival{From: wire.ClientAt(p.Flush.Client), Done: d})
	}
	slices.SortFunc(list, func(a, b journal.Arrival) int {
		f, g := a.Done.Flush, b.Done.Flush
		return cmp.Or(cmp.Compare(a.Done.Clock, b.Done.Clock), cmp.Compare(f.Client, g.Client), cmp.Compare(f.Incarnation, g.Incarnation), cmp.Compare(f.Seq, g.Seq))
	})
	return list
}

// union adds pairs to others. Of a partition that has moved meanwhile a lane that is behind may have
// a part, too: the owner of now counts.
func union(list, more []wire.Pair) []wire.Pair {
	for _, p := range more {
		switch i := slices.IndexFunc(list, func(o wire.Pair) bool { return o.Ref == p.Ref }); {
		case i < 0:
			list = append(list, p)
		case p.Generation > list[i].Generation:
			list[i] = p
		}
	}
	return list
}

// awaitLanes names the lanes that keep the controller from going on where the one before has ended,
// and gives up in the end.
func (c *Controller) awaitLanes(fx *Effects) {
	waited, name := c.waits.Look(c.nowMillis, c.cfg.Times.Notice)
	late := waited > c.cfg.Times.Task
	if !name && !late {
		return
	}
	var open []wire.Address
	for i, h := range c.recovery.holdings {
		if h == nil || c.recovery.best == i {
			open = append(open, c.roster.Lanes()[i])
		}
	}
	if late {
		c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("the job cannot be recovered: %v has not said what it holds for %.1f s", open[0], float64(waited)/1000)}, fx)
		return
	}
	c.nameOpen("the controller has waited %.1f s for what %s holds, and gives up after %.1f s", waited, open, c.cfg.Times.Task, fx)
}
