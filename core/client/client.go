// Package client is a node's view of the tables: it runs what the controller dispatches, answers
// reads from its cache or fetches them, and sends what finished tasks changed.
//
// A Client is a state machine. Its shell delivers messages with Deliver, starts the tasks that
// Effects.Run names, wakes those in Effects.Wake, calls Finish for every task it ran, and Tick a few
// times a second; a task calls Read and Lease before it looks at rows, and its own methods (View,
// Gather, AddRange, AddRow) without the shell's lock, since they touch only what the task has pinned.
// Rows of sparse tables go the same way by Group and ReadKeys, then ViewKey, GatherKeys and AddKey; their
// partitions are not leased.
//
// Deltas of finished tasks are summed per clock; a flush leaves when no unit of its clock is left on the
// node, or nothing else can run (Litz §4). Its parts are held at the lanes, then the controller is
// told, and only the lanes' Committed makes them count. The client never acts on a commit that no
// lane has told it. What comes from other nodes has passed package validate; an answer to what the client did not
// ask ends the job by a wire.Complaint that names the sender.
package client

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// Options are what is a client's own beside its job.
type Options struct {
	Limits Limits
	// KeySeed is a number that who makes the data does not know, so that no data has keys that fall on one place of an index (keys.Index).
	// It changes nothing that is seen. 0: everybody knows it.
	KeySeed uint64
}

// config is what a client is made of.
type config struct {
	core.Job
	Options
	Self        wire.Address
	Incarnation uint32 // which process of the node it is in
}

// Limits are what a client bounds by itself. Each field is 0, for the default, or less than that, which costs time and changes
// no result: tests make them small, to reach them.
type Limits struct {
	// Retained is how many flushes a split may be ahead of what its reads see; its next task waits then. By default 64, since a pin has a
	// bit for each.
	Retained int
	// Subscribed is how many keys of a partition a client subscribes to; what it reads beyond, it asks for each time. By default as many as
	// lanes let it.
	Subscribed int
	// Unread is how often a subscription's rows may come after the last read before it is given up, by default 4; and the debt of
	// a subscription to keys, in units of these.
	Unread int
	// DeferrableValues is how many values a flush may have whose record waits for its clock, by default 65,536: lanes hold it until
	// then.
	DeferrableValues int
}

// The defaults of Limits; that of Subscribed is the table's.
const (
	retainedMax    = 64
	unreadMost     = 4
	deferrableMost = 64 << 10
)

// orDefault is the limits as they apply.
func (l Limits) orDefault() Limits {
	if l.Retained <= 0 || l.Retained > retainedMax {
		l.Retained = retainedMax
	}
	if l.Subscribed <= 0 {
		l.Subscribed = math.MaxInt
	}
	l.Unread = cmp.Or(l.Unread, unreadMost)
	l.DeferrableValues = cmp.Or(l.DeferrableValues, deferrableMost)
	return l
}

// Effects are what a step wants done.
type Effects struct {
	wire.Outbox
	Run     []*Task  // start these
	Wake    []*Task  // what these waited for may be there: let them try again
	Notices []string // sentences about long waits
	Ended   *wire.End
}

// Reset empties the effects and keeps their memory.
func (fx *Effects) Reset() {
	clear(fx.Envelopes)
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Run: fx.Run[:0], Wake: fx.Wake[:0],
		Notices: fx.Notices[:0]}
}

// Client is the state of one node's tables as its tasks see them: cached rows, the deltas that are summed here, the flushes that have left, and the tasks that
// the controller has dispatched. In the commit protocol, which is two-phase commit, it asks lanes to prepare (Push) and says when all have voted (Done).
//
// A task is queued, executing or waiting, then finished. Its deltas join those of its clock (writeSet), then they are a flush, each part of which goes
// from sent to visible (partState). A cached block is pinned by the tasks that read it, and gives its memory back behind the last.
//
// Invariants, and what holds them:
//   - No split sees a partition's version go back, by reads, subscriptions or leases: TestALeaseDoesNotGoBack, TestAKeyDoesNotGoBack, P3 of the simulation.
//   - Under additive rules a split sees its own updates at once, and each once: TestOwnDeltasAreLaidOverUntilTheirCommit, P2 of the simulation.
//   - Memory of a flush is used again only behind its last Committed, and what has been sent is not changed: the simulation sums every message on its way.
//   - A unit runs once, however often it is dispatched: TestAUnitIsRunOnce.
//   - Whatever is waited for is asked after, named, and given up: TestAQuestionThatIsLostEndsTheJob, TestALaneThatSaysNothingEndsTheJob, P8 of the simulation.
//   - Behind End, or a breach, nothing of the job is said any more: TestAnswersToNoQuestionAreNamed.
//
// It has no lock: one goroutine at a time calls it (train.Runner sees to that), except that tasks read pinned blocks and write their own deltas without one. That is why
// blocks never change, and why own deltas are kept apart from them. Turned down: adding own deltas into cached blocks, which readers would have to lock
// (docs/decisions/0007); an answer for each part of a push with a number of the client's, which a partition's next owner would not know (0030).
type Client struct {
	cfg        config      // its route is the job's first: tasks divide tables by it, without a lock
	now        core.Job    // its route is that of now
	partitions []partition // by route.Number
	splits     []*split
	lanes      []wire.Address         // every lane that owns a partition
	relays     []int                  // per lane: flushes that it will record and has not
	relayed    []bellows.CommitNumber // per lane: the newest flush of this node's that it has recorded
	fetches    []*fetch
	writeSets  []*writeSet
	flushes    []*flush
	pulls      []*wire.Pull // scratch: per lane, of the read being made
	sixteen    []uint16     // scratch: of narrowed
	rounded    []float32    // scratch: of narrowed
	spare      spares
	partAt     []int // scratch: by route.Number, the place behind that in flush.parts; 0 but for a while
	named      []int // scratch: places in flush.parts

	request         uint64
	seq             uint64
	executing       int  // tasks running and not waiting
	waiting         int  // tasks running and waiting
	preparing       int  // of flushes: some lane does not hold its part
	full            int  // parts of flushes that lanes had no room for
	failed          bool // a task ended in an error: no other begins, since it would miss that one's updates
	broken          bool // somebody sent what cannot be: only the end counts any more
	nowMillis       int64
	enquiries       []enquiry    // per lane
	enquiring       int          // questions under way in all
	computing       bellows.Unit // of which the controller was told last
	computingMillis int64        // when
	routeless       int64        // how long something has waited for a route
	counts          wire.Counts
	ended           *wire.End
	barriers        bool // some table is BSP

	complaint wire.Message // why the client does not go on, as the controller was told; nil: it does

	term    bellows.Term // of the controller; what one of a lower term says is dropped
	dropped int          // how many such messages
}

// partition is what the client knows of one partition.
type partition struct {
	ref      bellows.PartitionRef
	pair     wire.Pair
	schema   *table.Schema
	first    bellows.RowID
	rows     int
	lane     int // index in Client.lanes
	barrier  bool
	additive bool
	keySeed  uint64
	format   vec.Format // in which its deltas travel
	sample   audit.Sample
	block    *block
	// subscribed: the lane sends what changes of the rows in block; unread: how often it did since a task
	// read some.
	subscribed bool
	unread     int
	keySub     keySubscription // of a sparse table
	buffers    sync.Pool       // empty *delta.Buffer
}

// New makes the client of a node, whose address in the job is self.
func New(job core.Job, self wire.Address, opt Options) *Client {
	cfg := config{job, opt, self, job.Incarnation(self)}
	cfg.Tables = slices.Clone(cfg.Tables) // staleness may change
	cfg.Limits, cfg.Times = cfg.Limits.orDefault(), cfg.Times.Or()
	c := &Client{cfg: cfg, now: job, partitions: make([]partition, cfg.Route.Partitions()), splits: make([]*split, cfg.Route.Splits())}
	for i := range cfg.Tables {
		s := &cfg.Tables[i]
		r, _ := rule.For(s)
		cut := cfg.Route.Cut(bellows.TableID(i))
		for n := range cut.Len() {
			ref := bellows.PartitionRef{Table: bellows.TableID(i), Partition: bellows.PartitionID(n)}
			first, end := cut.Rows(ref.Partition)
			p := &c.partitions[cfg.Route.Number(ref)]
			p.ref, p.schema, p.first, p.rows = ref, s, first, int(end-first)
			c.setOwner(p)
			p.additive, p.keySeed = r.Additive(), cfg.KeySeed
			p.sample = audit.SampleOf(ref, p.rows*s.Width)
			if s.Sparse {
				p.keySub.most = min(cut.SubscribedMost(s.Width), cfg.Limits.Subscribed)
			}
		}
	}
	c.counts.Ledgers = make([]audit.Ledger, len(cfg.Tables))
	c.setBarriers()
	c.partAt = make([]int, len(c.partitions))
	c.runSplits(nil)
	return c
}

// setBarriers marks the partitions of tables whose clocks become visible as a whole.
func (c *Client) setBarriers() {
	c.barriers = false
	for i := range c.partitions {
		p := &c.partitions[i]
		p.barrier = p.schema.Consistency == table.BSP
		c.barriers = c.barriers || p.barrier
	}
}

// buffer is an empty buffer for deltas of the partition; safe for concurrent use.
func (p *partition) buffer() *delta.Buffer {
	if b, ok := p.buffers.Get().(*delta.Buffer); ok {
		return b
	}
	if p.schema.Sparse {
		return delta.NewKeyed(p.schema, p.keySeed)
	}
	return delta.NewBuffer(p.schema, p.rows)
}

// Deliver takes one message that has arrived.
func (c *Client) Deliver(e wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	if !e.In(c.cfg.Era) {
		return
	}
	if e.From == c.cfg.Controller {
		before := c.term
		if c.outranked(e.Term()) {
			return
		}
		if before > 0 && c.term > before {
			c.complainAgain(fx)
		}
	}
	end, isEnd := e.Message.(*wire.End)
	if c.ended != nil && isEnd && end.Term > c.ended.Term && !planted.On("last-word-not-repeated") {
		c.ended = end
		c.lastWord(fx)
	}
	if c.ended != nil || c.broken && !isEnd {
		return
	}
	if c.enquiring > 0 {
		c.hears(e.From)
	}
	switch m := e.Message.(type) {
	case *wire.Dispatch:
		for i := range m.Tasks {
			if s := m.Tasks[i].Unit.Split; int(s) >= len(c.splits) || c.splits[s] == nil {
				c.breach(e.From, fx, "a task of split %d, which is not this node's by route %d", s, c.now.Route.Version())
				return
			}
			c.enqueue(m.Tasks[i], m.Commit)
		}
		c.startQueued(fx)
		wire.Free(m)
	case *wire.Rows:
		c.takeRows(m, e.From, fx)
	case *wire.Granted:
		c.takeGranted(m, e.From, fx)
	case *wire.Held:
		c.takeHeld(m, e.From, fx)
		wire.Free(m)
	case *wire.Full:
		c.takeFull(m, e.From, fx)
	case *wire.Room:
		c.takeRoom(m, e.From, fx)
	case *wire.Committed:
		for i := range m.List {
			c.takeCommitted(&m.List[i], e.From, fx)
		}
		c.acquireDelayed(fx)
		c.startQueued(fx)
		wire.Free(m)
	case *wire.Standing:
		c.takeStanding(m, e.From, fx)
	case *wire.Staleness:
		c.setStaleness(m.Table, m.Clocks)
	case *wire.Route:
		c.takeRoute(m, fx)
	case *wire.Stale:
		c.takeStale(m, e.From, fx)
	case *wire.Refused:
		c.complain(&wire.Failed{Kind: m.Kind, Reason: fmt.Sprintf("%v refused %v: %s", e.From, m.Flush, m.Reason)}, fx)
	case *wire.End:
		c.end(m, fx)
	}
}

// outranked reports whether a word of a controller is one of an earlier term, which is dropped: another has taken its place (bellows.Term). Kinds
// without a term are of any.
func (c *Client) outranked(term bellows.Term) bool {
	if term > 0 && term < c.term && !planted.On("old-term-obeyed") {
		c.dropped++
		return true
	}
	c.term = max(c.term, term)
	return false
}

// Refused is how many words of earlier controllers the client has dropped.
func (c *Client) Refused() int { return c.dropped }

// Counts are the client's counts so far.
func (c *Client) Counts() wire.Counts { return c.counts }
