package server

import (
	"slices"

	"bellows"
	"bellows/planted"
	"bellows/wire"
)

// tail is the records that a lane has taken and keeps, so that another controller can go on from them: the messages as they came, in a
// ring, oldest first. They are let go when the controller says that it is saved behind them (Records.Keep), and the oldest when they are
// more than Limits.Tail: a job whose controller is not saved before that cannot be recovered, and goes on all the same
// (TestTheTailIsBounded). The ring has no gaps: every record that the lane takes becomes part of it.
//
// Turned down: copies of the records, which cost the lane time and memory for each, where keeping a message costs nothing but its memory.
type tail struct {
	ring  []*wire.Records
	first int // place of the oldest
	n     int
	bytes int
}

// add keeps a message of records, which is the tail's from then on.
func (t *tail) add(m *wire.Records, bytesMax int) {
	if len(m.List) == 0 {
		wire.Free(m)
		return
	}
	if t.n == len(t.ring) {
		ring := make([]*wire.Records, max(16, 2*t.n))
		copy(ring[copy(ring, t.ring[t.first:]):], t.ring[:t.first])
		t.ring, t.first = ring, 0
	}
	t.ring[(t.first+t.n)%len(t.ring)] = m
	t.n++
	for t.bytes += m.Bytes(); t.bytes > bytesMax; {
		t.drop()
	}
}

// forget lets go of the records below a number, as far as no message has others, too.
func (t *tail) forget(below bellows.CommitNumber) {
	for t.n > 0 {
		list := t.ring[t.first].List
		if list[len(list)-1].Number >= below && !(t.n > 1 && planted.On("tail-freed-early")) {
			return
		}
		t.drop()
	}
}

func (t *tail) drop() {
	m := t.ring[t.first]
	t.ring[t.first] = nil
	t.first, t.n, t.bytes = (t.first+1)%len(t.ring), t.n-1, t.bytes-m.Bytes()
	wire.Free(m)
}

// begin is the first record that is kept; what follows the last one, if none is.
func (t *tail) begin(last bellows.CommitNumber) bellows.CommitNumber {
	if t.n == 0 {
		return last + 1
	}
	return t.ring[t.first].List[0].Number
}

// since are the messages that have records from a number on.
func (t *tail) since(from bellows.CommitNumber, yield func(*wire.Records)) {
	for i := range t.n {
		m := t.ring[(t.first+i)%len(t.ring)]
		if m.List[len(m.List)-1].Number >= from {
			yield(m)
		}
	}
}

// takeQuery answers what the lane holds. The term of the one that asks has been taken note of: the lane hears none below it any more.
func (l *Lane) takeQuery(from wire.Address, m *wire.Query, out *wire.Outbox) {
	h := &wire.Holding{Term: l.term, Last: l.applied, Tail: l.tail.begin(l.applied)}
	for _, f := range l.held {
		at := slices.IndexFunc(h.Flushes, func(o wire.HeldFlush) bool { return o.Flush == f.push.Flush })
		if at < 0 {
			at = len(h.Flushes)
			h.Flushes = append(h.Flushes, wire.HeldFlush{Flush: f.push.Flush, Clock: f.push.Clock, Pairs: slices.Clone(f.push.Pairs)})
		}
		one := &h.Flushes[at]
		one.Held = append(one.Held, l.pairsOf(f.push)...)
		if d := f.push.Done; d != nil {
			one.Done = d.Copy().Results // a message is its receiver's
		}
	}
	for _, p := range l.owned {
		h.Parts, h.At = append(h.Parts, p.pair()), append(h.At, p.applied)
	}
	out.Send(l.cfg.Self, from, h)
	if m.From > 0 {
		l.tail.since(m.From, func(r *wire.Records) { out.Send(l.cfg.Self, from, r.Another()) })
	}
}
