package server

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// takePull parks a read; serve answers it when it may be.
func (l *Lane) takePull(from wire.Address, m *wire.Pull, out *wire.Outbox) {
	if l.outlived(subscriber{from, m.Incarnation}) {
		wire.Free(m)
		return
	}
	for i := range m.Parts {
		if _, err := l.part(m.Parts[i].Pair); err != nil {
			l.refuse(from, m.Request, err, out)
			wire.Free(m)
			return
		}
	}
	if len(l.pulls) == l.cfg.Limits.Parked {
		l.breach(from, out, "%d reads wait already", l.cfg.Limits.Parked)
		return
	}
	l.pulls = append(l.pulls, parkedPull{from, m})
}

// serve answers every parked read and grants every lease whose time has come.
func (l *Lane) serve(out *wire.Outbox) {
	if l.silence.cut || l.closed && !planted.On("served-after-end") { // nobody reads any more (relay)
		return
	}
	for _, p := range l.owned {
		if len(p.queue) > 0 {
			p.grant(l, out)
		}
	}
	rest := l.pulls[:0]
	for _, r := range l.pulls {
		if l.readable(r.pull) && !l.choked(r.from.Node) {
			l.answer(r, out)
		} else {
			rest = append(rest, r)
		}
	}
	clear(l.pulls[len(rest):])
	l.pulls = rest
}

func (l *Lane) readable(m *wire.Pull) bool {
	for i := range m.Parts {
		p := l.byNumber[l.cfg.Route.Number(m.Parts[i].Ref)]
		v := p.visible(l)
		if (p.exclusive && !planted.On("read-under-lease")) || !gate.Admits(m.Need, v.Commit, v.Clock) {
			return false
		}
	}
	return true
}

func (l *Lane) answer(r parkedPull, out *wire.Outbox) {
	a := wire.New[wire.Rows]()
	a.Request, a.Incarnation = r.pull.Request, r.pull.Incarnation
	who := subscriber{r.from, r.pull.Incarnation}
	a.Borrow(r.pull)
	for i := range r.pull.Parts {
		q := &r.pull.Parts[i]
		p := l.byNumber[l.cfg.Route.Number(q.Ref)]
		v := p.visible(l)
		if planted.On("commit-overstated") {
			v.Commit++
			v.Clock++
		}
		to := a.Extend()
		to.Pair, to.Commit, to.Complete, to.Rows = p.pair(), v.Commit, v.Clock, q.Rows
		if q.Keys != nil {
			to.Rows, to.Values = nil, p.store.ReadKeys(q.Keys, to.Values)
			if q.Subscribe {
				if err := l.subscribeKeys(p, who, q.Keys); err != nil {
					l.breach(r.from, out, "%v", err)
				}
			}
			continue
		}
		to.Values = p.store.Read(q.Rows, to.Values)
		if q.Subscribe {
			l.subscribe(p, who, q.Rows)
			l.owing = l.owing || len(p.deferred) > 0
		}
	}
	n := words(a)
	out.Send(l.cfg.Self, r.from, a)
	l.charge(r.from, n, out)
	wire.Free(r.pull)
}

// hasRoom applies the cap on unrecorded bytes (architecture, "Bounds"), and reports whether a flush is above it. The lowest flush by (clock,
// node) is always taken, everywhere, so that no two flushes can wait for each other.
//
// What is taken above the cap has a bound, too: of a client that runs S splits, 2S + 1 flushes at a time. One that keeps to the protocol
// never has more. Each is below all that are held, so that its clocks descend; and none passes another that waits, so that they come as they were
// sent. Some bring work that was finished since the one before: by S splits at most, since the clocks of a split ascend. The others left because nothing
// could run, and took along all that had gathered, in the order of clocks; so no two of them are neighbours.
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

// wait notes a flush that must come again, and reports whether so many may. It may have been asked to, and found no room.
func (l *Lane) wait(w waiter) bool {
	i, again := slices.BinarySearchFunc(l.waiting, w, rank)
	if again {
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
		pairs := l.pairsOf(m)
		l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool { return w.flush == m.Flush && w.shares(pairs) })
	}
}

// admitWaiting tells the lowest waiting flush to come again, in all pushes of it that wait. One flush at a time is enough: its own record
// admits the next.
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
