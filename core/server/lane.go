package server

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/closing"
	"bellows/core/fence"
	"bellows/core/gate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/core/reads"
	"bellows/core/route"
	"bellows/core/shard"
	"bellows/core/tail"
	"bellows/link/wire"
)

// Options are what is a lane's own beside its job. None of them changes a result.
type Options struct {
	// HeldBytesMax caps the bytes of flushes that are held and not recorded. Above it only a flush
	// below all held ones, by (clock, node), is taken, and of each client at most one more than
	// twice its splits. 0: no cap.
	HeldBytesMax int
	// KeySeed is a number that no peer knows, so that none can choose keys that fall on one place
	// of an index (keys.Index). It changes nothing that is seen. 0: everybody knows it.
	KeySeed uint64
	Blank   bool // partitions are loaded before the first step (Load), and so not filled by their initialisers
	Limits  Limits
	// Follow, if it is set, is called with each partition that the lane makes, before its first change:
	// readers of its log are attached there (partition.Log). They include copies that are sent here.
	Follow func(*partition.Partition)
}

// config is what a lane is made of. Its Times have no lease where it is in one process with the
// controller, and hears it.
type config struct {
	core.Job
	Options
	Self wire.Address
}

// Limits are what a lane bounds by itself. Each field is 0, for the default, or less than that,
// which changes no result: tests make them small, to reach them.
type Limits struct {
	// Parked bounds the reads that wait at the lane, the flushes that wait for room there, and the
	// requests for leases on a partition: by default 65,536, far more than the tasks of a job ask
	// at once. Whoever asks for more breaks the protocol.
	Parked int
	// RelayWords is about how many words of four bytes go into one message of rows that come
	// unasked: by default 4,194,304, so that none comes near the limit of a frame.
	RelayWords int
	// Commitments is how many flushes one message says to be committed: by default as many as it
	// may have, wire.CommittedMost.
	Commitments int
	// Tail is how many bytes of records are kept for another controller, beyond which the oldest
	// are let go: by default 4 MiB. A record of eight units takes 60. A job whose controller is
	// saved more seldom cannot be recovered. Negative: none are kept, as where the controller and
	// all lanes are one process, which nothing outlives.
	Tail int
	// Ahead is about how many bytes of pushes may wait for records of the route that they go by: by
	// default 32 MiB. What comes above is refused as stale, and so comes again: a lane that is so
	// far behind takes no more memory.
	Ahead int
	// Unread is about how many words of four bytes may be on their way to another node before it is
	// sent more: by default 8 Mi, 32 MiB. Less makes questions of a node wait that is slow to read;
	// more is memory here for each node that does not read.
	Unread int
	// Digits is how many new keys of a partition are sorted digit by digit: by default as many as
	// package store finds worth it.
	Digits int
	// Slab is how many values of a partition go into one message of its state: by default as many
	// as checkpoint.Sender has it, and 65,536 where the partition goes to another lane.
	Slab int
	// Window is how many bytes of rows may be on their way to a lane that is to own their
	// partition: by default 1 MiB, little beside what training sends.
	Window int
	// Behind is how many bytes of what changes a partition may be on their way to such a lane: by
	// default 1 GiB. Above that the move is given up.
	Behind int
	// Log is how many bytes of changes a partition keeps for the slowest cursor over its log: by
	// default partition.LogMax. Above that the cursor is lost, and its owner starts over.
	Log int
	// Copies is how many bytes a cut may take here, of what has changed since: by default 1 GiB.
	// Above that the cut is given up.
	Copies int
}

// The defaults of Limits; that of Commitments is wire's.
const (
	parkedMax  = 1 << 16
	relayMost  = 4 << 20
	unreadMost = 8 << 20
	aheadMost  = 32 << 20

	handoffSlab   = 64 << 10
	handoffWindow = 1 << 20
	handoffBehind = 1 << 30

	copiesMost = 1 << 30
)

// orDefault is the limits as they apply.
func (l Limits) orDefault() Limits {
	l.Parked = cmp.Or(l.Parked, parkedMax)
	l.RelayWords = cmp.Or(l.RelayWords, relayMost)
	l.Commitments = cmp.Or(l.Commitments, wire.CommittedMost)
	l.Unread = cmp.Or(l.Unread, unreadMost)
	l.Tail = cmp.Or(l.Tail, tail.BytesMost)
	l.Ahead = cmp.Or(l.Ahead, aheadMost)
	l.Copies = cmp.Or(l.Copies, copiesMost)
	l.Window, l.Behind = cmp.Or(l.Window, handoffWindow), cmp.Or(l.Behind, handoffBehind)
	return l
}

// Lane holds the partitions that the route gives to its address: it serves reads and leases of
// them, and is a participant of the commit protocol: it holds what is pushed (its vote), unseen,
// until a record of the controller (the decision) gives it a number.
//
// States. A lane that the job's first route has begins at once, another when the controller says so
// (begun). From the controller's End on it is closing: what is pushed is taken yet, since the audit
// counts it. It is closed when the controller and every client that still can have said that
// nothing more comes; then it only gives its state away and says its last word again. It is cut
// while it has not heard the controller for a lease: nothing is read or leased, and all else goes on. It is
// broken when somebody has sent what cannot be; then only the end counts.
//
// Invariants, and what holds them:
//
//   - Records are taken in the order of their numbers, each once; what is applied is the effect of
//     exactly those up to applied: P1 of the simulation, byte for byte.
//   - A flush without a number is seen by nobody: TestBarrierShowsAClockAtOnce,
//     TestAsyncShowsEachCommit.
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

	// What is recorded.
	tail tail.Tail

	// What is here.
	shard *shard.Shard

	// Under way.
	flushes *prepare.Flushes // that have no number
	reads   *reads.Reads

	// Of the message or the step that is being taken, and memory that is used again.
	news      []news   // what has been committed
	numbered  []*flush // by the record
	spare     []*flush
	spareRows [][]uint32
	fx        partition.Effects

	// Whose messages are taken.
	terms   fence.Terms
	clients fence.Clients
	silence fence.Silence

	// The route: what waits for newer ones.
	begun bool              // it takes part by the route; before that it knows no records
	added []bellows.Control // who takes part since the job's beginning, or did: he may be leaving
	ahead []ahead

	moves moves
	cuts  checkpoint.Giver

	// The end.
	ending    *closing.Closing
	broken    bool            // only the end counts any more
	complaint *wire.Complaint // why: somebody sent what cannot be
}

// NewLane makes the lane whose address in the job is self, with its partitions filled by their initialisers, or Blank.
func NewLane(job core.Job, self wire.Address, opt Options) (*Lane, error) {
	cfg := config{job, opt, self}
	if self.Node == cfg.Controller.Node {
		cfg.Times.Lease = 0
	}
	if cfg.Times.Lease > 0 {
		cfg.Times = cfg.Times.Or()
	}
	cfg.Limits = cfg.Limits.orDefault()
	l := &Lane{cfg: cfg, ending: closing.New(self, cfg.Controller, len(cfg.Tables), cfg.Limits.Slab)}
	l.shard = shard.New(shard.Config{Self: self, Tables: slices.Clone(cfg.Tables), Route: cfg.Route, Items: cfg.Items,
		KeySeed: cfg.KeySeed, Blank: cfg.Blank, Digits: cfg.Limits.Digits, LogMax: cfg.Limits.Log, Cuts: &l.cuts,
		Follow: cfg.Follow})
	l.flushes = prepare.New(prepare.Config{Self: self, Controller: cfg.Controller, Tables: cfg.Tables, Route: cfg.Route,
		HeldBytesMax: cfg.HeldBytesMax, WaitingMax: cfg.Limits.Parked})
	l.reads = reads.New(reads.Config{Self: self, Max: cfg.Limits.Parked, RelayWords: cfg.Limits.RelayWords,
		Unread: cfg.Limits.Unread})
	l.cuts.Most = cfg.Limits.Copies
	for _, a := range cfg.Clients {
		l.clients.Add(a, cfg.Incarnation(a))
		l.ending.AddClient(a)
	}
	if l.begun = slices.Contains(cfg.Route.Lanes(), self); !l.begun {
		return l, nil
	}
	for ref := range cfg.Route.All() {
		if cfg.Route.Owner(ref).Lane == cfg.Self {
			if err := l.shard.Fill(ref); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// Step takes messages in the order in which they arrived and appends the answers to out.
//
// The order within a step is part of the protocol. Each message is followed by tell, so that a
// client knows the number of a flush before any row that shows it leaves, on the same link
// (docs/decisions/0007). Rows to subscribers leave before the answers to reads; both once for the
// whole batch, so that a clock that many messages complete is one message a client.
func (l *Lane) Step(batch []wire.Envelope, out *wire.Outbox) {
	out.Era = l.cfg.Era
	for _, e := range batch {
		if own := e.Kind() == 0; own || e.IsOfEra(l.cfg.Era) { // what never travels is of this node and of now
			l.take(e, out)
			l.tell(out)
		}
	}
	l.takeAhead(out)
	if !l.broken {
		l.takeOffers(out)
		l.serve(out)
		l.stream(out)
		l.tellCut(out)
	}
	l.tellTaken(out)
	l.ending.Send(l, out)
}

// take gives a message to whom it is for. Three questions come first, and their order matters: is
// it of a controller or a client that is heard at all; is it one that comes in any state; and is it
// by a route that this lane has not come to yet, behind which all that its client says must wait.
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
		if !l.broken {
			l.takeTaken(e.From, m, out)
		}
		return
	}
	if l.ending.Closed() { // what else comes now has come before
		if m, end := e.Message.(*wire.End); end {
			l.ending.TakeAgain(e.From, m, l.flushes.Missed(), out)
		}
		return
	}
	if _, end := e.Message.(*wire.End); l.broken && !end {
		return
	}
	if l.isAhead(&e) {
		l.keepAhead(e, out)
		return
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		l.takePush(e.From, m, out)
	case *wire.Closed:
		l.takeCounts(closing.FinalCounts{From: e.From, Closed: m}, out)
	case *wire.Records:
		for i := range m.List {
			if l.ending.Removed() && !planted.On("removed-goes-on") { // another controller has not heard of that
				m.List = m.List[:i]
				break
			}
			if !l.broken {
				l.takeRecord(e.From, &m.List[i], out)
			}
		}
		if !l.broken { // by what it has
			l.tail.Add(m, l.cfg.Limits.Tail)
			l.tail.Forget(m.Keep)
		}
		wire.Free(m)
	case *wire.Pull:
		l.takePull(e.From, m, out)
	case *wire.Inquiry:
		l.takeInquiry(e.From, m, out)
	case *wire.Unsubscribe:
		l.reads.Unsubscribe(l.shard, partition.Subscriber{Address: e.From, Incarnation: m.Incarnation}, m.Pair)
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
		l.takeHandoff(m, out)
	case *wire.Piece:
		l.takePiece(e.From, m, out)
	case *wire.Cut:
		l.cuts.Take(m)
	case *checkpoint.Stored:
		l.cuts.Stored(m)
	case *checkpoint.Failed:
		if m.Commit == l.cuts.At() {
			l.cuts.Fail(m.Reason)
		}
	case *wire.End:
		l.takeEnd(e.From, m, out)
	}
}

// refuse answers a question that is not served: it is to be asked again by another route, or can never be.
func (l *Lane) refuse(to wire.Address, request uint64, err error, out *wire.Outbox) {
	if err == route.ErrStale {
		out.Send(l.cfg.Self, to, &wire.Stale{Route: l.shard.Route().Version(), Request: request})
		return
	}
	out.Send(l.cfg.Self, to, refusal(bellows.FlushID{}, err))
}

// refusal is the answer to a request that cannot be served, ever. One that nobody classified comes from a
// peer of another time or kind.
func refusal(f bellows.FlushID, err error) *wire.Refused {
	r := &wire.Refused{Flush: f, Kind: bellows.Lost, Reason: err.Error()}
	if e := (*bellows.Error)(nil); errors.As(err, &e) {
		r.Kind = e.Kind
	}
	return r
}

// breach ends the lane's work: what it was sent cannot be.
func (l *Lane) breach(from wire.Address, out *wire.Outbox, format string, args ...any) {
	if l.broken {
		return
	}
	l.broken = true
	l.complaint = &wire.Complaint{Node: from.Node, Breach: true, Reason: fmt.Sprintf("%v cannot go on with what %v sent: %s", l.cfg.Self, from, fmt.Sprintf(format, args...))}
	l.complain(out)
}

// complain tells the controller, and each that follows it, why the lane does not go on
// (TestALaneComplainsToEachController).
func (l *Lane) complain(out *wire.Outbox) {
	said := *l.complaint
	out.Send(l.cfg.Self, l.cfg.Controller, &said)
}

// Progress is how far the job has come by the records taken.
func (l *Lane) Progress() *gate.Progress { return l.shard.Progress() }

// Refused returns how many messages of earlier controllers the lane has dropped.
func (l *Lane) Refused() int { return l.terms.Dropped() }

// Applied is the number of the last record taken.
func (l *Lane) Applied() bellows.CommitNumber { return l.shard.Applied() }
