package takeover

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/membership"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A Takeover is a new controller's search for what the previous controller has recorded.
//
// It asks the lanes of nodes that are ready. By answering, a lane promises to take records of no earlier term, and
// says what it holds. When all nodes are ready and all lanes have answered, the records are known that some lane or
// the saved state lacks (ChooseTail). They are read from the lanes, one tail after the other (AskTail). Then the
// takeover has all that it needs.
//
// Nodes may have left that only a lane knows of, which has their counts: its answer excuses them from being ready
// and from answering (Excuse). While a lane that can be heard has not answered, no other node is judged
// (MayHaveLeft).
//
// Invariants, and what holds them:
//
//   - Nothing is chosen before every lane has answered: one that has not may still take a record of the previous
//     controller that no other lane knows (TestChooseTailNeedsEveryAnswer).
//   - The longest tail is the truth, since an actor learns of a record from a lane before it acts on it. Several tails
//     are joined without a gap (TestTailsAreJoined, TestAGapIsABreach).
//   - A flush is whole if every part of it is held (TestWholeJoinsHeldParts). Records that no lane has count
//     nothing: their flushes are still held.
//
// Rejected: to save each record elsewhere. Every lane keeps them anyway (docs/decisions/0032).
type Takeover struct {
	self     wire.Address // the controller
	term     bellows.Term
	saved    bellows.CommitNumber // the record of the saved state
	asked    []bool               // by lane
	holdings []*wire.Holding      // by lane; nil: it has not answered
	best     int                  // the lane that is asked for its tail; none: no lane
	need     bellows.CommitNumber // the first record that is wanted; 0: it is not known yet
	upTo     bellows.CommitNumber // the last that a lane has
	tail     []wire.Record        // from need on, in messages
	messages []*wire.Records      // that have the tail
	kept     []journal.Arrival    // that arrived meanwhile
	adopted  []bellows.Control    // removals of actors that need not answer
	end      *wire.End            // what a lane knows of the job's end; nil: no lane knows one
	gone     []bellows.NodeID     // nodes that the controller before has fenced
}

const (
	// none is no lane.
	none = -1
	// KeptMax bounds the messages that may arrive before the takeover ends: as many flushes as a lane lets wait.
	KeptMax = 1 << 16
)

// absent stands for the answer of a lane that has left.
var absent wire.Holding

// New returns a takeover that begins, of a controller in a term that was restored after a record, with so many lanes.
func New(self wire.Address, term bellows.Term, saved bellows.CommitNumber, lanes int) *Takeover {
	return &Takeover{self: self, term: term, saved: saved, best: none,
		asked: make([]bool, lanes), holdings: make([]*wire.Holding, lanes)}
}

// Ask asks lanes of nodes that are ready for what they hold, each once; or all lanes. It returns those that the
// route does not have, so that the checker of this node learns of them.
func (t *Takeover) Ask(g *membership.Group, all bool, out *wire.Outbox) (met []wire.Address) {
	for i, l := range g.Lanes() {
		if i == len(t.asked) {
			t.asked, t.holdings = append(t.asked, false), append(t.holdings, nil)
		}
		if t.asked[i] || g.Awaits(l.Node) && !all {
			continue
		}
		t.asked[i] = true
		met = appendUnknown(met, l, g.Route().Lanes())
		out.Send(t.self, l, &wire.Query{Term: t.term})
	}
	return met
}

// appendUnknown adds an actor that is not among those of the route.
func appendUnknown(met []wire.Address, a wire.Address, known []wire.Address) []wire.Address {
	if slices.Contains(known, a) || planted.On("asked-unmet") {
		return met
	}
	return append(met, a)
}

// TakeHolding takes a lane's answer, by the place of the lane.
func (t *Takeover) TakeHolding(lane int, m *wire.Holding) { t.holdings[lane] = m }

// EnrolAdded enrols the actors that have begun since, as a lane reports. It has reported them before another record
// that adds one is needed. EnrolAdded returns clients that the route does not have.
func (t *Takeover) EnrolAdded(m *wire.Holding, g *membership.Group) (met []wire.Address) {
	for _, add := range m.Added {
		if planted.On("added-lane-unasked") && add.Kind == bellows.AddLane {
			continue
		}
		if add.Kind == bellows.AddLane {
			g.Enrol(wire.LaneAt(add.Node, int(add.Lane)))
			continue
		}
		a := wire.ClientAt(add.Node)
		g.Enrol(a)
		met = appendUnknown(met, a, g.Route().Clients())
	}
	return met
}

// Hear takes note of what the controller before has decided without a record: the end of the job and the nodes that it
// has fenced. Lanes keep both, and learn them before any client.
func (t *Takeover) Hear(m *wire.Holding) {
	if t.end == nil {
		t.end = m.End
	}
	for _, f := range m.Gone {
		t.gone = append(t.gone, f.Node)
	}
}

// End returns what a lane knows of the job's end; nil: no lane knows one.
func (t *Takeover) End() *wire.End { return t.end }

// Fenced returns the nodes that the controller before has fenced.
func (t *Takeover) Fenced() []bellows.NodeID { return t.gone }

// Adopted returns the removals of actors whose counts a lane has.
func (t *Takeover) Adopted() []bellows.Control { return t.adopted }

// Excuse waits no more for actors whose counts a lane has. Their node may be gone, if no other actor of the job is
// there.
func (t *Takeover) Excuse(adopted []bellows.Control, g *membership.Group) {
	for _, one := range adopted {
		if !slices.Contains(t.adopted, one) {
			t.adopted = append(t.adopted, one)
		}
	}
	for _, one := range t.adopted {
		a, _ := g.Route().Removed(one)
		if i := slices.Index(g.Lanes(), a); i >= 0 && t.holdings[i] == nil {
			t.holdings[i] = &absent
		}
		stays := func(b wire.Address) bool { return b.Node == a.Node && !t.hasAdopted(b, g) }
		if a.Node != t.self.Node && !slices.ContainsFunc(slices.Concat(g.Lanes(), g.Clients()), stays) {
			g.Leave(a.Node)
		}
	}
}

// hasAdopted reports whether a lane has said that it has the counts of an actor.
func (t *Takeover) hasAdopted(a wire.Address, g *membership.Group) bool {
	return slices.ContainsFunc(t.adopted, func(one bellows.Control) bool {
		removed, _ := g.Route().Removed(one)
		return removed == a
	})
}

// MayHaveLeft reports whether a node is perhaps one that has left, as a lane may say that has not answered: a lane
// that can be heard, or one that is due to be lost itself, if the node has no lane that has not answered. Two nodes
// with such lanes that are both silent do not excuse each other.
func (t *Takeover) MayHaveLeft(n bellows.NodeID, g *membership.Group) bool {
	owes, silent := false, false
	for i, l := range g.Lanes() {
		switch {
		case t.holdings[i] != nil:
		case l.Node == n:
			owes = true
		case !g.Due(l.Node):
			return true
		default:
			silent = true
		}
	}
	return silent && !owes
}

// Fresh reports whether a lane was added and has not begun: no record is a lane's that knows none.
func (t *Takeover) Fresh(lane int, g *membership.Group) bool {
	h := t.holdings[lane]
	return h != nil && h != &absent && h.Last == 0 && !g.IsFirst(g.Lanes()[lane])
}

// skips reports whether a lane has no part in the records that are chosen.
func (t *Takeover) skips(lane int, g *membership.Group) bool {
	h := t.holdings[lane]
	return h == nil || h == &absent || t.Fresh(lane, g)
}

// Advance takes the next step of the takeover, if nothing is waited for: it chooses the records to read, or asks a lane
// for the next of them. It reports whether all have come.
func (t *Takeover) Advance(g *membership.Group, out *wire.Outbox) (complete bool, err error) {
	if t.need > 0 && t.best != none {
		return false, nil
	}
	if t.need == 0 {
		if chosen, err := t.ChooseTail(g); !chosen {
			return false, err
		}
	}
	return t.AskTail(g, out)
}

// ChooseTail chooses the records to read, once: those that some lane or the saved state lacks. It reports whether
// it has: all nodes must be ready, and all lanes must have answered.
func (t *Takeover) ChooseTail(g *membership.Group) (chosen bool, err error) {
	if t.need > 0 || !g.AllReady() || slices.Contains(t.holdings, nil) && !planted.On("recover-without-promise") {
		return false, nil
	}
	t.need = t.saved + 1
	for i, h := range t.holdings {
		if t.skips(i, g) {
			continue
		}
		if !t.hasLeft(i, g) || planted.On("leaver-caught-up") {
			t.need = min(t.need, h.Last+1)
		}
		t.upTo = max(t.upTo, h.Last)
	}
	if t.upTo < t.saved {
		return false, fmt.Errorf("the job cannot be recovered: its controller was saved after record %d, "+
			"and no lane has more than %d", t.saved, t.upTo)
	}
	return true, nil
}

// hasLeft reports whether a lane that has answered had left before the controller was saved: it takes no records
// after its removal, and the others may have forgotten those that follow (TestLeftLaneNeedsNoRecords).
func (t *Takeover) hasLeft(lane int, g *membership.Group) bool {
	h := t.holdings[lane]
	return h.Last > 0 && h.Last < t.saved && !slices.Contains(g.Route().Lanes(), g.Lanes()[lane])
}

// AskTail asks a lane for the next of the records to read, and reports whether all have come. Of the lanes that
// have kept the next record it asks the one that has come furthest. That need not be the furthest of all, which may
// have begun late.
func (t *Takeover) AskTail(g *membership.Group, out *wire.Outbox) (complete bool, err error) {
	next := t.Next()
	if next > t.upTo {
		return true, nil
	}
	kept := bellows.CommitNumber(0) // the first record that any lane has kept
	t.best = none
	for i, h := range t.holdings {
		if t.skips(i, g) || h.Last < next {
			continue
		}
		if kept == 0 || h.Tail < kept {
			kept = h.Tail
		}
		if h.Tail > next || len(t.tail) > 0 && planted.On("one-tail") {
			continue
		}
		if t.best == none || h.Last > t.holdings[t.best].Last {
			t.best = i
		}
	}
	if t.best == none {
		return false, fmt.Errorf("the job cannot be recovered: records from %d on are needed, "+
			"and lanes have kept those from %d on", next, kept)
	}
	out.Send(t.self, g.Lanes()[t.best], &wire.Query{Term: t.term, From: next})
	return false, nil
}

// Next returns the first record that is wanted and has not come.
func (t *Takeover) Next() bellows.CommitNumber { return t.need + bellows.CommitNumber(len(t.tail)) }

// Awaits reports whether a lane is asked for its tail.
func (t *Takeover) Awaits(from wire.Address, g *membership.Group) bool {
	return t.best != none && from == g.Lanes()[t.best]
}

// TakeTail takes records that a lane has kept, which it sends in their order, and reports whether its tail has been
// read: then Advance. A gap is a breach of the lane.
func (t *Takeover) TakeTail(from wire.Address, m *wire.Records) (read bool, breach error) {
	t.messages = append(t.messages, m)
	for i := range m.List {
		switch n := m.List[i].Number; {
		case n < t.Next():
		case n > t.Next():
			return false, fmt.Errorf("%v has kept record %d behind record %d", from, n, t.Next()-1)
		default:
			t.tail = append(t.tail, m.List[i])
		}
	}
	if t.Next() <= t.holdings[t.best].Last {
		return false, nil
	}
	t.best = none
	return true, nil
}

// UpTo returns the last record that a lane has, as it was when the records were chosen.
func (t *Takeover) UpTo() bellows.CommitNumber { return t.upTo }

// Last returns the newest record that the controller before has numbered, as far as any lane has said.
func (t *Takeover) Last() (n bellows.CommitNumber) {
	for _, h := range t.holdings {
		if h != nil {
			n = max(n, h.Last)
		}
	}
	return n
}

// Tail returns the records that have come.
func (t *Takeover) Tail() []wire.Record { return t.tail }

// Record returns a record of the tail; nil: the tail has no such number.
func (t *Takeover) Record(n bellows.CommitNumber) *wire.Record {
	if n < t.need || n >= t.Next() {
		return nil
	}
	return &t.tail[n-t.need]
}

// Repeats reports whether the driver has asked for a control record before, which is to get a number. The error
// says that it has asked for another one then.
func (t *Takeover) Repeats(n bellows.CommitNumber, r bellows.Control) (bool, error) {
	one := t.Record(n)
	if one == nil {
		return false, nil
	}
	if one.Control != r {
		return true, fmt.Errorf("record %d is %+v, and now it asks for %+v", one.Number, one.Control, r)
	}
	return true, nil
}

// Awaited returns the lanes that the takeover waits for: those that have not answered, and the one that is asked for
// its tail.
func (t *Takeover) Awaited(g *membership.Group) (open []wire.Address) {
	for i, h := range t.holdings {
		if h == nil || t.best == i {
			open = append(open, g.Lanes()[i])
		}
	}
	return open
}

// Free frees the messages that have the tail.
func (t *Takeover) Free() {
	for _, m := range t.messages {
		wire.Free(m)
	}
}
