package client

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// update is deltas for any partitions: a task's while it runs, a bundle's then. Its buffers are the
// partitions' and go back to their pools.
type update struct {
	buffers []*delta.Buffer // by route.Number; nil: none
	touched []int
}

func (u *update) buffer(n int, c *Client) *delta.Buffer {
	if u.buffers[n] == nil {
		u.buffers[n] = c.partitions[n].buffer()
		u.touched = append(u.touched, n)
	}
	return u.buffers[n]
}

// reset gives the buffers back.
func (u *update) reset(c *Client) {
	for _, n := range u.touched {
		u.buffers[n].Reset()
		c.partitions[n].buffers.Put(u.buffers[n])
		u.buffers[n] = nil
	}
	u.touched = u.touched[:0]
}

// merge adds the deltas of o, which keeps them.
func (u *update) merge(o *update, c *Client) {
	for _, n := range o.touched {
		u.buffer(n, c).Merge(o.buffers[n])
	}
}

// take moves the deltas of a partition from o, of whose list its caller takes it out.
func (u *update) take(n int, o *update, c *Client) {
	d := o.buffers[n]
	o.buffers[n] = nil
	if u.buffers[n] == nil {
		u.buffers[n], u.touched = d, append(u.touched, n)
		return
	}
	if !planted.On("counts-of-one") {
		u.buffers[n].Merge(d)
	}
	d.Reset()
	c.partitions[n].buffers.Put(d)
}

// mergeThree adds the deltas of o, and those of p and q to that, along the tree; it may change p,
// and keeps none.
func (u *update) mergeThree(o, p, q *update, c *Client) {
	if !u.alike(o) || !u.alike(p) || !u.alike(q) {
		u.merge(o, c)
		p.merge(q, c)
		u.merge(p, c)
		return
	}
	for _, n := range u.touched {
		u.buffers[n].MergeThree(o.buffers[n], p.buffers[n], q.buffers[n])
	}
}

// alike says whether both have deltas for the same partitions.
func (u *update) alike(o *update) bool {
	if len(u.touched) != len(o.touched) {
		return false
	}
	for _, n := range u.touched {
		if o.buffers[n] == nil {
			return false
		}
	}
	return true
}

// bundle is an update that a flush sends and a split may still lay over its reads; both must have
// let it go (users) before its memory is used again.
type bundle struct {
	update update
	users  int
	commit bellows.CommitNumber // 0: not known to be committed
}

func (b *bundle) drop(c *Client) {
	if b.users--; b.users == 0 {
		b.update.reset(c)
		b.commit = 0
		c.spare.bundles.put(b)
	}
}

func (c *Client) newBundle() *bundle {
	b := c.spare.bundles.get()
	if b.update.buffers == nil {
		b.update.buffers = make([]*delta.Buffer, len(c.partitions))
	}
	b.users = 1
	return b
}

// writeSet is what finished tasks of one clock leave for the next flush. At most one is open for each clock, besides
// those of tasks with leases, which leave alone; it is open from the first unit that is dispatched. It leaves when no
// unit of its clock is left here, or when no task executes (flushReady): waiting longer could be waiting for oneself.
// Then it belongs to its flush, whose deltas are sent from here, again too (pushAgain).
type writeSet struct {
	clock   bellows.Clock
	open    int        // units of the clock that are dispatched here and not finished
	done    *wire.Done // the results so far; nil: none, or they have been handed out (done)
	tree    []subtree  // BSP deltas: sums of aligned groups of splits
	counts  *bundle    // BSP deltas of counts, of all of these: they join the first when it leaves; nil: none
	members []*bundle  // deltas of the other tables, a split each
	leases  []leaseGrant
	leased  int // values of these that are copies
}

// subtree is the sum of the deltas of the splits below a node of the tree (package delta), or of
// its two halves, not added yet.
type subtree struct {
	at     wire.Subtree
	bundle *bundle
	right  *bundle // the sum of the group's right half, where bundle is that of the left; nil: bundle is all
}

// join is the parent of two siblings. Two that have halves are added at once, the halves of each
// first.
func (s *subtree) join(right subtree, c *Client) subtree {
	parent := subtree{at: delta.Parent(s.at), bundle: s.bundle}
	if s.right == nil || right.right == nil {
		s.add(c)
		right.add(c)
		parent.right = right.bundle
		return parent
	}
	s.bundle.update.mergeThree(&s.right.update, &right.bundle.update, &right.right.update, c)
	s.right.drop(c)
	right.bundle.drop(c)
	right.right.drop(c)
	return parent
}

// add makes one sum of what is in halves.
func (s *subtree) add(c *Client) {
	if s.right != nil {
		s.bundle.update.merge(&s.right.update, c)
		s.right.drop(c)
		s.right = nil
	}
}

func (c *Client) newWriteSet(clock bellows.Clock) *writeSet {
	w := c.spare.writeSets.get()
	*w = writeSet{clock: clock, tree: w.tree[:0], members: w.members[:0], leases: w.leases[:0]}
	return w
}

// writeSetOf is the open write set of a clock. They stand in the order of clocks, in which they leave where they leave
// together: a lane above its cap relies on that (server, hasRoom; TestWhatLeavesTogetherLeavesInTheOrderOfClocks).
func (c *Client) writeSetOf(clock bellows.Clock) *writeSet {
	at := len(c.writeSets)
	for at > 0 && c.writeSets[at-1].clock >= clock {
		if at--; c.writeSets[at].clock == clock {
			return c.writeSets[at]
		}
	}
	w := c.newWriteSet(clock)
	c.writeSets = slices.Insert(c.writeSets, at, w)
	return w
}

// flush is a write set that has left, until every part of it is visible: the client's side of one
// two-phase commit. It has a part for each partition that it changes, and pushes that bring them:
// one for each lane at first, more where parts have to go elsewhere by a newer route.
//
//	preparing: some vote is missing ──votes == len(parts)──▶ done ──all Committed, none waiting──▶ closed
//	     ▲                                                    │
//	     └──────── reopen: a part has another owner ──────────┘
//
// Invariants:
//   - votes counts the parts from partHeld on, visible those that are, stale those in partStale
//     (TestWhatIsStaleWaitsForTheRoute).
//   - Done is handed out once for each time that all parts are held: by this client, or with the
//     push to the one lane that gets all (TestAStaleDoneIsDoneAgain, TestAStaleDoneOfOneLane).
//   - Each part is linked to the one push in which it was sent last, or unlinked while it is stale.
//   - It is closed once, when visible is len(parts); a flush without parts by its number alone.
//
// Turned down: accounting by push, or by lane. A partition that moves takes its part of the flush
// along, and its new owner answers for it (docs/decisions/0030).
type flush struct {
	id         bellows.FlushID
	clock      bellows.Clock
	pushes     []lanePush
	parts      []flushPart
	votes      int // parts that some lane holds, or has recorded
	visible    int // parts that are visible
	values     int // of all deltas
	writes     *writeSet
	sum        *bundle              // the stream deltas, where they are of several splits
	sent       []audit.Sent         // what it has of each table, as the audit counts it
	results    *wire.Done           // a copy, for a Done that has to be said again (reopen)
	stale      int                  // parts that wait for a route
	staleUntil bellows.RouteVersion // the newest that they wait for
	reopened   bool                 // its done was taken back (reopen)
	preparing  bool                 // some vote is missing, as far as is known: counted in Client.preparing
}

// lanePush is what one lane was sent of a flush at one time. A lane without room sends Full and
// keeps nothing of what it names; the same message leaves again when it sends Room.
type lanePush struct {
	lane             int
	push             *wire.Push
	first            int        // of its parts, the others are linked to it (next); none: they have all been sent elsewhere
	moved            bool       // it brought nothing, and another lane was sent that: its own has left
	again            bool       // it brings again what was stale: answers to it name their pairs
	parted           bool       // it may be on its way when the flush counts: some of it was refused and sent elsewhere, which a lane may say before it comes, or the lane before has left and says last that it counts
	waited           bool       // its lane had no room for some of it, and may say Room
	visibleOnCommit  bool       // some of it shows as soon as it is recorded, and the lane sends subscribed rows then
	countedAsCertain bool       // it is sure to be recorded: counted in Client.relays
	wait             pending.At // how it stands at its lane, until all of it is visible
	resent           int        // how often, because there was room
	asked            int        // what resent was when its lane was asked about it last (enquire.go); -1: sent again, and not asked about
}

// flushPart is a flush's part for one partition: what is accounted for, since partitions move. An
// answer means it if it names the pair, whichever lane says it.
type flushPart struct {
	pair  wire.Pair // as it was sent last
	push  int       // in which it was sent last: index in flush.pushes
	next  int       // another part of that push, or none
	state partState
}

// none is the end of a list of parts.
const none = -1

// partState is how far a part of a flush is, as far as is known: the answers of a lane come in
// order, but those of two lanes may overtake each other, and a new controller may record what
// nobody here knows to be held.
//
//	sent ⇄ full          takeFull; sendAgain
//	sent, held → stale   staleParts: refused by a lane, or by the controller when it was done
//	stale → sent         pushAgain, to the owner of now
//	sent → held          takeHeld
//	any → recorded       takeCommitted: it has a number
//	any → visible        takeCommitted
type partState uint8

const (
	partSent     partState = iota
	partFull               // its lane has no room for it
	partStale              // it is another lane's, of which a newer route knows
	partHeld               // its lane keeps it until its record
	partRecorded           // it has a number, and waits for a clock or a lease
	partVisible            // its lane shows it: it applied what it kept
)

// pairs appends the pairs of all parts of a flush.
func (f *flush) pairs(to []wire.Pair) []wire.Pair {
	for i := range f.parts {
		to = append(to, f.parts[i].pair)
	}
	return to
}

// find is the flush of a name, or nil: it is closed, or never was.
func (c *Client) find(id bellows.FlushID) *flush {
	for _, f := range c.flushes {
		if f.id == id {
			return f
		}
	}
	return nil
}

// below reports whether some part of a push is not known to be so far.
func (p *lanePush) below(f *flush, s partState) bool {
	if len(f.parts) == 0 { // of nothing, which is over when it is recorded
		return !p.moved
	}
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state < s {
			return true
		}
	}
	return false
}

// links reports whether a part was sent last with a push.
func (p *lanePush) links(f *flush, pair wire.Pair) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].pair == pair {
			return true
		}
	}
	return false
}

// has reports whether some part of a push is so far.
func (p *lanePush) has(f *flush, s partState) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state == s {
			return true
		}
	}
	return false
}

// What lanes say of a flush they say of pairs (wire.Held), or of all that the first push brought. An answer about a pair
// at another generation than that at which it was sent last is of an owner of the past, or of one that this client has
// not heard of yet: it changes nothing, except that a commit by the latter counts. Nor does one about a flush that is
// visible everywhere, or of the process before this one (TestAnswersToTheProcessBeforeAreNothing). What no lane can say
// is that it has something of a flush that was not sent, or that was sent to another lane:
// TestAnswersToNoQuestionAreNamed.

// spokenOf is the flush that a lane speaks of, and the parts that it means, in c.named. Nil: it is past, or was a
// breach, which the sentence describes. newer says that an owner that is not known yet may say it.
func (c *Client) spokenOf(id bellows.FlushID, pairs []wire.Pair, lane wire.Address, newer bool, fx *Effects, sentence string) *flush {
	f := c.find(id)
	own := c.cfg.Incarnation
	switch {
	case f == nil && id.Client == c.cfg.Self.Node && (id.Incarnation < own || id.Incarnation == own && id.Seq <= c.seq):
		return nil
	case f == nil, len(pairs) == 0 && !c.allOf(f, lane), len(pairs) > 0 && !c.some(f, pairs, lane, newer):
		c.breach(lane, fx, "%v %s", id, sentence)
		return nil
	}
	return f
}

// allOf names the parts of the first push of a flush to a lane, without those that were sent again,
// and reports whether it was sent anything.
func (c *Client) allOf(f *flush, lane wire.Address) (sent bool) {
	c.named = c.named[:0]
	for i := range f.pushes {
		p := &f.pushes[i]
		if c.lanes[p.lane] != lane {
			continue
		}
		sent = true
		for k := p.first; k != none && !p.again; k = f.parts[k].next {
			c.named = append(c.named, k)
		}
	}
	return sent
}

// some names the parts of a flush that pairs mean, and reports whether the lane can mean them.
func (c *Client) some(f *flush, pairs []wire.Pair, lane wire.Address, newer bool) bool {
	c.named = c.named[:0]
	c.indexParts(f, true)
	can := true
	for _, p := range pairs {
		at := c.partAt[c.cfg.Route.Number(p.Ref)] - 1
		if at < 0 {
			can = false
			break
		}
		was := &f.parts[at]
		switch sent := was.pair.Generation; {
		case p.Generation < sent, p.Generation > sent && !newer:
		case p.Generation == sent && c.lanes[f.pushes[was.push].lane] != lane:
			can = false
		default:
			c.named = append(c.named, at)
		}
	}
	c.indexParts(f, false)
	return can
}

// indexParts writes to partAt where the parts of a flush stand, or takes that out again.
func (c *Client) indexParts(f *flush, in bool) {
	for i := range f.parts {
		at := 0
		if in {
			at = i + 1
		}
		c.partAt[c.cfg.Route.Number(f.parts[i].pair.Ref)] = at
	}
}
