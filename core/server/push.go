package server

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The first phase of a commit: a push comes, and is held or not. takePush asks, in this order:
//
// 1. Is it mine? An owner of the past takes nothing of it (checkPush).
// 2. Do I know it? What is held or recorded is neither held nor told Full again (dedupe). This
//    comes before what the lane judges by its state, since a push that comes again is not as new: a
//    lease that it ends is ending already.
// 3. May it be? Sums are of splits that the sender runs, leases are ended by who has them (fits).
// 4. Is there room? Else it waits at its client (hasRoom, full), and is called when there is
//    (admitWaiting).
// 5. Have its keys rows? They get them here, and the memory for them is refused here (reserve):
//    nothing can be refused behind the vote.
//
// Then it is held, and the vote leaves: wire.Held, or the flush's wire.Done where the lane has all
// of it (passDone).
//
// What the lane knows of a flush it knows by partition: it may hold one part of it, have no room
// for another, and get a third later, in a push of its own, since partitions come from other lanes
// (docs/decisions/0030). A record is different: it is made when every part is held, so that
// whatever comes of the flush afterwards has come before.

// flush is what the lane has of one flush, as it came in one push: parts for other partitions may
// have come in another. It is held until its record, numbered while that is taken, open until the
// last of its chunks is part of the state, and then memory for another.
type flush struct {
	push  *wire.Push
	from  wire.Address
	bytes int
	above bool // it was taken above the cap, the first that came of it
	named bool // what is said of it names its pairs
	// several: more of it may have come before, or come later: this push has not all of what the lane will hold
	several bool
	moved   *wire.Piece          // it is one chunk that came with its partition: nobody here is told of it
	number  bellows.CommitNumber // 0: not recorded
	open    int                  // chunks and lease ends not applied yet
	rows    []uint32             // memory for the numbers of the rows that its keys name
}

// waiter is a push that must come again: only its name is here, its deltas stay with its client.
// When there is room it is asked, once. It may find none again, since others that rank lower have
// come meanwhile, and then waits as before.
type waiter struct {
	flush bellows.FlushID
	clock bellows.Clock
	first int         // the least partition of it, by route.Number
	pairs []wire.Pair // of it
	named bool        // what is said of it names them
	from  wire.Address
	parts []missed // what would be dropped
	asked bool     // to come again
}

// takePush holds the parts of a flush, or says that it cannot yet, or never.
func (l *Lane) takePush(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if l.outlived(subscriber{from, m.Flush.Incarnation}) && !planted.On("incarnation-ignored") {
		wire.Free(m)
		return
	}
	if l.counted.Has(m.Flush) && !planted.On("push-twice") { // whoever owns what it names by now
		l.answerHeld(from, m, out)
		if m.Again && len(m.Pairs) == 0 && !planted.On("left-behind-untold") { // it was another lane's, which has left
			out.Send(l.cfg.Self, from, &wire.Committed{List: []wire.Commitment{{Flush: m.Flush, Commit: l.applied}}})
		}
		return
	}
	switch err := l.checkPush(m); {
	case err == errStale:
		l.sayStale(from, &wire.Stale{Route: l.cfg.Route.Version(), Flush: m.Flush, Pairs: pushed(m)}, out)
		l.refused(from, m, out) // it comes again under the same name, to where it belongs
		l.admitWaiting(out)
		return
	case err != nil:
		out.Send(l.cfg.Self, from, refusal(m.Flush, err))
		return
	}
	known, fresh := l.dedupe(m)
	if !fresh {
		l.answerHeld(from, m, out)
		return
	}
	if err := l.fits(from, m); err != nil {
		l.breach(from, out, "%v %v", m.Flush, err)
		return
	}
	bytes := pushBytes(m)
	room, above := len(m.Chunks)+len(m.Leases) == 0, false // a flush that changes nothing takes none
	if !room {
		room, above = l.hasRoom(m.Flush, m.Clock, bytes)
	}
	if !room {
		l.full(from, m, known, out)
		return
	}
	l.arrived(m)
	f := l.newFlush()
	*f = flush{push: m, from: from, bytes: bytes, above: above && !known, named: m.Again || known, several: m.Again || known, open: len(m.Chunks) + len(m.Leases), rows: f.rows}
	if err := l.reserve(f); err != nil {
		l.drop(m)
		out.Send(l.cfg.Self, from, refusal(m.Flush, err))
		return
	}
	l.hold(f, out)
	if l.passDone(m, known, out) {
		return
	}
	if m.Again {
		l.answerHeld(from, m, out)
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	if f.named {
		h.Pairs = append(h.Pairs, l.pairsOf(m)...)
	}
	out.Send(l.cfg.Self, from, h)
}

// checkPush refuses a push that names a partition of another owner: all of it, since its client
// makes it again as a whole.
func (l *Lane) checkPush(m *wire.Push) error {
	for p := range pairs(m) {
		if _, err := l.find(p); err != nil {
			return err
		}
	}
	return nil
}

// dedupe leaves of a push what the lane does not know. It reports whether the lane knows something
// of the flush, and whether anything is left: of a flush that was recorded nothing is. Parts that
// wait for room are known, unless they are sent again: then what waits is what comes now.
func (l *Lane) dedupe(m *wire.Push) (known, fresh bool) {
	if planted.On("push-twice") {
		return false, true
	}
	if l.counted.Has(m.Flush) {
		return true, false
	}
	for _, f := range l.held {
		if same(f.push.Flush, m.Flush) {
			known, f.several = true, true
			if planted.On("dedupe-by-flush") {
				return true, false
			}
			l.stamp(f.push)
			l.strip(m)
		}
	}
	for i := l.waiterAt(m); i < len(l.waiting) && same(l.waiting[i].flush, m.Flush); i++ {
		w := &l.waiting[i]
		if w.asked {
			continue
		}
		if known = true; m.Again {
			if w.shares(l.pairsOf(m)) {
				l.miss(w.parts)
				l.waiting = slices.Delete(l.waiting, i, i+1)
				i--
			}
			continue
		}
		l.stamps++
		for _, p := range w.pairs {
			l.at(p.Ref).stamp = l.stamps
		}
		l.strip(m)
	}
	return known, !known || len(m.Chunks)+len(m.Leases) > 0
}

// stamp gives the partitions of a push a stamp that no other has: a set of partitions without
// memory of its own, good until the next.
func (l *Lane) stamp(m *wire.Push) {
	l.stamps++
	for p := range pairs(m) {
		l.at(p.Ref).stamp = l.stamps
	}
}

// strip takes out of a push the parts of partitions that have the last stamp.
func (l *Lane) strip(m *wire.Push) {
	stamped := func(p bellows.PartitionRef) bool { return l.at(p).stamp == l.stamps }
	m.Chunks = slices.DeleteFunc(m.Chunks, func(c wire.Chunk) bool { return stamped(c.Ref) })
	m.Leases = slices.DeleteFunc(m.Leases, func(e wire.LeaseEnd) bool { return stamped(e.Ref) })
}

// waiterAt is the place of the first that waits of a push's flush, or where it would be.
func (l *Lane) waiterAt(m *wire.Push) int {
	i, _ := slices.BinarySearchFunc(l.waiting, waiter{flush: m.Flush, clock: m.Clock, first: -1}, rank)
	return i
}

// fits refuses sums of splits that the sender does not run, where sums of others are to be added to
// them, and the ends of leases that it does not have.
func (l *Lane) fits(from wire.Address, m *wire.Push) error {
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if l.at(c.Ref).barrier && !l.cfg.Route.Runs(from.Node, c.Subtree) {
			return fmt.Errorf("has a sum over subtree %d of level %d, which has splits of others", c.Subtree.Index, c.Subtree.Level)
		}
	}
	for i := range m.Leases {
		p := l.at(m.Leases[i].Ref)
		if !p.leases.MayEnd(from) {
			return fmt.Errorf("ends an exclusive lease on %v that it does not have", p.ref)
		}
	}
	return nil
}

// hasRoom applies the cap on unrecorded bytes (architecture, "Bounds"), and reports whether a flush
// is above it. The lowest flush by (clock, node) is always taken, everywhere, so that no two
// flushes can wait for each other.
//
// What is taken above the cap has a bound, too: of a client that runs S splits, 2S + 1 flushes at a
// time. One that keeps to the protocol never has more. Each is below all that are held, so that its
// clocks descend; and none passes another that waits, so that they come as they were sent. Some
// bring work that was finished since the one before: by S splits at most, since the clocks of a
// split ascend. The others left because nothing could run, and took along all that had gathered, in
// the order of clocks; so no two of them are neighbours.
func (l *Lane) hasRoom(f bellows.FlushID, c bellows.Clock, bytes int) (room, above bool) {
	if l.cfg.HeldBytesMax == 0 || len(l.held) == 0 || l.heldBytes+bytes <= l.cfg.HeldBytesMax {
		return true, false
	}
	if planted.On("cap-without-floor") {
		return false, true
	}
	this, aboves := waiter{flush: f, clock: c}, 0
	for _, h := range l.held {
		if rank(waiter{flush: h.push.Flush, clock: h.push.Clock}, this) < 0 { // of another flush
			return false, true
		}
		if h.above && h.push.Flush.Client == f.Client && h.push.Flush.Incarnation == f.Incarnation {
			aboves++
		}
	}
	lower, _ := slices.BinarySearchFunc(l.waiting, this, rank)
	if slices.ContainsFunc(l.waiting[:lower], func(w waiter) bool { return w.flush.Client == f.Client && w.flush.Incarnation == f.Incarnation }) {
		return false, true
	}
	return aboves < 2*l.splitsOf(f.Client)+1, true
}

// splitsOf is how many splits a client runs.
func (l *Lane) splitsOf(client bellows.NodeID) (n int) {
	for s := range l.cfg.Route.Splits() {
		if l.cfg.Route.Node(bellows.SplitID(s)) == client {
			n++
		}
	}
	return n
}

// rank is the order in which flushes find room, the same at every lane: by clock, then by client,
// incarnation and number; of one flush by its first partition.
func rank(a, b waiter) int {
	switch {
	case a.clock != b.clock:
		return int(a.clock) - int(b.clock)
	case a.flush.Client != b.flush.Client:
		return int(a.flush.Client) - int(b.flush.Client)
	case a.flush.Incarnation != b.flush.Incarnation && !planted.On("incarnation-ignored"):
		return cmp.Compare(a.flush.Incarnation, b.flush.Incarnation)
	case a.flush.Seq != b.flush.Seq:
		return cmp.Compare(a.flush.Seq, b.flush.Seq)
	}
	return a.first - b.first
}

// full tells a client that there is no room for a push, and notes that it must come again.
func (l *Lane) full(from wire.Address, m *wire.Push, known bool, out *wire.Outbox) {
	w := waiter{flush: m.Flush, clock: m.Clock, first: l.least(m), pairs: slices.Clone(l.pairsOf(m)), named: m.Again || known, from: from,
		parts: l.parts(m)}
	if !l.enqueue(w) {
		l.breach(from, out, "%d flushes wait for room already", l.cfg.Limits.Parked)
		return
	}
	l.answerHeld(from, m, out)
	out.Send(l.cfg.Self, from, &wire.Full{Flush: m.Flush, Pairs: w.said()})
	if m.Done != nil && planted.On("done-passed-unheld") {
		out.Send(l.cfg.Self, l.cfg.Controller, m.Done.Copy())
	}
}

// said is how the pairs of a waiter are named.
func (w *waiter) said() []wire.Pair {
	if !w.named {
		return nil
	}
	return slices.Clone(w.pairs) // a message is its receiver's
}

// shares reports whether a waiter has one of the pairs' partitions.
func (w *waiter) shares(pairs []wire.Pair) bool {
	return slices.ContainsFunc(w.pairs, func(p wire.Pair) bool {
		return slices.ContainsFunc(pairs, func(q wire.Pair) bool { return p.Ref == q.Ref })
	})
}

// enqueue notes a flush that must come again, and reports whether so many may. It may have been
// asked to, and found no room.
func (l *Lane) enqueue(w waiter) bool {
	i, again := slices.BinarySearchFunc(l.waiting, w, rank)
	if again {
		if w.parts == nil { // sent again: what came first counts
			l.miss(l.waiting[i].parts)
		}
		l.waiting[i] = w
		return true
	}
	if len(l.waiting) == l.cfg.Limits.Parked {
		return false
	}
	l.waiting = slices.Insert(l.waiting, i, w)
	return true
}

// arrived forgets that what a push brings waits.
func (l *Lane) arrived(m *wire.Push) {
	if len(l.waiting) > 0 {
		pairs := pushed(m)
		l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
			gone := w.flush == m.Flush && w.shares(pairs)
			if gone && m.Again {
				l.miss(w.parts)
			}
			return gone
		})
	}
}

// refused forgets of what a stale push brings that it waits, where it waits at the generation at
// which it is refused: what has come again since waits on.
func (l *Lane) refused(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if !l.miss(l.parts(m)) {
		l.breach(from, out, "parts of %d flushes, of which it knows that they belong elsewhere", missedMost)
	}
	pairs := pushed(m)
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		gone := w.flush == m.Flush && (slices.ContainsFunc(w.pairs, func(p wire.Pair) bool { return slices.Contains(pairs, p) }) || planted.On("refused-erases") && w.shares(pairs))
		if gone {
			l.miss(w.parts)
		}
		return gone
	})
}

// admitWaiting tells the lowest waiting flush to come again, in all pushes of it that wait. One
// flush at a time is enough: its own record admits the next, or what keeps it from having one here
// (lose, takeFence, Stale).
func (l *Lane) admitWaiting(out *wire.Outbox) {
	i := slices.IndexFunc(l.waiting, func(w waiter) bool { return !w.asked })
	if i < 0 {
		return
	}
	id := l.waiting[i].flush
	if room, _ := l.hasRoom(id, l.waiting[i].clock, 0); !room {
		return
	}
	to, room := l.waiting[i].from, &wire.Room{Flush: id, Pairs: l.waiting[i].said()}
	l.waiting[i].asked = true
	if next := i + 1; room.Pairs == nil && next < len(l.waiting) && l.waiting[next].flush == id && !planted.On("room-for-one") {
		room.Pairs = slices.Clone(l.waiting[i].pairs) // beside others all are named
	}
	for i++; i < len(l.waiting) && l.waiting[i].flush == id; i++ { // in one word: what waits may be one push at its client
		if w := &l.waiting[i]; !w.asked {
			w.asked = true
			room.Pairs = append(room.Pairs, w.pairs...)
		}
	}
	if !planted.On("room-forgotten") {
		out.Send(l.cfg.Self, to, room)
	}
}

// newFlush is a flush that is closed, to be used again, if there is one.
func (l *Lane) newFlush() *flush {
	if n := len(l.spare); n > 0 {
		f := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return f
	}
	return new(flush)
}

// Keys end at the door: a lane turns those of a flush into numbers of rows when it holds it, so that sums
// along the tree and rules work on rows as those of any table. That is also when memory is taken, and
// refused: what is recorded later is irrevocable.

// reserve gives a row to every key of a flush, and its chunks the rows' numbers, in memory that the
// flush keeps when it is used again.
func (l *Lane) reserve(f *flush) error {
	total := 0
	for i := range f.push.Chunks {
		total += len(f.push.Chunks[i].Keys)
	}
	if f.rows == nil || cap(f.rows) < total {
		f.rows = make([]uint32, 0, total)
	}
	for i := range f.push.Chunks {
		c := &f.push.Chunks[i]
		if c.Keys == nil {
			continue
		}
		first := len(f.rows)
		rows, err := l.at(c.Ref).store.Reserve(c.Keys, f.rows)
		if err != nil {
			return err
		}
		f.rows, c.Rows = rows, rows[first:len(rows):len(rows)]
	}
	return nil
}

// hold keeps what came of a flush until its record. A lease that it ends cannot be ended by a
// second flush from now on.
func (l *Lane) hold(f *flush, out *wire.Outbox) {
	m := f.push
	l.held = append(l.held, f)
	l.heldBytes += f.bytes
	for i := range m.Leases {
		l.at(m.Leases[i].Ref).leases.Ending()
	}
	if planted.On("applied-when-held") {
		for i := range m.Chunks {
			c := &m.Chunks[i]
			l.at(c.Ref).store.Apply(c.Rows, c.Values)
		}
	}
}

// passDone tells the controller that a flush is held, when all of it is here, and reports whether
// it did: the word that it is done came with one of the pushes of it, which may not be the last.
// The push keeps it until the flush has a number, for another controller that asks.
func (l *Lane) passDone(m *wire.Push, several bool, out *wire.Outbox) bool {
	if m.Again && !planted.On("old-done-passed") { // then the word is its client's
		return false
	}
	with, here := m, len(l.pairsOf(m))
	if several {
		for _, f := range l.held {
			if f.push != m && same(f.push.Flush, m.Flush) {
				here += len(l.pairsOf(f.push))
				if f.push.Done != nil {
					with = f.push
				}
			}
		}
	}
	if with.Done == nil || here < len(m.Pairs) && !planted.On("done-passed-early") {
		return false
	}
	out.Send(l.cfg.Self, l.cfg.Controller, with.Done.Copy())
	return true
}

// answerHeld answers a push that was sent again with all that is held of its flush. One that was
// not is answered where it is held: when it comes once more that answer is on its way.
func (l *Lane) answerHeld(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if !m.Again {
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	for _, f := range l.held {
		if same(f.push.Flush, m.Flush) {
			h.Pairs = append(h.Pairs, l.pairsOf(f.push)...)
		}
	}
	if len(h.Pairs) > 0 {
		out.Send(l.cfg.Self, from, h)
	}
}

// same reports whether two names are those of one flush. That of a process that was started again
// is another one's.
func same(a, b bellows.FlushID) bool {
	if planted.On("incarnation-ignored") {
		a.Incarnation = b.Incarnation
	}
	return a == b
}

// pairsOf are the pairs of which a push has parts, each once. The list is good until the next call.
func (l *Lane) pairsOf(m *wire.Push) []wire.Pair {
	l.stamps++
	list := l.pairs[:0]
	for p := range pairs(m) {
		if t := l.at(p.Ref); t.stamp != l.stamps {
			t.stamp = l.stamps
			list = append(list, p)
		}
	}
	l.pairs = list
	return list
}

// least is the first of the partitions of which a push has parts.
func (l *Lane) least(m *wire.Push) int {
	return l.leastOf(pairs(m))
}

func (l *Lane) leastOf(list iter.Seq[wire.Pair]) int {
	first := l.cfg.Route.Partitions()
	for p := range list {
		first = min(first, l.cfg.Route.Number(p.Ref))
	}
	return first
}

// pushBytes is what a push takes of the cap: its chunks. The values of leases that it ends are not
// counted, since a partition has one such lease at most.
func pushBytes(m *wire.Push) int {
	n := 0
	for i := range m.Chunks {
		n += 4*(len(m.Chunks[i].Rows)+len(m.Chunks[i].Values)) + 8*len(m.Chunks[i].Keys)
	}
	return n
}
