// Package flush turns a node's updates into flushes, sends their parts to lanes, counts the votes, and frees the
// memory after the commit. It is the coordinator's side of the two-phase commit. The client (package client) is its
// caller.
//
//	Push       prepare: each lane is sent its parts of a flush
//	Held       a lane's vote, that it keeps them unseen; Full is backpressure in its place, and Room ends it
//	Done       all have voted; said by the coordinator, or by the one lane that has all parts
//	(record)   the controller's decision, which goes to lanes and not to clients
//	Committed  a lane has the decision: the flush's number, and whether it can be seen there
//
// A Coordinator is a step function: no goroutine, no clock, no I/O. Values go in, effects come out, and it knows
// nothing of its caller. The route comes with each call. The caller, one goroutine at a time,
//
//  1. names the owner of each partition: AddLane and SetOwner, at the start and after each change of the route;
//  2. counts the units of each clock that are dispatched and not finished (Dispatched, Finished), gives the work of
//     each task that has run to Finish, and calls Leave whenever something else may have become ready to be sent;
//  3. hands it what lanes and the controller say: TakeHeld, TakeFull, TakeRoom with Resend, TakeCommitted and
//     TakeStale. An error says what cannot be, and ends the job;
//  4. carries the effects out, in their order;
//  5. calls PushAgain when a newer route has come, LaneLeaves when a lane is removed, and Repeat for a controller
//     that follows another.
//
// Each file calls only those before it: writes.go, what tasks leave; state.go, a flush and how far it is; audit.go,
// what the audit counts of it; push.go, how it is sent; again.go, how some of it is sent again; answers.go, what
// lanes say of it; and wait.go, what lasts.
//
// The package refuses to guess: it counts a part as held or visible only when a lane has said so, and what no lane
// can have said is an error.
package flush

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// Coordinator is the flushes of one process of a node that are under way, and the write sets that will leave as the
// next.
//
// A clock's work joins its write set (writeSet), which leaves as a flush (flush). Each part of a flush goes from sent
// to visible (partState).
//
// Invariants:
//   - A flush's memory is used again only after its last Committed, and what has been sent is not changed: the
//     simulation sums every message on its way. A message that may still be on its way is left to the garbage
//     collector (close).
//   - Write sets are in the order of clocks, in which they leave where they leave together.
//   - The results of a flush are handed out once for each time that all of its parts are held.
//   - full and preparing count parts and flushes as their states say.
//   - What the audit counts as sent is counted once, when a flush leaves, from the buffers (counter).
//
// Memory: a write set for each clock that has units here, the deltas of flushes until every lane shows them, and
// copies of leases up to Limits.Leased. Lanes bound the rest: while one has no room (Full), the caller begins no
// task.
//
// Turned down:
//   - to account for a flush by push, or by a number of the client's that answers echo: the next owner of a
//     partition, which has got the part with it, knows neither (docs/decisions/0030);
//   - to wait, as a reader, for the record of one's own flush even where a lane may have no room for it: the room may
//     depend on the very task that waits (docs/decisions/0022; see Relay);
//   - lanes that vote at the controller, to which clients times lanes frames would come (0022).
type Coordinator struct {
	gatherer
	flushes
	counter
	division   *route.Route // the job's first: how tables are divided, which never changes
	partitions []partition  // by route.Number
	lanes      []wire.Address
	at         []int // scratch: by route.Number, 1 + the place in flush.parts; 0 between two steps (indexParts)
	named      []int // scratch: places in flush.parts, of the parts that a lane's answer means (spokenOf)
	self       wire.Address
	controller wire.Address
	process    uint32 // the incarnation of the node's client
	deferrable int    // Limits.Deferrable
	seq        uint64 // the number of the last flush
	preparing  int    // flushes that lack a vote (flush.preparing)
	full       int    // parts for which lanes had no room (partFull)
}

// Limits bound what a coordinator keeps.
type Limits struct {
	// Deferrable is how many values a flush may have whose record waits for its clock.
	Deferrable int
	// Leased is how many values of copies of leases wait to leave with a clock.
	Leased int
}

// partition is what is known of one partition: its shape, and who owns it.
type partition struct {
	pair    wire.Pair
	lane    int // of its owner: index in Coordinator.lanes
	rows    int
	width   int
	sparse  bool
	barrier bool       // its table is BSP: a clock's commits show together
	format  vec.Format // in which its deltas travel
	sample  audit.Sample
}

// Effects are what a step wants done: messages to be sent, and what the caller tells others of its node.
type Effects struct {
	*wire.Outbox
	Relays []Relay
	Seen   []Seen
	Ended  []Lease // leases that have ended and are visible: their copies are the caller's
}

// Relay is a change of what a lane is sure to send unasked, after a record of this node's.
type Relay struct {
	Lane   int
	Change RelayChange
	Commit bellows.CommitNumber // of RelayRecorded
}

// RelayChange says what a Relay changes.
type RelayChange uint8

// Each expected push is recorded or becomes uncertain, once.
const (
	RelayExpected  RelayChange = iota // one more push is sure to be recorded and shows at once
	RelayUncertain                    // one of them is not sure any more
	RelayRecorded                     // one of them is recorded
)

// Seen says that the split of a lease has seen the commit of the flush that ended the lease.
type Seen struct {
	Reader uint64
	Number int
	Commit bellows.CommitNumber
}

// Options are what a coordinator is made of, besides its job's tables.
type Options struct {
	Self       wire.Address // of its client
	Controller wire.Address
	Process    uint32 // the incarnation of the node's client
	Pools      *delta.Pools
	Limits     Limits
}

// New returns the coordinator of a client, by the first route of its job and the tables. The caller then says who
// owns each partition.
func New(first *route.Route, tables []table.Schema, o Options) *Coordinator {
	n := first.Partitions()
	c := &Coordinator{division: first, partitions: make([]partition, n), at: make([]int, n),
		gatherer: gatherer{pools: o.Pools, splits: first.Splits(), leased: o.Limits.Leased},
		counter:  counter{ledgers: make([]audit.Ledger, len(tables))},
		self:     o.Self, controller: o.Controller, process: o.Process, deferrable: o.Limits.Deferrable}
	for ref := range first.Each() {
		s := &tables[ref.Table]
		begin, end := first.Cut(ref.Table).Rows(ref.Partition)
		rows := int(end - begin)
		c.partitions[first.Number(ref)] = partition{pair: wire.Pair{Ref: ref}, rows: rows, width: s.Width,
			sparse: s.Sparse, barrier: s.Consistency == table.BSP, sample: audit.SampleOf(ref, rows*s.Width)}
	}
	return c
}

// SetBarrier says whether the clocks of a table become visible as a whole. No task is out when that changes.
func (c *Coordinator) SetBarrier(t bellows.TableID, barrier bool) {
	for i := range c.partitions {
		if p := &c.partitions[i]; p.pair.Ref.Table == t {
			p.barrier = barrier
		}
	}
}

// AddLane gives a lane the next number, from 0.
func (c *Coordinator) AddLane(a wire.Address) { c.lanes = append(c.lanes, a) }

// SetOwner says which lane, by its number, owns a partition at which generation, and in which format deltas travel
// there.
func (c *Coordinator) SetOwner(n, lane int, g bellows.Generation, f vec.Format) {
	p := &c.partitions[n]
	p.pair.Generation, p.lane, p.format = g, lane, f
}

// Full returns for how many parts of flushes lanes have no room. A task that began now would also have to wait there.
func (c *Coordinator) Full() int { return c.full }

// Preparing returns how many flushes some lane does not hold yet, as far as is known.
func (c *Coordinator) Preparing() int { return c.preparing }
