package flush

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/lists"
	"bellows/core/pending"
	"bellows/link/wire"
)

// flush is a write set that has left, until every part of it is visible. It has a part for each partition that it
// changes, and pushes that bring them: one for each lane at first, more where parts have to go elsewhere by a newer
// route.
//
//	preparing: some vote is missing ──votes == len(parts)──▶ done ──all Committed, none waiting──▶ closed
//	     ▲                                                    │
//	     └──────── reopen: a part has another owner ──────────┘
//
// Invariants:
//   - votes counts the parts from partHeld on, visible those that are, stale those in partStale
//     (TestStaleRequestsWaitForRoute).
//   - Done is handed out once for each time that all parts are held: by the coordinator, or with the push to the one
//     lane that gets all (TestAStaleDoneIsDoneAgain, TestAStaleDoneOfOneLane).
//   - Each part is linked to the one push in which it was sent last, or unlinked while it is stale.
//   - It is closed once, when visible is len(parts); a flush without parts by its number alone.
//
// Turned down: accounting by push, or by lane. A partition that moves takes its part of the flush along, and its new
// owner answers for it (docs/decisions/0030).
type flush struct {
	id         bellows.FlushID
	clock      bellows.Clock
	pushes     []lanePush
	parts      []flushPart
	votes      int // parts that some lane holds, or has recorded
	visible    int // parts that are visible
	values     int // of all deltas
	writes     *writeSet
	sum        *delta.Bundle        // the stream deltas, where they are of several splits
	sent       []audit.Sent         // what it has of each table, as the audit counts it
	results    *wire.Done           // a copy, for a Done that has to be said again (reopen)
	stale      int                  // parts that wait for a route
	staleUntil bellows.RouteVersion // the newest that they wait for
	reopened   bool                 // its done was taken back (reopen)
	preparing  bool                 // some vote is missing, as far as is known: counted in Coordinator.preparing
}

// lanePush is what one lane was sent of a flush at one time. A lane without room sends Full and keeps nothing of what
// it names; the same message leaves again when it sends Room.
type lanePush struct {
	lane  int
	push  *wire.Push
	first int  // of its parts, the others are linked to it (next); none: they have all been sent elsewhere
	moved bool // it brought nothing, and another lane was sent that: its own has left
	again bool // it brings again what was stale: answers to it name their pairs
	// parted says that it may still be on its way when the flush counts. Some of it was refused and sent elsewhere,
	// which a lane may say before it comes; or the lane before has left, and says last that it counts.
	parted           bool
	waited           bool       // its lane had no room for some of it, and may say Room
	visibleOnCommit  bool       // some of it shows as soon as it is recorded, and the lane sends subscribed rows then
	countedAsCertain bool       // it is sure to be recorded: the caller knows (RelayExpected)
	wait             pending.At // how it stands at its lane, until all of it is visible
	resent           int        // how often, because there was room
	// asked is what resent was when its lane was asked about it last (wait.go); -1: sent again, and not asked about.
	asked int
}

// flushPart is a flush's part for one partition: what is accounted for, since partitions move. An answer means it if
// it names the pair, whichever lane says it.
type flushPart struct {
	pair  wire.Pair // as it was sent last
	push  int       // in which it was sent last: index in flush.pushes
	next  int       // another part of that push, or none
	state partState
}

// none is the end of a list of parts.
const none = -1

// partState is how far a part of a flush is, as far as is known: the answers of a lane come in order, but those of
// two lanes may overtake each other, and a new controller may record what nobody here knows to be held.
//
//	sent ⇄ full          TakeFull; sendAgain
//	sent, held → stale   TakeStale: refused by a lane, or by the controller when it was done
//	stale → sent         PushAgain, to the present owner
//	sent → held          TakeHeld
//	any → recorded       TakeCommitted: it has a number
//	any → visible        TakeCommitted
type partState uint8

const (
	partSent     partState = iota
	partFull               // its lane has no room for it
	partStale              // it is another lane's, of which a newer route knows
	partHeld               // its lane keeps it until its record
	partRecorded           // it has a number, and waits for a clock or a lease
	partVisible            // its lane shows it: it applied what it kept
)

// updates yields the sums that a flush sends, with where each is in the tree. The deltas of the other tables are
// nowhere.
func (f *flush) updates(yield func(*delta.Set, wire.Subtree) bool) {
	for _, s := range f.writes.tree {
		if !yield(&s.bundle.Set, s.at) {
			return
		}
	}
	switch {
	case f.sum != nil:
		yield(&f.sum.Set, wire.Subtree{})
	case len(f.writes.members) == 1:
		yield(&f.writes.members[0].Set, wire.Subtree{})
	}
}

// pairs appends the pairs of all parts of a flush.
func (f *flush) pairs(to []wire.Pair) []wire.Pair {
	for i := range f.parts {
		to = append(to, f.parts[i].pair)
	}
	return to
}

// shows reports whether some deltas of a flush show as soon as they are recorded.
func (f *flush) shows() bool {
	return slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.visibleOnCommit })
}

// allHeld reports whether a flush has parts, and all of them are held and no more than that.
func (f *flush) allHeld() bool {
	return len(f.parts) > 0 && !slices.ContainsFunc(f.parts, func(p flushPart) bool { return p.state != partHeld })
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

// hasState reports whether some part of a push is in a state.
func (p *lanePush) hasState(f *flush, s partState) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state == s {
			return true
		}
	}
	return false
}

// flushes are the flushes that have left and are not visible everywhere.
type flushes struct {
	open  []*flush
	spare lists.Spare[flush]
}

// Open returns how many flushes are not visible everywhere.
func (s *flushes) Open() int { return len(s.open) }

// remove forgets a flush.
func (s *flushes) remove(f *flush) {
	i := slices.Index(s.open, f)
	s.open = slices.Delete(s.open, i, i+1)
}

// find returns the flush of a name, or nil: it is closed, or never was.
func (s *flushes) find(id bellows.FlushID) *flush {
	for _, f := range s.open {
		if f.id == id {
			return f
		}
	}
	return nil
}

// What lanes say of a flush they say of pairs (wire.Held), or of all that the first push brought. An answer about a
// pair at another generation than that at which it was sent last is of an owner of the past, or of one that this node
// has not heard of yet: it changes nothing, except that a commit by the latter counts. Nor does one about a flush
// that is visible everywhere, or of the process before this one (TestAnswersToTheProcessBeforeAreNothing). What no
// lane can say is that it has something of a flush that was not sent, or that was sent to another lane
// (TestAnswersToNoQuestionAreNamed).

// spokenOf returns the flush that a lane speaks of, and leaves the parts that it means in Coordinator.named. Nil
// without an error: it is past. The sentence describes what cannot be. newer reports that an owner that is not known
// yet may say it.
func (c *Coordinator) spokenOf(
	id bellows.FlushID, pairs []wire.Pair, lane wire.Address, newer bool, sentence string,
) (*flush, error) {
	f := c.find(id)
	past := id.Client == c.self.Node && (id.Incarnation < c.process || id.Incarnation == c.process && id.Seq <= c.seq)
	switch {
	case f == nil && past:
		return nil, nil
	case f == nil, len(pairs) == 0 && !c.nameAll(f, lane), len(pairs) > 0 && !c.name(f, pairs, lane, newer):
		return nil, fmt.Errorf("%v %s", id, sentence)
	}
	return f, nil
}

// nameAll names the parts of the first push of a flush to a lane, without those that were sent again, and reports
// whether the lane was sent anything.
func (c *Coordinator) nameAll(f *flush, lane wire.Address) (sent bool) {
	named := c.named[:0]
	for i := range f.pushes {
		p := &f.pushes[i]
		if c.lanes[p.lane] != lane {
			continue
		}
		sent = true
		for k := p.first; k != none && !p.again; k = f.parts[k].next {
			named = append(named, k)
		}
	}
	c.named = named
	return sent
}

// name names the parts of a flush that pairs mean, and reports whether the lane can mean them.
func (c *Coordinator) name(f *flush, pairs []wire.Pair, lane wire.Address, newer bool) bool {
	named := c.named[:0]
	c.indexParts(f, true)
	can := true
	for _, p := range pairs {
		at := c.at[c.division.Number(p.Ref)] - 1
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
			named = append(named, at)
		}
	}
	c.indexParts(f, false)
	c.named = named
	return can
}

// indexParts writes to Coordinator.at where the parts of a flush are, or removes that again.
func (c *Coordinator) indexParts(f *flush, in bool) {
	for i := range f.parts {
		at := 0
		if in {
			at = i + 1
		}
		c.at[c.division.Number(f.parts[i].pair.Ref)] = at
	}
}

// outgrown reports whether some part of a push has another owner now: its lane need not have it any more, and what it
// says of it is no contradiction. It is asked all the same, since it must say something, unless it has refused some
// of it.
func (c *Coordinator) outgrown(f *flush, p *lanePush) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		part := &f.parts[k]
		now := c.partitions[c.division.Number(part.pair.Ref)].pair.Generation
		if part.state == partStale || part.pair.Generation < now {
			return true
		}
	}
	return false
}

// Unsure reports whether rows of a partition's owner at a generation may or may not have updates that splits of this
// node lay over what they read: an owner of the past held them, and its word whether they count, which comes apart,
// has not come (TestNewOwnersRowsWaitForPreviousOwner).
func (s *flushes) Unsure(pair wire.Pair) bool {
	return slices.ContainsFunc(s.open, func(f *flush) bool {
		if len(f.writes.members) == 0 || f.writes.members[0].Commit != 0 {
			return false
		}
		return slices.ContainsFunc(f.parts, func(p flushPart) bool {
			before := p.pair.Ref == pair.Ref && p.pair.Generation < pair.Generation
			return before && p.state < partRecorded && p.state != partStale
		})
	})
}

// Expects reports whether a lane is to say something of a flush.
func (s *flushes) Expects(lane int) bool {
	return slices.ContainsFunc(s.open, func(f *flush) bool {
		return slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.lane == lane && p.below(f, partVisible) })
	})
}

// AwaitedRoute returns a flush that waits for a route, and the route; false: none does.
func (s *flushes) AwaitedRoute() (id bellows.FlushID, until bellows.RouteVersion, awaited bool) {
	for _, f := range s.open {
		if f.stale > 0 {
			return f.id, f.staleUntil, true
		}
	}
	return bellows.FlushID{}, 0, false
}

// Tick tells the coordinator the time, in milliseconds: waits that it has not seen before begin.
func (s *flushes) Tick(nowMillis int64) {
	for _, f := range s.open {
		for i := range f.pushes {
			f.pushes[i].wait.Begin(nowMillis)
		}
	}
}
