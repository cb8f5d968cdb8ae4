package jobend

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/membership"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Ending is how far the end of a job is. It is
//
//	open        not begun: the job continues
//	closing     every actor was sent the end; some have not closed
//	collecting  all have closed, and lanes send the state
//	over        the outcome is final
//
// Invariants, and what holds them:
//
//   - An actor's final counts count once, also if a lane has taken them over: TestCountsAreAddedOnce.
//   - The end is over once, and only when nothing more is waited for: TestTheEndIsOverOnce.
//   - A lost node costs the state only if it owes a part of it: TestOnlyAnOwnerTakesTheState.
//   - Each wait is named, and given up: TestTheEndIsGivenUp.
type Ending struct {
	job        *core.Job
	term       bellows.Term
	collector  *checkpoint.Collector // nil: the state is not collected
	outcome    *Outcome              // nil: the job continues
	unread     bool                  // the controller did not know yet what the previous one had recorded
	open       []wire.Address        // actors that have not closed
	closed     []final               // counts of those that have
	collecting bool                  // all have closed
	hurried    bool                  // lanes were asked to close without the End of clients
	over       bool
	wait       liveness.Wait
}

// final is an actor's last message.
type final struct {
	from    wire.Address
	message *wire.Closed
}

// New returns the end of a job that continues, for the controller of a term. The collector may be nil: then the state
// is not collected.
func New(job *core.Job, term bellows.Term, collector *checkpoint.Collector) *Ending {
	return &Ending{job: job, term: term, collector: collector}
}

// Begun reports whether the job is to end.
func (e *Ending) Begun() bool { return e.outcome != nil }

// Collecting reports whether all actors have closed and the state is on its way.
func (e *Ending) Collecting() bool { return e.collecting && !e.over }

// Finished reports whether the outcome is final.
func (e *Ending) Finished() bool { return e.over }

// Outcome returns the outcome, which is final when the end is over; nil: the job continues.
func (e *Ending) Outcome() *Outcome { return e.outcome }

// Begin ends the job. Unread says that this controller does not know yet what the previous one has recorded.
func (e *Ending) Begin(o *Outcome, unread bool, nowMillis int64) {
	e.outcome, e.unread = o, unread
	e.Restart(nowMillis)
}

// Restart begins the current wait again.
func (e *Ending) Restart(nowMillis int64) { e.wait.Restart(nowMillis) }

// Skip leaves out time in which the controller slept.
func (e *Ending) Skip(millis int64) { e.wait.Skip(millis) }

// TellAll sends every actor the end, and waits until it has closed. Nodes that are lost are sent it too, for when they
// come back.
func (e *Ending) TellAll(g *membership.Group, out *wire.Outbox) {
	all := slices.Concat(g.Lanes(), g.Clients())
	for _, a := range g.Leavers() {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	e.TellSome(all, g, out)
}

// TellSome sends wire.End to actors, and adds those that are neither lost nor gone to the ones that must still close.
func (e *Ending) TellSome(list []wire.Address, g *membership.Group, out *wire.Outbox) {
	for _, a := range list {
		switch {
		case planted.On("gone-not-told") && g.Lost(a.Node):
			continue
		case !g.Lost(a.Node) && !g.HasLeft(a.Node): // an actor that has left may not know it yet
			e.open = append(e.open, a)
		}
		e.Send(a, g, out)
	}
}

// TellOpen sends the end again to lanes that have not closed, or that owe the state. They may wait for a client that is
// lost to pass the end on, and do nothing before.
func (e *Ending) TellOpen(g *membership.Group, out *wire.Outbox) {
	list := e.open
	if e.collecting {
		list = e.collector.Open()
	}
	for _, a := range list {
		if a.Role == wire.Lane {
			e.Send(a, g, out)
		}
	}
}

// Send sends an actor the end, with the nodes that are lost: a lane waits for every other client to pass the end on,
// after everything that it has sent (docs/decisions/0006). A lane that is behind, or takes no more records, does not
// know which actors have left. A client that is broken, or has ended for the previous controller, accepts no
// new route, so the message names the lanes.
func (e *Ending) Send(to wire.Address, g *membership.Group, out *wire.Outbox) {
	m := &wire.End{Term: e.term, Commit: e.outcome.Commits, Reason: e.outcome.Reason, Kind: e.outcome.Kind}
	m.Parts = e.hurried && to.Role == wire.Lane
	if lost := g.AllLost(); len(lost) > 0 && !planted.On("gone-awaited") {
		m.Gone = slices.Clone(lost) // a message is its receiver's
	}
	if e.unread || slices.Contains(g.Leavers(), to) && !planted.On("left-awaited-by-leaver") {
		m.Gone = append(m.Gone, g.AllLeft()...)
	}
	if to.Role == wire.Client {
		for _, l := range slices.Concat(g.Lanes(), g.Leavers()) {
			if l.Role == wire.Lane && !g.IsFirst(l) && !planted.On("lane-unnamed-at-the-end") {
				m.Lanes = append(m.Lanes, wire.LaneName{Node: l.Node, Index: l.Index})
			}
		}
	}
	out.Send(e.job.Controller, to, m)
}

// TakeClosed takes an actor's last message, and reports whether it was waited for. An actor sends it to each
// controller once. If a lane has taken over the counts of other actors, it also stops waiting for them: they may have
// left, unknown to a controller that takes over and ends at once.
func (e *Ending) TakeClosed(from wire.Address, m *wire.Closed, g *membership.Group) bool {
	i := slices.Index(e.open, from)
	if e.outcome == nil || i < 0 {
		return false
	}
	e.closed = append(e.closed, final{from, m})
	e.open = slices.Delete(e.open, i, i+1)
	e.Spare(m.Adopted, g)
	return true
}

// Spare stops waiting for actors that were removed, if a lane has their counts.
func (e *Ending) Spare(adopted []bellows.Control, g *membership.Group) {
	for _, removal := range adopted {
		a, _ := g.Route().Removed(removal)
		e.open = slices.DeleteFunc(e.open, func(b wire.Address) bool { return a == b })
	}
}

// Lose stops waiting for a node that is lost. If it owes a part of the state, the state is lost.
func (e *Ending) Lose(n bellows.NodeID, reason string) {
	if e.collecting {
		e.Withhold(n, reason)
		return
	}
	e.open = slices.DeleteFunc(e.open, func(a wire.Address) bool { return a.Node == n })
}

// Withhold gives the state up if a node owes a part of it.
func (e *Ending) Withhold(n bellows.NodeID, reason string) {
	if e.Collecting() && e.collector.Owes(n) {
		e.collector.Fail(errors.New(reason))
	}
}

// Spares reports whether the state can be collected without a node. If that node is lost, only its final counts are
// lost with it.
func (e *Ending) Spares(n bellows.NodeID, g *membership.Group) bool {
	switch {
	case e.over || !e.collects() || planted.On("state-not-spared"):
		return false
	case e.collecting:
		return !e.collector.Owes(n)
	}
	return !slices.ContainsFunc(g.Route().Lanes(), func(a wire.Address) bool { return a.Node == n })
}

// collects reports whether the state is to be collected.
func (e *Ending) collects() bool { return e.collector != nil && !e.outcome.Failed() }

// Proceed continues when nothing more is waited for: first with the state, if it is to be collected. It reports whether
// the end is over since this call.
func (e *Ending) Proceed(g *membership.Group, log *journal.Journal, nowMillis int64, out *wire.Outbox) bool {
	if e.outcome == nil || e.over || len(e.open) > 0 {
		return false
	}
	if !e.collecting {
		e.outcome.Counts = e.total(g, log)
		if !e.collects() {
			e.over = true
			return true
		}
		e.collect(g, nowMillis, out)
	}
	if !e.collector.Finished() {
		return false
	}
	if err := e.collector.Err(); err != nil {
		e.outcome.Uncollected = &bellows.Error{Kind: bellows.Lost, Op: "collect the model", Err: err}
	}
	e.over = true
	return true
}

// collect asks the lanes for the state, unless one of them is lost.
func (e *Ending) collect(g *membership.Group, nowMillis int64, out *wire.Outbox) {
	e.collecting = true
	e.Restart(nowMillis)
	e.collector.Follow(g.Route())
	e.collector.Begin(e.outcome.Interrupted)
	for _, a := range e.collector.Open() {
		if g.Lost(a.Node) {
			e.collector.Fail(errors.New(g.Why(a.Node)))
			return
		}
	}
	for _, a := range e.collector.Open() {
		e.ask(a, e.collector.Ask(), out)
	}
}

// ask asks a lane for state.
func (e *Ending) ask(lane wire.Address, m *wire.Collect, out *wire.Outbox) {
	m.Term = e.term
	out.Send(e.job.Controller, lane, m)
}

// TakeSlab takes a piece of the state, and asks for another. An error means a breach of the protocol. Pieces for an
// earlier controller are ignored.
func (e *Ending) TakeSlab(from wire.Address, m *wire.Slab, nowMillis int64, out *wire.Outbox) error {
	if e.over || m.Term > 0 && m.Term < e.term {
		return nil
	}
	if err := e.asked().Take(from, m); err != nil {
		return err
	}
	e.wait.Next(nowMillis)
	e.ask(from, e.collector.More(), out)
	return nil
}

// TakeCollected takes a lane's message that it has sent all of the state. An error means a breach of the
// protocol.
func (e *Ending) TakeCollected(from wire.Address, m *wire.Collected, nowMillis int64) error {
	if e.over || m.Term > 0 && m.Term < e.term {
		return nil
	}
	err := e.asked().End(from, m)
	if err == nil {
		e.wait.Next(nowMillis)
	}
	return err
}

// asked returns the collector, or one that has asked for nothing.
func (e *Ending) asked() *checkpoint.Collector {
	if e.collector == nil {
		return &checkpoint.Collector{}
	}
	return e.collector
}

// Await checks the current wait without blocking. It gives up what is overdue, and returns a sentence about what has
// been awaited for long; empty: none.
func (e *Ending) Await(nowMillis int64, g *membership.Group, out *wire.Outbox) (notice string) {
	times := &e.job.Times
	waited, name := e.wait.Look(nowMillis, times.Notice)
	if !e.collecting && !e.hurried && e.outcome.Reason == "" && 4*waited > 3*times.End {
		e.hurry(g, out)
	}
	switch {
	case !e.collecting && waited > times.End:
		e.open = nil
	case !e.collecting && name:
		const open = "the end of the job has waited %.1f s for the last word of %s, and goes on without after %.1f s"
		return NameWait(open, waited, e.open, times.End)
	case e.collecting && waited > times.Collect:
		e.collector.Fail(fmt.Errorf("nothing has come of %v for %.1f s", e.collector.Open()[0], float64(waited)/1000))
	case e.collecting && name:
		return NameWait("collecting the model has waited %.1f s for %s, and gives up after %.1f s",
			waited, e.collector.Open(), times.Collect)
	}
	return ""
}

// hurry asks lanes of a job that has finished to close without the End of clients. An End may be on its way for longer
// than the lanes are waited for, after the changes of a partition that moves over a narrow link. Each push of the job
// has a number, so that every lane has already taken its part of it.
func (e *Ending) hurry(g *membership.Group, out *wire.Outbox) {
	e.hurried = true
	e.TellOpen(g, out)
}

// NameWait returns a sentence about actors that are waited for. The format has verbs for the time that was waited, the
// actors, and the time after which the wait is given up.
func NameWait(format string, waitedMillis int64, list []wire.Address, lateMillis int64) string {
	if planted.On("end-unnamed") {
		return ""
	}
	var names []string
	for _, a := range list {
		names = append(names, a.String())
	}
	return fmt.Sprintf(format, float64(waitedMillis)/1000, strings.Join(names, ", "), float64(lateMillis)/1000)
}

// total returns the counts of the job, by the final counts of its actors. Those of an actor that was removed are in the
// counts of its successor.
func (e *Ending) total(g *membership.Group, log *journal.Journal) (counts wire.Counts) {
	var adopted []wire.Address
	for _, f := range e.closed {
		for _, removal := range f.message.Adopted {
			a, _ := g.Route().Removed(removal)
			adopted = append(adopted, a)
		}
	}
	for _, f := range e.closed {
		if !slices.Contains(adopted, f.from) || planted.On("bequest-counted-twice") {
			counts.Add(&f.message.Counts)
			e.addMissed(&counts, f.message.Missed, g, log)
		}
	}
	g.AddLostCounts(&counts)
	return counts
}

// addMissed adds what a lane that was removed has missed of flushes that never got a number.
func (e *Ending) addMissed(to *wire.Counts, list []wire.Missed, g *membership.Group, log *journal.Journal) {
	if len(list) > 0 {
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, len(e.job.Tables)))
	}
	for _, m := range list {
		if !log.Counted(m.Flush) && !g.IsRemoved(m.Flush.Client) {
			to.Dropped += m.Rows
			to.Ledgers[m.Ref.Table].Dropped += m.Bits
		}
	}
}
