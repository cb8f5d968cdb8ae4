package wire

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/pending"
	"bellows/core/tally"
	"bellows/link/padding"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
)

// Need is what a read must see: every commit up to Commit, and all of clock Clock.
type Need struct {
	Commit bellows.CommitNumber
	Clock  bellows.Clock
}

// Pair names a partition at a generation: what a sender believes its receiver to own.
type Pair struct {
	Ref        bellows.PartitionRef
	Generation bellows.Generation
}

// Mode is how a lease holds a partition.
type Mode uint8

const (
	Shared    Mode = iota // one committed version; commits wait
	Exclusive             // everything else waits; updates are in place
)

// Pull requests rows of partitions of one table. It waits at the lane until Need holds. An answer that uses its lists
// of rows after it is freed must Borrow from it.
type Pull struct {
	Request     uint64 // the client's number from 1, echoed by Rows
	Incarnation uint32 // of the client, as in its flushes: a subscription is that of one life of it
	Need        Need
	Route       bellows.RouteVersion // by which the client asks this lane
	Parts       []PullPart
	payload     []byte // what Decode made the message from; nil: its lists are not in it
}

// PullPart asks for rows of one partition.
type PullPart struct {
	Pair
	Rows []uint32      // rows counted from the partition's first, ascending; nil: all
	Keys []bellows.Key // of a sparse table, in place of Rows: ascending, never nil
	// Subscribe asks the lane to send these rows again, unasked, when they have changed (Bösen §4.2, server push). A key need
	// not have a row yet.
	Subscribe bool
	borrows   bool // see Borrow
}

// Borrow asks a lane of this node to lend its memory of all rows instead of copying them: Rows is nil. That does not
// travel: a lane of another node copies all rows.
func (p *PullPart) Borrow() { p.borrows = true }

// Borrows reports whether the part asks to borrow.
func (p *PullPart) Borrows() bool { return p.borrows }

// Rows answers a Pull. Request 0 are rows that the client has subscribed to: those that have changed
// since it was last sent some, none perhaps; all its other rows are as they were, and of this version.
type Rows struct {
	Request     uint64
	Incarnation uint32 // of the client that it is for: another one has asked other questions
	Parts       []RowsPart
	payload     []byte // what Decode made the message from
	lent        []byte // what it was lent by Borrow
	widened     raw.Widened
}

// Borrow keeps the memory of a pull's lists of rows until the answer is freed. An answer borrows from one pull, before
// that is freed.
func (m *Rows) Borrow(p *Pull) { m.lent, p.payload = p.payload, nil }

// Extend adds an empty part, with the memory for values that an earlier use of the message left.
func (m *Rows) Extend() *RowsPart {
	n := len(m.Parts)
	m.Parts = slices.Grow(m.Parts, 1)[:n+1]
	p := &m.Parts[n]
	if p.lent {
		p.Values = nil
	}
	*p = RowsPart{Values: p.Values[:0], list: p.list, keys: p.keys}
	return p
}

// RowsPart is the content of rows of one partition at one version.
type RowsPart struct {
	Pair                          // as the lane owns it
	Commit   bellows.CommitNumber // commits up to this are in, for a table without a barrier
	Complete bellows.Clock        // clocks up to this are in, of every split
	Rows     []uint32             // as asked; nil where keys were asked
	Keys     []bellows.Key        // of a sparse table's rows that come unasked: ascending, never nil; else nil
	Values   []float32            // row after row

	lent bool          // see Lend
	list []uint32      // memory for Rows
	keys []bellows.Key // memory for Keys
}

// Lend makes the memory of a lane the values of the part, for a client of the same node. They are read-only, and the
// message does not use them again.
func (p *RowsPart) Lend(values []float32) { p.Values, p.lent = values, true }

// Lent reports whether the values of the part are memory of a lane.
func (p *RowsPart) Lent() bool { return p.lent }

// Scratch returns memory for a list of rows, empty and not nil, which SetRows takes back.
func (p *RowsPart) Scratch() []uint32 { return slices.Grow(p.list[:0], 16) }

// SetRows makes a list that began as Scratch the part's rows.
func (p *RowsPart) SetRows(rows []uint32) { p.Rows, p.list = rows, rows }

// ScratchKeys returns memory for a list of keys, which SetKeys takes back.
func (p *RowsPart) ScratchKeys() []bellows.Key { return slices.Grow(p.keys[:0], 16) }

// SetKeys makes a list that began as ScratchKeys the part's keys.
func (p *RowsPart) SetKeys(list []bellows.Key) { p.Keys, p.keys = list, list }

// Acquire asks a lane for a lease on a whole partition.
type Acquire struct {
	Request uint64
	Pair    Pair
	Mode    Mode
	Need    Need
	Route   bellows.RouteVersion // by which the client asks this lane
	Held    bellows.CommitNumber // revision of the copy that the client has of the partition at this generation; 0: none
}

// Granted gives a lease. Within one node Values is the partition's slab itself; between nodes a copy,
// which an exclusive holder sends back in its flush. If the client has that copy already, none is sent.
type Granted struct {
	Request  uint64
	Pair     // as the lane owns it
	Mode     Mode
	Commit   bellows.CommitNumber // commits up to this are in, as in RowsPart
	Complete bellows.Clock        // clocks up to this are in, of every split
	// Revision is the record that wrote the values, by which a client names its copy of them (Acquire.Held). 0: they have
	// no name.
	Revision  bellows.CommitNumber
	Unchanged bool // the copy that the client has named is as new as the partition: Values is nil
	Columns   padding.Columns
	Values    []float32

	payload []byte // what Values is a view of, between nodes
}

// Copy makes a copy of values the message's, in memory that Free gives back.
func (m *Granted) Copy(values []float32) {
	memory.Put(m.payload)
	m.payload = memory.Get(4 * len(values))
	m.Values = memory.Words[float32](m.payload)
	copy(m.Values, values)
}

// Move makes the copy of another message this one's. The other has no values then.
func (m *Granted) Move(from *Granted) {
	m.payload, from.payload = from.payload, m.payload
	m.Values, from.Values = from.Values, nil
}

// Copied reports whether the values are a copy, and not the partition's slab.
func (m *Granted) Copied() bool { return m.payload != nil && !m.Unchanged }

// Release ends a shared lease. An exclusive lease ends with the commit of its flush.
type Release struct{ Pair }

// Unsubscribe tells a lane that a client does not want a partition's rows unasked any more. Some may be under way.
type Unsubscribe struct {
	Pair
	Incarnation uint32 // of the client
}

// Push carries the parts of a flush that one lane must hold. The chunks stay the client's memory and
// unchanged until the lane says Committed.
type Push struct {
	Flush  bellows.FlushID
	Clock  bellows.Clock
	Pairs  []Pair // of the whole flush, over all lanes
	Chunks []Chunk
	Leases []LeaseEnd
	// Done is the flush's. A lane that gets all of it sends that on when it holds the push; of several lanes the first gets it, to keep: the
	// client says when all hold their parts, and another controller asks what they finished (Holding). nil: another push has it. It agrees
	// with the push on the flush, the clock and the pairs.
	Done *Done
	// Again says that parts of the push were sent before, elsewhere or in another push: each answer to it names the pairs that it
	// speaks of. Answers to a push that is not name none where they mean all of it.
	Again bool
	Route bellows.RouteVersion // by which the client sends it to this lane

	payload []byte // what Decode made the message from
	widened raw.Widened
}

// Chunk is a sum of deltas for rows of one partition: those of the splits of one aligned subtree of
// the binary tree over split ids, or those of some units of one split's clock.
type Chunk struct {
	Pair
	Subtree Subtree
	Rows    []uint32      // rows counted from the partition's first; nil: all, in order
	Keys    []bellows.Key // of a sparse table, in place of Rows: in any order, never nil
	Values  []float32
}

// Subtree names the splits [Index<<Level, (Index+1)<<Level). If the clock of a split is divided into units, it may
// also name some of them, which follow each other, by their items.
type Subtree struct {
	Level uint8
	Index uint32
	Items bellows.Range // of one split: those of the units that are meant; empty: all of its clock, or several splits
}

// Part reports whether only a part of a split's clock is meant.
func (t Subtree) Part() bool { return t.Items.Begin < t.Items.End }

// LeaseEnd ends an exclusive lease as part of a flush.
type LeaseEnd struct {
	Pair
	Columns padding.Columns
	Values  []float32 // the partition's new values; the slab itself within one node, else unchanged as chunks are
}

// A lane's messages about a flush name pairs, since two lanes answer for a partition that has moved, each at its
// generation. If a message concerns all pairs of the flush that the client sent this lane, in the one push that was not
// sent Again, it names none. So answers are short as long as nothing moves, and it is clear which pairs they mean, at
// the generations at which they were sent.

// Held tells a client that parts of a flush are held.
type Held struct {
	Flush bellows.FlushID
	Pairs []Pair // none: all of the first push
}

// Full tells a client that the lane cannot hold parts of a flush now; Room, later, that it may send them again.
type Full struct {
	Flush bellows.FlushID
	Pairs []Pair // as in Held
}

// Room is the end of Full.
type Room struct {
	Flush bellows.FlushID
	Pairs []Pair // as in Full
}

// Committed tells a client that flushes of its own are committed.
type Committed struct {
	List  []Commitment
	pairs []Pair
}

// Commitment says that parts of a flush are applied and visible at this lane; or, while some of them wait for a clock
// or a lease, that it has its number: what the lane shows from then on may contain the rest.
type Commitment struct {
	Flush   bellows.FlushID
	Commit  bellows.CommitNumber
	Waiting bool   // not all of them are visible; the chunks must stay as they are
	Pairs   []Pair // as in Held
}

// HasRoom reports whether a commitment with so many pairs fits into the message.
func (m *Committed) HasRoom(pairs int) bool {
	return len(m.List) < CommittedMost && len(m.pairs)+pairs <= pairsMost
}

// Append adds a commitment, copying its pairs.
func (m *Committed) Append(c Commitment) {
	at := len(m.pairs)
	m.pairs = append(m.pairs, c.Pairs...)
	if c.Pairs = nil; len(m.pairs) > at {
		c.Pairs = m.pairs[at:len(m.pairs):len(m.pairs)]
	}
	m.List = append(m.List, c)
}

// Refused tells a sender that a request cannot be served, ever.
type Refused struct {
	Flush  bellows.FlushID // of a Push or Done, else zero
	Kind   bellows.Kind    // of what follows for the job
	Reason string
}

// Inquiry asks a lane what it has of that for which the client waits.
type Inquiry struct {
	Incarnation uint32         // of the client
	List        []pending.Wait // at most pending.Most
}

// Standing answers an Inquiry, wait by wait, after all earlier answers of the lane.
type Standing struct {
	Incarnation uint32 // of the client that it is for
	List        []pending.Wait
}

// Stale tells a client that the owner of what it asks for, pushes, or is done with has changed: nothing of it was taken. It is to be made again by
// a route that is as new as the sender's; a flush keeps its name.
type Stale struct {
	Term    bellows.Term         // of the controller, where it answers a Done
	Route   bellows.RouteVersion // that the sender knows
	Request uint64               // of a Pull or an Acquire, else 0
	Flush   bellows.FlushID      // of a Push or a Done, else none
	Pairs   []Pair               // all of the push, or those of the done that have another owner
}

// Done tells the controller that every part of a flush is held. It comes from the client, or by way of the push from the only lane.
type Done struct {
	Flush   bellows.FlushID
	Clock   bellows.Clock
	Pairs   []Pair
	Results []Result
	// Deferrable says that no actor waits for the flush's record before its clock is complete: all of its deltas are
	// for BSP tables, and it ends no lease.
	Deferrable bool
	Sent       []audit.Sent // what the flush has of each table, as its client counted it: the record keeps it
	numbers    []float64
}

// Append adds a result, copying its values.
func (d *Done) Append(u bellows.Unit, values []float64) {
	at := len(d.numbers)
	d.numbers = append(d.numbers, values...)
	d.Results = append(d.Results, Result{u, d.numbers[at:len(d.numbers):len(d.numbers)]})
}

// AppendAll adds results, copying their values.
func (d *Done) AppendAll(results []Result) {
	d.Results = appendResults(d.Results, results, &d.numbers)
}

// appendResults appends results to a list, and what they have of values to another list, where these lie from then on.
func appendResults(to, results []Result, numbers *[]float64) []Result {
	at := len(to)
	to = append(to, results...) // most have no values
	for i := range to[at:] {
		if r := &to[at+i]; len(r.Values) > 0 {
			n := len(*numbers)
			*numbers = append(*numbers, r.Values...)
			r.Values = (*numbers)[n:len(*numbers):len(*numbers)]
		}
	}
	return to
}

// Result is a finished unit and what its task signalled.
type Result struct {
	Unit   bellows.Unit
	Values []float64
}

// Failed tells the controller that a task, or the node itself, ended in an error.
type Failed struct {
	Unit   bellows.Unit // of the task; zero: none
	Reason string
	Kind   bellows.Kind // of the cause, where that is in another process
	Err    error        // the cause, within one process
}

// Computing tells the controller which task of a node has computed for longest without a pause, where that is long: it is what others wait for.
type Computing struct {
	Unit   bellows.Unit
	Millis int64
}

// Recall asks a client to return the units of a split that it has not begun, since the split is to move: those of
// clocks of which it has begun nothing. Recalled answers it.
type Recall struct {
	Term  bellows.Term
	Split bellows.SplitID
}

// Recalled says that a client has returned what it had not begun of a split, and runs nothing of it after a clock. The
// term is that of the controller that asked.
type Recalled struct {
	Term  bellows.Term
	Split bellows.SplitID
	Clock bellows.Clock // the last that it has begun, or had before; those behind are given back
}

// Beat is a heartbeat: of a node to the controller, and of the controller to the other nodes.
type Beat struct{}

// Staleness tells a client how many clocks reads of a table may lag, from the next dispatch on. It is sent when
// no task is out. Lanes learn of it by a record.
type Staleness struct {
	Table  bellows.TableID
	Clocks int32 // as table.Consistency
	Term   bellows.Term
}

// Route tells a client the owners from now on: the changes since the route that it knows. A client or a lane that
// begins while the job runs receives all of it, and how far the job is. Other lanes learn of changes by records.
type Route struct {
	Term    bellows.Term
	Version bellows.RouteVersion // after the changes; each of them makes the next version
	Changes []bellows.Control    // or, where Begin is not nil, the route as a whole
	Begin   *Begin
}

// Begin tells a new member how far the job is.
type Begin struct {
	Commit    bellows.CommitNumber // the records up to this are over: the next that a lane gets follows it
	Complete  []bellows.Clock      // of each split
	Staleness []int32              // of each table, as table.Consistency
	Recorded  []Recorded           // of each incarnation of a client that has sent flushes
	Open      []bellows.Unit       // that count, of clocks that are not complete
}

// Recorded is which flushes of one incarnation of a client have a number: all up to UpTo, and those above.
type Recorded struct {
	Client      bellows.NodeID
	Incarnation uint32
	UpTo        uint64
	Above       []uint64
}

// Dispatch gives a client tasks that see every commit up to Commit.
type Dispatch struct {
	Term   bellows.Term
	Commit bellows.CommitNumber
	Tasks  []Task
	args   []float64
}

// Task is one dispatched unit of work.
type Task struct {
	Unit bellows.Unit
	Args []float64
}

// Append adds a task, copying its arguments.
func (d *Dispatch) Append(u bellows.Unit, args []float64) {
	at := len(d.args)
	d.args = append(d.args, args...)
	d.Tasks = append(d.Tasks, Task{u, d.args[at:len(d.args):len(d.args)]})
}

// End tells an actor that the job is over: flushes not recorded up to Commit never count. A client passes it on to the
// lanes, after everything that it sent them, so that a lane knows when it has seen everything that it must account for.
// A controller that has learned of more members sends it again.
type End struct {
	Term   bellows.Term // 0: a client passes it on
	Commit bellows.CommitNumber
	Reason string           // empty: the job finished
	Gone   []bellows.NodeID // clients that will pass on nothing
	Kind   bellows.Kind     // of a failure
	Parts  bool             // from a client to a lane that leaves: nothing more is sent to that lane, and the job continues; from the controller to a lane: it waits for no client
	Lanes  []LaneName       // added since the job's beginning, perhaps unknown to the client, which passes the end on to them as well
}

// Added returns the addresses of Lanes.
func (m *End) Added() (list []Address) {
	for _, l := range m.Lanes {
		list = append(list, LaneAt(l.Node, int(l.Index)))
	}
	return list
}

// LaneName is a lane by its node and its index there.
type LaneName struct {
	Node  bellows.NodeID
	Index uint16
}

// Fence tells a lane that a process of a node is declared gone: nothing of its client is taken any more, nor of those before it. One that
// is started after it is another incarnation.
type Fence struct {
	Term        bellows.Term
	Node        bellows.NodeID
	Incarnation uint32
}

// Closed is the last message of a lane or client: its counts for the audit. At the job's end it goes to the controller.
// A member that is removed earlier sends it to its successor, which adds the counts to its own.
type Closed struct {
	Counts  Counts
	Route   bellows.RouteVersion // to a successor: the route that removed the sender
	Adopted []bellows.Control    // the removals of members whose counts are in these
	Missed  []Missed             // of a lane that was removed: not in its counts, since their flushes may get numbers yet
}

// Missed is a part of a flush that a lane has seen and does not hold: where the flush never gets a number its row deltas are dropped.
type Missed struct {
	Flush bellows.FlushID
	Ref   bellows.PartitionRef
	Rows  int64
	Bits  audit.Sum
}

// Adopted reports to the controller the removals whose members' counts a lane has added to its own: they are no longer
// needed.
type Adopted struct{ List []bellows.Control }

// Counts are row deltas after aggregation, counted where they pass (architecture, "Exact and early").
type Counts struct {
	Sent      int64                      // by a client, once per row and flush
	Applied   int64                      // by a lane's stores, as they wrote them, and by its sums, where they became part of others
	Dropped   int64                      // by a lane: what never counted
	Staleness [tally.StalenessBins]int64 // reads, by the clocks that they were behind
	Ledgers   []audit.Ledger             // by table: sums over the bits of what passed
}

// Add adds other counts to these.
func (c *Counts) Add(o *Counts) {
	c.Sent += o.Sent
	c.Applied += o.Applied
	c.Dropped += o.Dropped
	for i, n := range o.Staleness {
		c.Staleness[i] += n
	}
	c.Ledgers = audit.Add(c.Ledgers, o.Ledgers)
}

// Account returns the counts as the audit compares them, with the names of the job's tables.
func (c *Counts) Account(tables []string) audit.Account {
	a := audit.Account{Sent: c.Sent, Applied: c.Applied, Dropped: c.Dropped, Tables: make([]audit.TableLedger, len(tables))}
	for i := range tables {
		a.Tables[i].Name = tables[i]
		if i < len(c.Ledgers) {
			a.Tables[i].Ledger = c.Ledgers[i]
		}
	}
	return a
}

// Collect asks a lane for the state of its partitions, when the job is over: for so many slabs of it, and again for more
// when some have been taken.
type Collect struct {
	Term  bellows.Term
	Whole bool   // with slots, and as it is beside as it was kept; else what the job returns
	Slabs uint32 // how many may be sent for this question
}

// Slab is one array of a partition's state, or a part of it, an answer to Collect. Those of one array come
// in order.
type Slab struct {
	Ref    bellows.PartitionRef
	Kept   bool          // as the driver last kept it
	Slot   uint16        // 0: the values; else slot Slot-1 of the rule
	Keys   []bellows.Key // not nil: the keys of the rows, ascending; without values
	Values []float32
	Term   bellows.Term // of the controller that asked
}

// Collected ends the answers to Collect.
type Collected struct {
	Reason string       // not empty: why the state is missing
	Term   bellows.Term // of the controller that asked
}

// Ready reports that a node has assembled its roles and is connected to every other, and for which job.
type Ready struct{ Fingerprint bellows.Fingerprint }

// Notice passes on a sentence about a wait that lasts.
type Notice struct{ Sentence string }

// Complaint is what an actor has to say against a node, and why. Where Breach is set, that node sent what cannot be, and the sender
// hears no more of it: the node is lost. Else the sender has lost its connection to it: the node is suspected; or it is the sender's own, which leaves.
type Complaint struct {
	Node   bellows.NodeID
	Reason string
	Breach bool
}
