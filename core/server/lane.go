package server

import (
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/commits"
	"bellows/core/fence"
	"bellows/core/laneend"
	"bellows/core/lanestate"
	"bellows/core/migration"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/core/reads"
	"bellows/core/recordlog"
	"bellows/core/waitlist"
	"bellows/link/wire"
)

// Lane holds the partitions that the route gives to its address: it serves reads and leases of
// them, and is a participant of the commit protocol: it holds what is pushed (its vote), unseen,
// until a record of the controller (the decision) gives it a number.
//
// States. A lane of the job's first route begins at once, another when the controller orders it (begun). From the
// controller's End on it is closing: it still takes pushes, since the audit counts them. It is closed when the
// controller and every client that can still do so have sent their End; then it only sends its state and repeats its
// closing counts. It is cut while it has not heard the controller for a lease: reads and leases wait, and everything
// else continues. It is broken when a sender has violated the protocol; then only the end counts.
//
// Invariants, and what holds them:
//
//   - Records are taken in the order of their numbers, each once; the visible state is the effect of exactly those up
//     to applied: P1 of the simulation, byte for byte.
//   - No reader sees a flush without a number: TestBarrierShowsAClockAtOnce, TestAsyncShowsEachCommit.
//   - A read is answered when all that it needs is visible, and not under an exclusive lease of
//     another: TestLeases, P4 of the simulation.
//   - What is held, parked and kept is bounded (Limits): TestTheCapTakesTheLowestFlush,
//     TestReadsThatWaitAreBounded, TestFlushesThatWaitAreBounded, TestTheTailIsBounded. The cap
//     never stops the flush that the others wait for: the least by clock is always taken (hasRoom).
//   - Sent = applied + dropped, by rows and by bits: TestEndAccountsForEverything, the audit of
//     every schedule.
//   - A term below the highest heard, an owner of the past and a process that was declared gone
//     change nothing: TestALowerTermIsNotHeard, TestOtherGenerationsAreRefused, TestFence, P5 and
//     P11 of the simulation.
//
// It has no lock: one goroutine at a time steps it (fabric.Bus). Turned down: a lock for each
// partition, so that reads pass writes: a lane is the lock, and there are as many lanes as
// processors are worth; lanes that count votes among themselves: frames by clients times lanes
// (docs/decisions/0022).
type Lane struct {
	cfg config
	view
	log recordlog.Log // what was recorded last

	flushes *prepare.Flushes // without a number
	parts   parts            // as flushes asks for them
	reads   *reads.Reads
	ahead   *waitlist.List // messages by a newer route
	cuts    checkpoint.Giver

	// Whose messages are taken.
	clients fence.Clients
	silence fence.Silence

	begun bool              // it takes part by the route; before that it knows no records
	added []bellows.Control // additions of lanes and clients since the job's beginning; some may be leaving
	fault fault
}

// NewLane makes a lane with the address self in the job. Initialisers fill its partitions, unless they are Blank.
func NewLane(job core.Job, self wire.Address, opt Options) (*Lane, error) {
	cfg := config{job, opt, self}
	if self.Node == cfg.Controller.Node {
		cfg.Times.Lease = 0
	}
	if cfg.Times.Lease > 0 {
		cfg.Times = cfg.Times.Or()
	}
	cfg.Limits = cfg.Limits.orDefault()
	l := &Lane{cfg: cfg, fault: fault{self: self, controller: cfg.Controller}}
	l.self, l.ending = self, laneend.New(self, cfg.Controller, len(cfg.Tables), cfg.Limits.Slab)
	l.state = lanestate.New(lanestate.Config{Self: self, Tables: slices.Clone(cfg.Tables), Route: cfg.Route,
		Items: cfg.Items, KeySeed: cfg.KeySeed, Blank: cfg.Blank, Digits: cfg.Limits.Digits, LogMax: cfg.Limits.Log,
		Direct: cfg.Limits.Direct, Cuts: &l.cuts, Follow: cfg.Follow})
	l.flushes = prepare.New(prepare.Config{Self: self, Controller: cfg.Controller, Tables: cfg.Tables, Route: cfg.Route,
		HeldBytesMax: cfg.HeldBytesMax, WaitingMax: cfg.Limits.Parked})
	l.reads = reads.New(reads.Config{Self: self, Max: cfg.Limits.Parked, RelayWords: cfg.Limits.RelayWords,
		Unread: cfg.Limits.Unread})
	l.commits = commits.New(self, cfg.Limits.Commitments)
	l.parts = parts{l.state, l.commits}
	l.ahead = waitlist.New(cfg.Limits.Parked, cfg.Limits.Ahead)
	l.cuts.Most = cfg.Limits.Copies
	l.moves = migration.New(self, cfg.Controller, cfg.Limits.migration())
	for _, a := range cfg.Clients {
		l.clients.Add(a, cfg.Incarnation(a))
		l.ending.AddClient(a)
	}
	if l.begun = slices.Contains(cfg.Route.Lanes(), self); !l.begun {
		return l, nil
	}
	for ref := range cfg.Route.Each() {
		if cfg.Route.Owner(ref).Lane == cfg.Self {
			if err := l.state.Create(ref); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// Step takes messages in the order in which they arrived and appends the answers to out.
//
// The order within a step is part of the protocol. Commits are sent after each message, so that a
// client knows the number of a flush before any row that shows it leaves, on the same link
// (docs/decisions/0007). Rows to subscribers leave before the answers to reads; both once for the
// whole batch, so that a clock that many messages complete is one message a client.
func (l *Lane) Step(batch []wire.Envelope, out *wire.Outbox) {
	out.Era = l.cfg.Era
	for _, e := range batch {
		if own := e.Kind() == 0; own || e.IsOfEra(l.cfg.Era) { // messages that never travel are current
			l.take(e, out)
			l.commits.Send(out)
		}
	}
	l.takeAhead(out)
	if !l.fault.broken() {
		l.takeOffers(out)
		l.serve(out)
		l.stream(out)
		for _, m := range l.cuts.Say(l.state.Cuttable) {
			out.Send(l.cfg.Self, l.cfg.Controller, m)
		}
	}
	l.moves.TellOwners(out)
	l.ending.Send(l, out)
}

// take passes a message to its handler. Three questions come first, and their order matters: does it come from a
// controller or a client that is heard at all; may it come in any state; and does it name a route that this lane has
// not reached yet, so that all messages of its client wait for that route.
func (l *Lane) take(e wire.Envelope, out *wire.Outbox) {
	if !l.hears(&e) {
		return
	}
	switch m := e.Message.(type) { // what comes in any state
	case *wire.Collect:
		l.takeCollect(e.From, m, out)
		return
	case *wire.Query:
		l.takeQuery(e.From, m, out)
		return
	case *wire.Mark:
		l.reads.Mark(e.From.Node, m)
		return
	case *TasksEnded:
		l.ending.EndTasks()
		return
	case *Tick:
		l.Tick(m.NowMillis, m.Heard, out)
		return
	case *wire.Taken:
		if !l.fault.broken() {
			l.takeTaken(e.From, m, out)
		}
		return
	}
	if l.ending.Closed() { // what else comes now has come before
		if m, end := e.Message.(*wire.End); end {
			l.ending.TakeAgain(e.From, m, l.missed(), out)
		}
		return
	}
	if _, end := e.Message.(*wire.End); l.fault.broken() && !end {
		return
	}
	// A message of a client waits if it must, or if an earlier message of that client waits.
	if e.From.Role == wire.Client && !l.ending.Closing() &&
		(!l.begun || l.ahead.Includes(e.From) || waitlist.MustWait(&e, l.state, &l.clients)) {
		l.keepAhead(e, out)
		return
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		l.takePush(e.From, m, out)
	case *wire.Closed:
		l.takeCounts(laneend.FinalCounts{From: e.From, Closed: m}, out)
	case *wire.Records:
		for i := range m.List {
			if l.ending.Removed() && !planted.On("removed-goes-on") { // another controller has not heard of that
				m.List = m.List[:i]
				break
			}
			if !l.fault.broken() {
				l.takeRecord(e.From, &m.List[i], out)
			}
		}
		if !l.fault.broken() { // by what it has
			l.log.Add(m, l.cfg.Limits.Tail)
			l.log.Forget(m.Keep)
		}
		wire.Free(m)
	case *wire.Pull:
		l.takePull(e.From, m, out)
	case *wire.Inquiry:
		l.takeInquiry(e.From, m, out)
	case *wire.Unsubscribe:
		l.reads.Unsubscribe(l.state, partition.Subscriber{Address: e.From, Incarnation: m.Incarnation}, m.Pair)
	case *wire.Acquire:
		l.takeAcquire(e.From, m, out)
	case *wire.Release:
		l.takeRelease(e.From, m, out)
		wire.Free(m)
	case *wire.Route:
		l.begin(e.From, m, out)
	case *wire.Fence:
		l.takeFence(m, out)
	case *wire.Handoff:
		l.moves.TakeHandoff(m, l.state, &l.fx, out)
	case *wire.Piece:
		l.takePiece(e.From, m, out)
	case *wire.Cut:
		l.cuts.Take(m)
	case *checkpoint.Stored:
		l.cuts.Stored(m)
	case *checkpoint.Failed:
		if m.Commit == l.cuts.RecordNumber() {
			l.cuts.Fail(m.Reason)
		}
	case *wire.End:
		l.takeEnd(e.From, m, out)
	}
}

// takeAhead takes the messages that need not wait any more, in their order. take keeps the others again.
func (l *Lane) takeAhead(out *wire.Outbox) {
	if l.ahead.Empty() || !l.begun || l.fault.broken() {
		return
	}
	for _, a := range l.ahead.Take() {
		switch {
		case a.Refused == nil:
			l.take(a.Envelope, out)
			l.commits.Send(out)
		case !l.ahead.Again(a, l.state.Route().Version()):
			l.flushes.SayStale(a.Envelope.From, a.Refused, out)
		}
	}
}
