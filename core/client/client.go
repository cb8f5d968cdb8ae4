// Package client is the worker's half of a parameter server on one node. It runs the units that the controller dispatches, answers their reads from
// a cache or from the lanes that own the rows, and sends what finished tasks changed.
//
// A Client is a step function: no goroutine, no clock, no I/O. Its shell (train.Runner), one
// goroutine at a time,
//
//  1. hands it every message with Deliver, and the time with Tick a few times a second;
//  2. sends Effects.Envelopes in their order, before anybody steps the client again: a push, the
//     release of a lease and the end overtake nothing that was said before them;
//  3. starts the tasks in Effects.Run, and lets those in Effects.Wake ask again what they waited
//     for;
//  4. calls Finish for every task that has run.
//
// A task asks before it looks. Read, ReadRows, ReadKeys (after Group) and Lease report whether what it needs is there; if not, the task waits to be
// woken and asks the same again. What it does then (View, Gather, AddRange, AddRow; of sparse tables ViewKey, GatherKeys, AddKeys; Leased) touches
// only what it has pinned and its own deltas, and is done without the shell's lock.
//
// The way of a unit is told by the files: dispatch.go until it runs; read.go, with cache.go, subscribe.go and lease.go, what it sees; task.go what
// it looks at and changes; push.go from its end to the commit, with flush.go for what is known of a flush meanwhile. Apart from that way stand
// route.go (what goes elsewhere by a newer route), enquire.go and waits.go (what takes long) and end.go.
//
// The client refuses to guess: it acts on a commit only when a lane has said it, answers no read with rows whose version it does not know, and
// waits for nothing without asking, in the end, what became of it. Frames from other nodes have passed package validate; what a lane or controller
// cannot say all the same, such as that it grants a lease which nobody asked for, is a breach, and ends the job by a wire.Complaint that names the
// sender (end.go).
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
	"bellows/core/fence"
	"bellows/core/planted"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// Options are a client's own settings, apart from its job's.
type Options struct {
	Limits Limits
	// KeySeed places keys in indexes (keys.Index). Those who make the data must not know it: they
	// could choose keys that fall on one place, each of which costs a walk over all before. It
	// changes nothing that is seen. 0 is known to all.
	KeySeed uint64
}

// config is what a client is made of.
type config struct {
	core.Job
	Options
	Self        wire.Address
	Incarnation uint32 // which process of the node it is in
}

// Limits are what a client bounds by itself. Each field is 0, for the default, or less than that,
// which costs time and changes no result: tests make them small, to reach them.
type Limits struct {
	// Retained is how many flushes a split may be ahead of what its reads see; its next task waits
	// then. By default 64, since a pin has a bit for each.
	Retained int
	// Subscribed is how many keys of a partition a client subscribes to; what it reads beyond, it
	// asks for each time. By default as many as lanes let it (table.Cut.SubscribedMost).
	Subscribed int
	// Unread is how often a subscription's rows may come after the last read before it is given up,
	// by default 4; and the debt of a subscription to keys, in units of these. Smaller asks more
	// often, larger sends more for nothing.
	Unread int
	// DeferrableValues is how many values a flush may have whose record waits for its clock, by
	// default 65,536: lanes hold it until then, so that large ones would fill their memory.
	DeferrableValues int
	// LeasedValues is how many values of leases of other nodes wait to leave with a clock, by default 16 million: 64 MB.
	LeasedValues int
}

// The defaults of Limits; that of Subscribed is the table's.
const (
	retainedMax    = 64
	unreadMost     = 4
	deferrableMost = 64 << 10
	leasedMost     = 16 << 20
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
	l.LeasedValues = cmp.Or(l.LeasedValues, leasedMost)
	return l
}

// Effects are what a step wants done.
type Effects struct {
	wire.Outbox
	Run     []*Task           // start these
	Wake    []*Task           // what these waited for may be there: let them try again
	Left    []bellows.SplitID // these are another node's now: nothing of them runs here
	Notices []string          // sentences about long waits
	Ended   *wire.End
}

// Reset empties the effects and keeps their memory.
func (fx *Effects) Reset() {
	clear(fx.Envelopes)
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Run: fx.Run[:0], Wake: fx.Wake[:0], Left: fx.Left[:0],
		Notices: fx.Notices[:0]}
}

// Client is the state of one node's tables as its tasks see them: cached rows, the deltas that are
// summed here, the flushes that have left, and the units that the controller has dispatched.
//
// Updates are committed by two-phase commit with a logged decision, of which this is the
// coordinator's first half:
//
//	Push       prepare: each lane is sent its parts of a flush
//	Held       a lane's vote, that it keeps them unseen; Full is backpressure in its place, and Room ends it
//	Done       all have voted; said by the client, or by the one lane that has all parts
//	(record)   the controller's decision, which goes to lanes and not to clients
//	Committed  a lane has the decision: the flush's number, and whether it can be seen there
//
// A unit is queued, executing or waiting, and finished (dispatch.go). Its deltas join the write set of its clock, which leaves as a flush; each
// part of that goes from sent to visible (partState). A block of the cache is pinned by the tasks that read it, and gives its memory back behind
// the last.
//
// Invariants, and what holds them:
//   - No split sees a partition's version go back, by reads, subscriptions or leases:
//     TestALeaseDoesNotGoBack, TestAKeyDoesNotGoBack, P3 of the simulation.
//   - Under additive rules a split sees its own updates at once, and each once:
//     TestOwnDeltasAreLaidOverUntilTheirCommit, P2 of the simulation.
//   - A flush's memory is used again only behind its last Committed, and what has been sent is not
//     changed: the simulation sums every message on its way.
//   - A unit runs once, however often it is dispatched: TestAUnitIsRunOnce.
//   - No task begins while a lane has no room (TestAFullLaneStopsNewTasks), nor behind one that has
//     failed, whose updates it would miss (planted: failure-ignored).
//   - Whatever is waited for is asked after, named, and given up:
//     TestAQuestionThatIsLostEndsTheJob, TestALaneThatSaysNothingEndsTheJob, P8 of the simulation.
//   - Of eras other than its own and of terms that are over nothing is taken:
//     TestOtherErasAreNothing, TestALowerTermIsNotObeyed.
//
// It has no lock: one goroutine at a time calls it, except that tasks read pinned blocks and write their own deltas meanwhile. That is why a pinned
// block does not change, and why own deltas are kept apart from it. Turned down:
//   - to add own deltas to cached blocks, which readers would have to lock (docs/decisions/0007);
//   - to account for a flush by push, or by a number of the client's that answers echo: the next
//     owner of a partition, which has got the part with it, knows neither (0030);
//   - to wait, as a reader, for the record of one's own flush even where a lane may have no room
//     for it: the room may depend on the very task that waits (0022, see relayComes).
type Client struct {
	cfg        config      // its route is the job's first, by which tasks divide tables without a lock: how they are cut never changes
	now        core.Job    // its route is that of now, by which everything is sent
	partitions []partition // by route.Number
	splits     []*split
	told       bellows.CommitNumber   // the newest record that a dispatch has named
	lanes      []wire.Address         // every lane that owns a partition, or has; an index stays that lane's for good
	parting    []wire.Address         // lanes that leave and from which something is to come yet
	relays     []int                  // per lane: pushes that are sure to be recorded and show at once (lanePush.countedAsCertain)
	relayed    []bellows.CommitNumber // per lane: the newest flush of this node's that it has recorded
	fetches    []*fetch
	writeSets  []*writeSet
	flushes    []*flush
	pulls      []*wire.Pull // scratch: per lane, of the read being made
	sixteen    []uint16     // scratch: of narrowed
	rounded    []float32    // scratch: of narrowed
	spare      spares
	partAt     []int // scratch: by route.Number, 1 + the place in flush.parts; 0 between two steps (indexParts)
	named      []int // scratch: places in flush.parts, of the parts that a lane's answer means (spokenOf)

	request         uint64 // the number of the last question; 0 is never one
	seq             uint64 // the number of the last flush
	executing       int    // tasks running and not waiting
	waiting         int    // tasks running and waiting
	preparing       int    // of flushes: some vote is missing (flush.preparing)
	full            int    // parts of flushes that lanes had no room for (partFull): nothing begins until they have
	failed          bool   // a task ended in an error: no other begins, since it would miss that one's updates
	broken          bool   // somebody sent what cannot be: only the end counts any more
	nowMillis       int64
	enquiries       []enquiry    // per lane
	enquiring       int          // inquiries under way, of all lanes
	computing       bellows.Unit // the unit that the controller was told last to compute for long
	computingMillis int64        // when it was told
	routeless       int64        // milliseconds for which something has waited for a route
	counts          wire.Counts
	ended           *wire.End
	passed          []wire.Address // lanes to which the end was passed on
	barriers        bool           // some table is BSP, so that every task has a subtree of deltas, though perhaps empty

	complaint wire.Message // why the client does not go on, as the controller was told; nil: it does

	terms fence.Terms // of the controllers that it has heard
}

// partition is what the client knows of one partition: who owns it, and what the cache holds of it.
//
// It is not cached (block is nil), cached, or subscribed to: the lane sends what changes of certain rows, and block has no row that is not one of
// them, so that each message lifts the version of all of it (TestAnOlderBlockIsAskedForAsAWhole; planted: subscribed-to-less). A subscription ends
// when nobody reads (unsubscribe) or when the partition gets another owner, who knows of none (TestAMoveEndsASubscription).
type partition struct {
	ref        bellows.PartitionRef
	pair       wire.Pair
	schema     *table.Schema
	rows       int
	lane       int  // of its owner: index in Client.lanes
	barrier    bool // its table is BSP: a clock's commits show together
	additive   bool // its rule adds, so that own deltas may be laid over (read-my-writes)
	keySeed    uint64
	format     vec.Format // in which its deltas travel
	sample     audit.Sample
	block      *block
	subscribed bool            // block is not nil
	unread     int             // how often its rows came since a task read some
	keySub     keySubscription // of a sparse table
	buffers    sync.Pool       // empty *delta.Buffer; tasks get them without the shell's lock
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
			p.ref, p.schema, p.rows = ref, s, int(end-first)
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

// setBarriers marks the partitions of tables whose clocks become visible as a whole. A driver may change a table's staleness while no task is out
// (coord.Dispatcher.SetStaleness), so that tasks look at the marks without a lock.
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

// Deliver takes one message that has arrived. What is of another era, of a controller that has been replaced, or comes behind the end is dropped
// here, so that no handler asks; messages from controllers that were not heard before get the complaint again, which the one before has perhaps
// told nobody.
func (c *Client) Deliver(e wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	if !e.In(c.cfg.Era) {
		return
	}
	end, isEnd := e.Message.(*wire.End)
	if e.From == c.cfg.Controller {
		term := e.Term()
		if c.terms.Older(term) && !planted.On("old-term-obeyed") { // TestALowerTermIsNotObeyed
			c.terms.Drop()
			return
		}
		if c.terms.Hear(term) == fence.NewController && !isEnd {
			c.complainAgain(fx)
		}
	}
	if c.ended != nil && isEnd {
		c.endAgain(end, fx)
	}
	if c.ended != nil || c.broken && !isEnd {
		return
	}
	if c.enquiring > 0 {
		c.hears(e.From)
	}
	if c.take(e, fx); len(c.parting) > 0 && c.ended == nil {
		c.part(fx)
	}
}

// take gives a message to whom it is for.
func (c *Client) take(e wire.Envelope, fx *Effects) {
	switch m := e.Message.(type) {
	case *wire.Dispatch:
		c.told = max(c.told, m.Commit)
		for i := range m.Tasks {
			if s := m.Tasks[i].Unit.Split; int(s) >= len(c.splits) || c.splits[s] == nil {
				c.breach(e.From, fx, "a task of split %d, which is not this node's by route %d", s, c.now.Route.Version())
				return
			}
			c.enqueue(m.Tasks[i], m.Commit)
		}
		c.startQueued(fx)
		wire.Free(m)
	case *wire.Recall:
		c.takeRecall(m, fx)
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
		c.tryAgain(fx)
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

// Refused returns how many messages of earlier controllers the client has dropped.
func (c *Client) Refused() int { return c.terms.Dropped() }

// Counts are the client's counts so far.
func (c *Client) Counts() wire.Counts { return c.counts }
