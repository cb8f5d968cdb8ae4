package server

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Who is heard: the controller as long as it is (gate.Silence), the newest process of each node (outlived), and nobody who was declared gone (takeFence). Silence
// only makes a suspect; these are what makes a verdict hold, however late a suspect wakes (P11). Messages that name their incarnation are judged by that; others
// are of the newest process that the lane knows, which holds as long as no node is added twice (docs/decisions/0031).

// Tick is the shell's word to a lane: the time, and how many bytes have come from the controller's node so far.
type Tick struct {
	wire.Local
	NowMillis int64
	Heard     uint64
}

// Tick tells the lane the time, and how many bytes have come from the controller's node. A long silence is named to the controller, once.
func (l *Lane) Tick(nowMillis int64, heard uint64, out *wire.Outbox) {
	if l.cfg.Times.Lease == 0 || l.closed || !l.begun {
		return
	}
	if silent, name := l.silence.Tick(nowMillis, heard, l.cfg.Times.Lease, l.cfg.Times.Notice); name {
		out.Send(l.cfg.Self, l.cfg.Controller, &wire.Notice{Sentence: fmt.Sprintf("%v has not heard the controller for %.1f s, and after %.1f s serves no reads until it does",
			l.cfg.Self, float64(silent)/1000, float64(l.cfg.Times.Lease)/1000)})
	}
}

// outlived reports whether a newer process of a client's node is known. What the one before it sends any more is nothing: a flush of which a part is not held then
// never will be whole. It takes note of a newer one, and that the one before wants no rows any more.
func (l *Lane) outlived(who subscriber) bool {
	i := slices.Index(l.cfg.Clients, who.address)
	if i < 0 || who.incarnation <= l.incarnations[i] {
		return i >= 0 && who.incarnation < l.incarnations[i]
	}
	l.incarnations[i] = who.incarnation
	l.credits.Renew(who.address.Node, who.incarnation)
	l.disregard(func(s subscriber) bool { return s.address == who.address })
	return false
}

// disregard forgets the reads and the subscriptions of processes that are gone.
func (l *Lane) disregard(gone func(subscriber) bool) {
	l.pulls = slices.DeleteFunc(l.pulls, func(r parkedPull) bool { return gone(subscriber{r.from, r.pull.Incarnation}) })
	for _, p := range l.owned {
		p.subs = slices.DeleteFunc(p.subs, func(s subscription) bool { return gone(s.to) })
	}
}

// past reports whether an incarnation of a client is known not to be the newest. Unlike outlived it takes note of nothing.
func (l *Lane) past(client wire.Address, incarnation uint32) bool {
	i := slices.Index(l.cfg.Clients, client)
	return i >= 0 && incarnation < l.incarnations[i]
}

// incarnationOf is the newest incarnation of a client that the lane knows; 0: it is no client.
func (l *Lane) incarnationOf(a wire.Address) uint32 {
	if i := slices.Index(l.cfg.Clients, a); i >= 0 {
		return l.incarnations[i]
	}
	return 0
}

// fenced is a process of a node that was declared gone, and all before it.
type fenced struct {
	node        bellows.NodeID
	incarnation uint32
}

// isFenced reports whether an incarnation of a node is behind a fence.
func (l *Lane) isFenced(n bellows.NodeID, incarnation uint32) bool {
	return slices.ContainsFunc(l.fenced, func(f fenced) bool {
		return f.node == n && incarnation <= f.incarnation
	})
}

// takeFence parts the lane from a client that was declared gone: nothing that this process of it
// says is taken any more, what it left unrecorded never counts, and nobody waits for it. The
// records of what counts of it came before, by the same link, so that a flush that is held now has
// no number and never will. One that is started again is heard.
//
// An exclusive lease of it stays out, so that the partition is not read: where it was worked on in
// place its values are torn. A shared one is over, since it changed nothing.
func (l *Lane) takeFence(m *wire.Fence, out *wire.Outbox) {
	if l.isFenced(m.Node, m.Incarnation) || planted.On("fenced-push-taken") {
		return
	}
	l.fenced = append(l.fenced, fenced{m.Node, m.Incarnation})
	gone := func(who subscriber) bool {
		return who.address.Role == wire.Client && who.address.Node == m.Node && who.incarnation <= m.Incarnation
	}
	sender := func(a wire.Address, id bellows.FlushID) subscriber { return subscriber{a, id.Incarnation} }
	rest := l.held[:0]
	for _, f := range l.held {
		if !gone(sender(f.from, f.push.Flush)) {
			rest = append(rest, f)
			continue
		}
		l.drop(f.push)
		l.heldBytes -= f.bytes
	}
	l.held = rest
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if !gone(sender(w.from, w.flush)) {
			return false
		}
		l.miss(w.parts)
		return true
	})
	l.disregard(gone)
	leaser := func(a wire.Address) bool { return gone(subscriber{a, l.incarnationOf(a)}) }
	for _, p := range l.owned {
		p.queue = slices.DeleteFunc(p.queue, func(r request) bool { return leaser(r.from) })
		for _, a := range slices.Clone(p.leases.Shared()) {
			if leaser(a) {
				p.release(a, l, out)
			}
		}
	}
	l.forsake(m.Node)
	l.admitWaiting(out)
}

// keepsOut reports whether a message is of a client behind a fence. What it pushes is accounted for as dropped. A message that does not say which incarnation it
// is of is of the newest that the lane knows.
func (l *Lane) keepsOut(e *wire.Envelope) bool {
	if e.From.Role != wire.Client {
		return false
	}
	of := l.incarnationOf(e.From)
	switch m := e.Message.(type) {
	case *wire.Push:
		if l.isFenced(e.From.Node, m.Flush.Incarnation) && (m.Flush.Incarnation == of || of == 0) {
			if err := l.checkPush(m); (err == nil || err == errStale) && len(l.missed) < missedMost {
				l.drop(m)
			}
		}
		of = m.Flush.Incarnation
	case *wire.Pull:
		of = m.Incarnation
	case *wire.Unsubscribe:
		of = m.Incarnation
	}
	return l.isFenced(e.From.Node, of)
}
