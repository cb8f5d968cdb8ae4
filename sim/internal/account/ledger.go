// Package account recomputes from a simulated job's messages its row deltas and leases, the owners of partitions, and
// the places of tasks. A Ledger has the row deltas and leases, a History which lane owned which partition, and Places
// the tasks in a node's compute slots.
//
// Tell a Ledger of every push that leaves (Sent) and of what comes to lanes and leaves them, in the order in which it
// happens; hold what actors say of themselves at the end against its sums. It shares no code with the core, and refuses to
// judge more than leases that exclude each other.
package account

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// Ledger is the account of row deltas and leases that the world keeps from the messages it sees.
type Ledger struct {
	route    *route.Route
	Parts    map[PartAt]*entry        // for look-ups only
	Done     map[bellows.FlushID]bool // flushes that the client itself reported to the controller
	SentRows map[bellows.NodeID]int64
	LaneRows map[wire.Address]int64 // that came to a lane
	LateRows map[wire.Address]int64 // also came to a lane, perhaps after it closed
	carried  map[wire.Address]int64 // rows of deltas that a lane has loaded with images of a cut
	Leases   []Out                  // per partition, by route.Number
	sharing  map[sharer]int         // shared leases that are out
	last     map[bellows.NodeID][]wire.Need
	left     map[wire.Address]wire.Counts // closing counts, without what was adopted
	buried   map[parting]bool             // lanes that have parted from lost clients while the job continues
}

// sharer is a node with shared leases on a partition, by route.Number.
type sharer struct {
	node      bellows.NodeID
	partition int
}

// PartAt names the part of a flush for one lane.
type PartAt struct {
	Lane  wire.Address
	Flush bellows.FlushID
}

// entry is the state of a part: on its way, arrived (to be held, or refused by a lane with an older route), held,
// recorded. A part that a lane had no room for is on its way again when the lane has asked for it. Its rows count once,
// however often it was sent. A part that came late, perhaps after its lane closed, may be in the lane's closing counts
// or not; LateRows keeps it apart.
type entry struct {
	rows     int64
	clock    bellows.Clock
	shares   []share
	came     bool
	voted    bool // for some of it
	recorded bool
	full     bool // the lane had no room for it, and has not taken it since
	asked    bool // to come again
	refused  bool // once, by a lane with an older route
	parted   bool // all of it is to go elsewhere
}

// share is what a part has for one partition.
type share struct {
	ref   bellows.PartitionRef
	rows  int64
	lease bool // the end of an exclusive lease
	held  bool
	again bool  // it did not leave with the first push
	heard bool  // its client knows that the lane holds it
	left  int64 // when it left first
}

// AllHeld reports whether the lane holds all of a part.
func (e *entry) AllHeld() bool {
	return e.voted && !slices.ContainsFunc(e.shares, func(x share) bool { return !x.held })
}

// Out is the leases on a partition that are out, as its lane sees it.
type Out struct {
	shared    int
	Exclusive bool
	Local     bool // the exclusive holder works on the slab itself
	owner     bellows.NodeID
}

// NewLedger returns the empty account of a job with a route.
func NewLedger(r *route.Route) Ledger {
	return Ledger{route: r, Parts: map[PartAt]*entry{}, Done: map[bellows.FlushID]bool{}, SentRows: map[bellows.NodeID]int64{}, LaneRows: map[wire.Address]int64{}, LateRows: map[wire.Address]int64{},
		Leases: make([]Out, r.Partitions()), last: map[bellows.NodeID][]wire.Need{}, sharing: map[sharer]int{}, left: map[wire.Address]wire.Counts{}, carried: map[wire.Address]int64{}, buried: map[parting]bool{}}
}

// Carry notes that a lane has loaded deltas that were gathered at a cut. The lane counts them as sent.
func (l *Ledger) Carry(lane wire.Address, rows int64) { l.carried[lane] += rows }

// Sent takes a push on its way from its client. The same part may be sent again, after Room.
func (l *Ledger) Sent(to wire.Address, m *wire.Push, now int64, width func(bellows.TableID) int) {
	at := PartAt{to, m.Flush}
	e := l.Parts[at]
	if e != nil && !m.Again {
		return
	}
	if e == nil {
		e = &entry{clock: m.Clock, shares: make([]share, 0, len(m.Chunks)+len(m.Leases))}
	} else {
		e.full, e.parted = false, false // more of it comes
	}
	before, known := e.rows, e.shares
	add := func(ref bellows.PartitionRef, values int, lease bool) {
		rows := int64(values / width(ref.Table))
		if m.Again && slices.ContainsFunc(known, func(x share) bool { return x.ref == ref && x.lease == lease }) {
			return
		}
		e.rows += rows
		e.shares = append(e.shares, share{ref: ref, rows: rows, lease: lease, again: m.Again, left: now})
	}
	for i := range m.Chunks {
		add(m.Chunks[i].Ref, len(m.Chunks[i].Values), false)
	}
	for i := range m.Leases {
		add(m.Leases[i].Ref, len(m.Leases[i].Values), true)
	}
	l.Parts[at] = e
	if !m.Again { // else it was sent before
		l.SentRows[m.Flush.Client] += e.rows - before
	}
}

// Came records that a part arrived at its lane, for the first time or again. Parts from unknown nodes are ignored.
// late: the client was declared gone and the lane knows that the job is over, so the lane may have closed.
func (l *Ledger) Came(at PartAt, late bool) {
	e := l.Parts[at]
	switch {
	case e == nil || e.came || l.buried[parting{at.Lane, at.Flush.Client}]:
		return
	case late:
		l.LateRows[at.Lane] += e.rows
	default:
		l.LaneRows[at.Lane] += e.rows
	}
	e.came = true
}

// Refused records that a lane refused pairs of a part because another lane owns them; the client sends them again by
// another route, unless it is lost.
func (l *Ledger) Refused(at PartAt, pairs []wire.Pair) {
	if e := l.Parts[at]; e != nil {
		e.shares = slices.DeleteFunc(e.shares, func(x share) bool {
			return slices.ContainsFunc(pairs, func(p wire.Pair) bool { return p.Ref == x.ref })
		})
		e.parted = e.parted || len(e.shares) == 0
	}
	if e := l.Parts[at]; e != nil && e.came && !e.refused {
		e.refused = true
		l.LaneRows[at.Lane] -= e.rows
		l.LateRows[at.Lane] += e.rows
	}
}

// Rests reports whether a lane has been sent something of a flush that it has neither refused nor said to hold.
func (l *Ledger) Rests(at PartAt) bool {
	e := l.Parts[at]
	return e != nil && !e.parted && !e.AllHeld()
}

// Heard records that the lane's answer reached the client: it holds the pairs, or all that the first push brought. It
// returns when the oldest share without such an answer first left.
func (l *Ledger) Heard(at PartAt, pairs []wire.Pair) (left int64) {
	e := l.Parts[at]
	if e == nil {
		return 0
	}
	left = -1
	for i := range e.shares {
		x := &e.shares[i]
		x.heard = x.heard || len(pairs) == 0 && !x.again || slices.ContainsFunc(pairs, func(p wire.Pair) bool { return p.Ref == x.ref })
		if !x.heard && (left < 0 || x.left < left) {
			left = x.left
		}
	}
	return max(left, 0)
}

// Stays reports whether a lane takes part by a route and owns some of its part of a flush. If not, the client makes the
// part again elsewhere, even if the lane is lost and sends no refusal.
func (l *Ledger) Stays(at PartAt, r *route.Route) bool {
	e := l.Parts[at]
	return slices.Contains(r.Lanes(), at.Lane) &&
		(e == nil || len(e.shares) == 0 || slices.ContainsFunc(e.shares, func(x share) bool { return r.Owner(x.ref).Lane == at.Lane }))
}

// Voted records that a lane holds a part, or some pairs of it. It reports whether the lane says this for the first
// time.
func (l *Ledger) Voted(at PartAt, pairs []wire.Pair) bool {
	e := l.Parts[at]
	if e == nil {
		return false
	}
	for i := range e.shares {
		x := &e.shares[i]
		x.held = x.held || len(pairs) == 0 || slices.ContainsFunc(pairs, func(p wire.Pair) bool { return p.Ref == x.ref })
	}
	first := !e.voted
	e.voted = true
	return first
}

// Full records that a lane has no room for a part.
func (l *Ledger) Full(at PartAt) {
	if e := l.Parts[at]; e != nil {
		e.full, e.asked = true, false
	}
}

// Room records that a lane has room: the part may come again.
func (l *Ledger) Room(at PartAt) {
	if e := l.Parts[at]; e != nil {
		e.asked = true
	}
}

// Expects reports whether a lane will take what comes for a part: it is the first time, or it has asked.
func (l *Ledger) Expects(at PartAt) bool {
	e := l.Parts[at]
	return e == nil || !e.AllHeld() && (!e.full || e.asked)
}

// Recorded takes a record on its arrival at a lane, and reports whether the lane holds a part of the flush.
func (l *Ledger) Recorded(at PartAt) bool {
	e := l.Parts[at]
	if e == nil || !e.voted || e.recorded {
		return false
	}
	e.recorded = true
	for _, x := range e.shares {
		if x.lease {
			l.Leases[l.route.Number(x.ref)] = Out{}
		}
	}
	return true
}

// Applied returns the least and the most row deltas that a lane has applied at the end of the job: those of recorded
// flushes, and in a table with a barrier those of complete clocks only. It does not know what a lease that is out at
// the end has withheld. If a node is lost, the end of a lease may come or not (unsure).
func (l *Ledger) Applied(lane wire.Address, complete bellows.Clock, barrier, unsure func(bellows.TableID) bool) (least, most int64) {
	for at, e := range l.Parts { // in any order: it is a sum
		if at.Lane != lane || !e.recorded {
			continue
		}
		for _, x := range e.shares {
			if !x.lease && barrier(x.ref.Table) && e.clock > complete {
				continue
			}
			most += x.rows
			if x.lease || l.Leases[l.route.Number(x.ref)] == (Out{}) && !unsure(x.ref.Table) {
				least += x.rows
			}
		}
	}
	return least, most
}

// Whole reports whether lanes hold all that they were sent of a flush.
func (l *Ledger) Whole(lanes []wire.Address, id bellows.FlushID) (whole bool) {
	for _, at := range lanes {
		if e := l.Parts[PartAt{at, id}]; e != nil {
			if e.parted {
				continue
			}
			if !e.AllHeld() {
				return false
			}
			whole = true
		}
	}
	return whole
}

// Holds checks a lane's report of what it holds: the lane was sent some of each flush.
func (l *Ledger) Holds(lane wire.Address, m *wire.Holding) error {
	for i := range m.Flushes {
		if id := m.Flushes[i].Flush; l.Parts[PartAt{lane, id}] == nil {
			return fmt.Errorf("P1: %v says that it holds %v, but it was sent nothing of it", lane, id)
		}
	}
	return nil
}

// Released takes the end of a shared lease on its arrival at its lane.
func (l *Ledger) Released(from wire.Address, ref bellows.PartitionRef) {
	n := l.route.Number(ref)
	l.Leases[n].shared--
	l.sharing[sharer{from.Node, n}]--
}

// Fenced ends the shared leases of a node that was declared gone, at one lane.
func (l *Ledger) Fenced(lane wire.Address, n bellows.NodeID, by *route.Route) {
	for ref := range l.route.Each() {
		if s := (sharer{n, l.route.Number(ref)}); by.Owner(ref).Lane == lane {
			l.Leases[s.partition].shared -= l.sharing[s]
			l.sharing[s] = 0
		}
	}
}

// Buried parts a lane from a node that is lost while the job continues: the node's exclusive leases there end as well,
// and its parts that came and are not recorded count for no lane.
func (l *Ledger) Buried(lane wire.Address, n bellows.NodeID, by *route.Route) {
	l.Fenced(lane, n, by)
	for ref := range l.route.Each() {
		if o := &l.Leases[l.route.Number(ref)]; o.Exclusive && o.owner == n && by.Owner(ref).Lane == lane {
			*o = Out{}
		}
	}
	l.buried[parting{lane, n}] = true
	for at, e := range l.Parts { // in any order: it is a sum
		if at.Lane == lane && at.Flush.Client == n && e.came && !e.recorded && !e.refused {
			l.LaneRows[lane] -= e.rows
			l.LateRows[lane] += e.rows
		}
	}
}

// parting is a lane and a client that it parts from.
type parting struct {
	lane   wire.Address
	client bellows.NodeID
}

// Granted takes a lease that a lane gives.
func (l *Ledger) Granted(from, to wire.Address, m *wire.Granted) error {
	o := &l.Leases[l.route.Number(m.Ref)]
	if o.Exclusive || (m.Mode == wire.Exclusive && o.shared > 0) {
		return fmt.Errorf("leases: %v gets %v while another lease excludes it", to, m.Ref)
	}
	if m.Mode == wire.Exclusive {
		*o = Out{Exclusive: true, Local: from.Node == to.Node, owner: to.Node}
	} else {
		o.shared++
		l.sharing[sharer{to.Node, l.route.Number(m.Ref)}]++
	}
	return nil
}

// Shown returns the newest version of a partition that a node has been shown.
func (l *Ledger) Shown(n bellows.NodeID, ref bellows.PartitionRef) *wire.Need {
	if l.last[n] == nil {
		l.last[n] = make([]wire.Need, len(l.Leases))
		for i := range l.last[n] {
			l.last[n][i].Clock = bellows.NoClock
		}
	}
	return &l.last[n][l.route.Number(ref)]
}
