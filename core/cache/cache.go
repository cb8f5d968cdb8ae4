// Package cache holds a node's copies of table rows: blocks that lanes sent, reads and leases that wait for a lane,
// and subscriptions. It lays each split's own updates over what its tasks read. The client (package client) is its
// caller.
//
// A Cache is a step function: no goroutine, no clock, no I/O. Values go in, effects come out, and it knows nothing of
// its caller. The caller, one goroutine at a time,
//
//  1. names the owner of each partition: AddLane and SetOwner at the start, SetRoute and Move for each newer route;
//  2. takes a Reader for each split that runs here (Join), and brackets each of its tasks with Begin and End;
//  3. asks for rows with Read, ReadRows, ReadKeys, Prefetch or PrefetchKeys, and for leases with Lease, Acquire and
//     AcquireDelayed. Where the answer is no, the reader waits until it is among Effects.Woken, and asks the same
//     again;
//  4. hands it what lanes send: Take for each part of a Rows, between Open and Close; TakeGranted, and Refuse for
//     what was refused as stale. An error says what cannot be, and ends the job;
//  5. says which rows are sure to come of themselves (Expect, Recorded, Uncertain), and asks again what was refused
//     (Refused, AskAgain).
//
// Between two steps the goroutine of a task looks at what its Reader has pinned, without the caller's lock: View, Row
// and Leased only read memory that does not change.
//
// Each file calls only those before it: block.go and keys.go, what is cached; held.go, what is left of leases;
// reader.go, what is seen; relay.go and fetch.go, what is to come; subscribe.go and rows.go, what comes; read.go and
// lease.go, what is asked; wait.go, what lasts.
//
// The package refuses to show rows of an unknown version, and to guess what another node has committed: it is the
// lane that keeps a read waiting until it may be answered.
package cache

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/core/rule"
	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/table"
)

// Limits bound what a cache subscribes to.
type Limits struct {
	Subscribed int // keys of a partition
	Unread     int // how often rows may come after the last read before their subscription ends
	// Borrow is the number of values from which partitions are lent by lanes of this node, so that reads of them copy
	// nothing; 0: none is lent.
	Borrow int
	Held   int // values of copies of leased partitions, for the next leases
}

// Cache is the rows that a node knows, the readers of them, and the questions about them.
//
// A partition is not cached, cached, or subscribed to (partition). A reader is idle; or active, between Begin and
// End. An active one executes, or waits for fetches: it is a waiter of as many as it has waits, except while it
// delays a lease. A fetch has been asked, comes unasked, or was refused and waits for a route (fetch).
//
// Invariants:
//   - A block does not change while a task has it pinned (block).
//   - No split sees a partition's version go back, by reads, subscriptions or leases (pin.seen).
//   - A split sees each of its updates once where it may see them at all: what a block lacks is decided when it is
//     pinned (Cache.pin), and no block mixes rows from before and after an update of its node (changedBetween).
//   - No reader joins a question that waits for a later clock than it needs (fetch.serves).
//   - No reader waits without a question, unless rows are sure to come (relays.comes).
//
// Memory: one block for each partition that was read, and one more for each that running tasks still look at. The
// values of a block are memory of the message that brought them, so that a message is kept while one of its parts is
// cached. Fetches and blocks are used again. A subscription to keys is bounded (keySubscription), and so are the copies
// of leases that have ended (Limits.Held).
//
// Turned down:
//   - to add a split's own deltas to cached blocks, which readers would have to lock (docs/decisions/0007);
//   - to evict by age or size: tables are read as a whole in each clock, so that what was evicted would be asked for
//     again;
//   - to keep own deltas apart from the readers, in the flushes that send them: a pin asks them for every block.
type Cache struct {
	memory
	fetches
	relays
	readers
	copies     copies
	division   *route.Route         // the job's first route: how tables are divided, which never changes
	version    bellows.RouteVersion // of the route that questions go by
	tables     []table.Schema
	partitions []partition // by route.Number
	self       wire.Address
	process    uint32 // the incarnation of the node's client
	unread     int    // Limits.Unread
	borrow     int    // Limits.Borrow
	request    uint64 // the number of the last question; 0 is never one
	waiting    int    // readers that wait
	staleness  [tally.StalenessBins]int64
}

// partition is what a node knows of one partition: its owner, and the cached rows.
//
// It is not cached (block is nil), cached, or subscribed to: then the lane sends what changes of certain rows, and
// block has no row that is not one of them, so that each message lifts the version of all of it
// (TestOlderBlockIsAskedForWhole; planted: subscribed-to-less). A subscription ends when no reader uses it
// (unsubscribe), or when the partition gets another owner, which knows of none (TestAMoveEndsASubscription).
type partition struct {
	pair       wire.Pair
	schema     *table.Schema
	rows       int
	lane       int  // of its owner: by the caller's numbers
	barrier    bool // its table is BSP: a clock's commits show together
	additive   bool // its rule adds, so that own deltas may be laid over (read-my-writes)
	block      *block
	subscribed bool            // block is not nil
	unread     int             // how often its rows came since a task read some
	keySub     keySubscription // of a sparse table
}

// Effects are what a step wants done: messages to be sent, and readers that wait no longer.
type Effects struct {
	*wire.Outbox
	Woken []*Reader
}

// New returns the cache of a client, by the first route of its job, its tables, and its address and incarnation. The
// caller then names the owner of each partition.
func New(first *route.Route, tables []table.Schema, self wire.Address, process uint32, l Limits) *Cache {
	c := &Cache{copies: copies{list: make([]*wire.Granted, first.Partitions()), most: l.Held},
		division: first, tables: slices.Clone(tables), self: self, process: process,
		unread: l.Unread, borrow: l.Borrow, partitions: make([]partition, first.Partitions()),
		readers: readers{bySplit: make([]*Reader, first.Splits())}}
	for ref := range first.Each() {
		s, cut := &c.tables[ref.Table], first.Cut(ref.Table)
		begin, end := cut.Rows(ref.Partition)
		r, _ := rule.For(s)
		p := &c.partitions[first.Number(ref)]
		p.pair.Ref, p.schema, p.rows = ref, s, int(end-begin)
		p.additive, p.barrier = r.Additive(), s.Consistency == table.BSP
		if s.Sparse {
			p.keySub.most = min(cut.SubscribedMost(s.Width), l.Subscribed)
		}
	}
	return c
}

// SetStaleness changes the consistency of a table. No task is out then.
func (c *Cache) SetStaleness(t bellows.TableID, to table.Consistency) {
	c.tables[t].Consistency = to
	for i := range c.partitions {
		p := &c.partitions[i]
		p.barrier = p.schema.Consistency == table.BSP
	}
}

// SetRoute sets the version of the route that questions go by from now on.
func (c *Cache) SetRoute(v bellows.RouteVersion) { c.version = v }

// SetOwner says which lane, by its number, owns a partition at which generation.
func (c *Cache) SetOwner(n, lane int, g bellows.Generation) {
	p := &c.partitions[n]
	p.pair.Generation, p.lane = g, lane
}

// Waiting returns how many readers wait.
func (c *Cache) Waiting() int { return c.waiting }

// Staleness returns how many blocks were pinned by how many clocks they lagged.
func (c *Cache) Staleness() [tally.StalenessBins]int64 { return c.staleness }

// number returns the number of a partition of the job.
func (c *Cache) number(ref bellows.PartitionRef) int { return c.division.Number(ref) }
