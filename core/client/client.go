// Package client is the actor on a node that runs tasks: it starts dispatched units, answers their reads, and sends
// their updates. It is the worker's half of a parameter server. Reads are answered from a cache or by the lanes that
// own the rows.
//
// A Client is a step function: no goroutine, no clock, no I/O. Its shell (train.Runner), one goroutine at a time,
//
//  1. hands it every message with Deliver, and the time with Tick a few times a second;
//  2. sends Effects.Envelopes in their order, before the client is stepped again: a push, the release of a lease and
//     the end overtake nothing that was sent before them;
//  3. starts the tasks in Effects.Run, and lets those in Effects.Wake ask again what they waited for;
//  4. calls Finish for every task that has run.
//
// A task asks before it reads. Read, ReadRows, ReadKeys (after Group) and Lease report whether the rows are here; if
// not, the task waits to be woken and asks the same again. The calls that follow (View, Gather, AddRange, AddRow; of
// sparse tables ViewKey, GatherKeys, AddKeys; Leased) touch only what it has pinned and its own deltas, and need no
// lock of the shell.
//
// The client is a router: it hands each message to its state machine, and carries out the effects. A cache.Cache has
// what the node knows of rows, a flush.Coordinator what it has sent; neither knows the client or the other, and a
// claim.Queue the units to run. The files follow the way of a unit: dispatch.go, until it runs; task.go and read.go,
// its reads and changes; finish.go, its end and its flush; route.go, when rows and splits move; enquire.go and
// waits.go, long waits; end.go, the end.
//
// The client refuses to guess: it acts on a commit only when a lane has reported it, answers no read with rows of
// unknown version, and asks about every wait that lasts. Frames from other nodes have passed package validate. A
// message that is invalid all the same, such as a lease that the client did not ask for, is a protocol violation: it
// ends the job by a wire.Complaint that names the sender (end.go).
package client

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"bellows"
	"bellows/core"
	"bellows/core/cache"
	"bellows/core/claim"
	"bellows/core/delta"
	"bellows/core/fence"
	"bellows/core/flush"
	"bellows/core/planted"
	"bellows/core/rule"
	"bellows/link/wire"
)

// Options are a client's own settings, apart from its job's.
type Options struct {
	Limits Limits
	// KeySeed places keys in indexes (keys.Index). The makers of the data must not know it: they could choose keys that
	// collide, each of which costs a walk over all earlier ones. It changes no result. 0 is known to all.
	KeySeed uint64
	// Borrow is the number of values from which tasks read partitions of tables with a barrier in the memory of the
	// lanes of this node, instead of in copies; 0: always in copies. The shell delivers messages of a node as they are,
	// without a codec.
	Borrow int
}

// config is what a client is made of.
type config struct {
	core.Job
	Options
	Self        wire.Address
	Incarnation uint32 // which process of the node it is in
}

// Limits are what a client bounds by itself. Each field is 0, for the default, or less than that, which costs time and
// changes no result: tests make them small, to reach them.
type Limits struct {
	// Retained is how many flushes a split may be ahead of what its reads see; its next task waits then. By default
	// 64, since a pin has a bit for each.
	Retained int
	// Subscribed is how many keys of a partition a client subscribes to; what it reads beyond, it asks for each time.
	// By default as many as lanes let it (table.Cut.SubscribedMost).
	Subscribed int
	// Unread is how often a subscription's rows may come after the last read before it is given up, by default 4; and
	// the debt of a subscription to keys, in units of these. Smaller asks more often, larger sends more for nothing.
	Unread int
	// DeferrableValues limits the values of a flush with a record that waits for its clock, by default 65,536: lanes
	// hold the flush until then, and large ones would fill their memory.
	DeferrableValues int
	// HeldValues is how many values of copies of leased partitions are held for the next leases, by default 64 million:
	// 256 MB.
	HeldValues int
	// LeasedValues is how many values of leases of other nodes wait to leave with a clock, by default 16 million: 64
	// MB.
	LeasedValues int
	// Direct is the number of rows of a partition up to which deltas look rows up by number, by default
	// delta.DirectMax.
	Direct int
}

// The defaults of Limits; that of Subscribed is the table's.
const (
	retainedMax    = 64
	unreadMost     = 4
	deferrableMost = 64 << 10
	leasedMost     = 16 << 20
	heldMost       = 64 << 20
)

// orDefault returns the limits with their defaults.
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
	l.HeldValues = cmp.Or(l.HeldValues, heldMost)
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
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Run: fx.Run[:0], Wake: fx.Wake[:0],
		Left: fx.Left[:0], Notices: fx.Notices[:0]}
}

// Client is a router between the tasks of a node and the roles that they need: it has the tasks, and the state machines
// that act for them. Each of those says what it keeps; see there.
//
// A unit is queued, executing or waiting, and finished (claim.Queue). The client is whole, failed, broken or ended
// (end.go).
//
// Invariants, and what holds them:
//   - No split sees a partition's version go back: TestALeaseDoesNotGoBack, TestAKeyDoesNotGoBack, P3 of the
//     simulation.
//   - Under additive rules a split sees its own updates at once, and each once: P2 of the simulation
//     (TestOwnDeltasOverlayUntilCommit).
//   - A unit runs once, however often it is dispatched: TestAUnitIsRunOnce, claim.Queue.
//   - No task begins while a lane has no room (TestAFullLaneStopsNewTasks), nor after one that has failed, whose
//     updates it would miss (planted: failure-ignored).
//   - Every long wait is asked about, named, and given up: TestLostQuestionEndsJob, TestSilentLaneEndsJob, P8 of the
//     simulation.
//   - Messages of other eras and of ended terms have no effect: TestOtherErasAreNothing, TestALowerTermIsNotObeyed.
//
// Memory: a task for each split that runs here, with the deltas of one unit, or of one clock for tables with a barrier;
// in addition the memory of cache.Cache and flush.Coordinator.
//
// It has no lock: one goroutine at a time calls it, except that tasks read what they have pinned and write their own
// deltas meanwhile.
//
// Rejected: sub-machines that call each other, or the client. A message would then be half done in one while another
// looks at it; now each step of one ends before the next begins.
type Client struct {
	// cfg has the job's first route, by which tasks divide tables without a lock: how they are cut never changes.
	cfg   config
	now   core.Job // with the current route, by which everything is sent
	cache *cache.Cache
	flush *flush.Coordinator
	pools *delta.Pools
	scratch
	arenas     sync.Pool            // of *arena, for tasks
	partitions []partition          // by route.Number
	barriers   bool                 // some table is BSP, so that every task has a subtree of deltas, perhaps empty
	work       *claim.Queue         // the units that the controller has dispatched to this node
	tasks      []*Task              // by split; nil: another node runs it
	told       bellows.CommitNumber // the newest record that a dispatch has named
	lanes      []wire.Address       // every lane that owns a partition, or has; an index stays that lane's for good
	enquiries  enquiries
	closing

	terms fence.Terms // of the controllers that it has heard
}

// partition is what tasks must know of a partition.
type partition struct {
	ref      bellows.PartitionRef
	width    int
	barrier  bool // its table is BSP: a clock's commits show together
	additive bool // its rule adds, so that own deltas may be laid over (read-my-writes)
}

// New makes the client of a node. self is its address in the job.
func New(job core.Job, self wire.Address, opt Options) *Client {
	cfg := config{job, opt, self, job.Incarnation(self)}
	cfg.Tables = slices.Clone(cfg.Tables) // staleness may change
	cfg.Limits, cfg.Times = cfg.Limits.orDefault(), cfg.Times.Or()
	l, first := cfg.Limits, cfg.Route
	pools := delta.NewPools(first.Partitions(), l.Direct)
	c := &Client{cfg: cfg, now: job, pools: pools,
		cache: cache.New(first, cfg.Tables, self, cfg.Incarnation,
			cache.Limits{Subscribed: l.Subscribed, Unread: l.Unread, Borrow: opt.Borrow, Held: l.HeldValues}),
		flush: flush.New(first, cfg.Tables, flush.Options{
			Self: self, Controller: cfg.Controller, Process: cfg.Incarnation, Pools: pools,
			Limits: flush.Limits{Deferrable: l.DeferrableValues, Leased: l.LeasedValues}}),
		partitions: make([]partition, first.Partitions()), tasks: make([]*Task, first.Splits()),
		enquiries: enquiries{self: self, process: cfg.Incarnation, times: cfg.Times},
		closing:   closing{self: self, controller: cfg.Controller}}
	for ref := range first.Each() {
		n, s := first.Number(ref), &cfg.Tables[ref.Table]
		begin, end := first.Cut(ref.Table).Rows(ref.Partition)
		r, _ := rule.For(s)
		c.partitions[n] = partition{ref: ref, width: s.Width, additive: r.Additive()}
		pools.Describe(n, s, int(end-begin), cfg.KeySeed)
		lane, g := c.setOwner(n)
		c.cache.SetOwner(n, lane, g)
	}
	c.work = claim.NewQueue(&c.cfg.Job, self.Node)
	c.setBarriers()
	c.runSplits(nil)
	return c
}

// Deliver takes one message that has arrived. It drops messages of another era, of a replaced controller, and after the
// end, so that no handler asks. A controller that was not heard before gets the complaint again: the previous one has
// perhaps not passed it on.
func (c *Client) Deliver(e wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	if !e.IsOfEra(c.cfg.Era) {
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
	if c.enquiries.open > 0 {
		c.enquiries.hears(e.From)
	}
	if c.take(e, fx); len(c.parting) > 0 && c.ended == nil {
		c.part(fx)
	}
}

// take passes a message to its handler.
func (c *Client) take(e wire.Envelope, fx *Effects) {
	switch m := e.Message.(type) {
	case *wire.Dispatch:
		c.takeDispatch(m, e.From, fx)
	case *wire.Recall:
		c.takeRecall(m, fx)
	case *wire.Rows:
		c.takeRows(m, e.From, fx)
	case *wire.Granted:
		err := c.cache.TakeGranted(m, c.cached(fx))
		c.wake(fx)
		c.judge(err, e.From, fx)
	case *wire.Held:
		err := c.flush.TakeHeld(m, e.From, c.flushing(fx))
		c.carry(fx)
		c.judge(err, e.From, fx)
		wire.Free(m)
	case *wire.Full:
		err := c.flush.TakeFull(m, e.From, c.flushing(fx))
		c.carry(fx)
		c.judge(err, e.From, fx)
	case *wire.Room:
		c.takeRoom(m, e.From, fx)
	case *wire.Committed:
		c.takeCommitted(m, e.From, fx)
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
