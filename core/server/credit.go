package server

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Backpressure towards those who read. What a lane sends to another node waits there in a queue, as
// long as that node does not read. So a lane answers a node only as far as its credit goes:
// questions beyond it wait, which take little memory, and are answered when marks come back that
// the lane has sent behind its answers. A node that asks and never reads keeps Limits.Unread of
// memory here, and one answer more (TestLeasesOfWhoDoesNotReadWait).
//
// Turned down: to stop reading from who does not read, by which two nodes that answer each other
// could wait for ever.

// credit is what has been sent to a node, in words of four bytes, and is not known to have come
// there. One that is started again has a new one: what was under way to the process before it will
// not be read.
type credit struct {
	incarnation uint32 // of the node's client; 0: the first that the lane knew
	unread      int
	unmarked    int // of these, behind the last mark
}

// creditOf is a node's; nil: this lane's own node, where nothing waits.
func (l *Lane) creditOf(n bellows.NodeID) *credit {
	if n == l.cfg.Self.Node {
		return nil
	}
	for len(l.credits) <= int(n) {
		l.credits = append(l.credits, credit{})
	}
	return &l.credits[n]
}

// choked reports whether a node must read before it is sent more.
func (l *Lane) choked(n bellows.NodeID) bool {
	c := l.creditOf(n)
	return c != nil && c.unread > l.cfg.Limits.Unread
}

// charge notes that so many words were sent to a client, and marks the place now and then: each
// eighth of what may be unread, so that credit comes back before it is all used.
func (l *Lane) charge(to wire.Address, words int, out *wire.Outbox) {
	c := l.creditOf(to.Node)
	if c == nil {
		return
	}
	c.unread += words
	if c.unmarked += words; c.unmarked > l.cfg.Limits.Unread/8 {
		m := l.newMark()
		m.Weight, m.Life = c.unmarked, c.incarnation
		out.Send(l.cfg.Self, to, m)
		c.unmarked = 0
	}
}

// newMark is a mark that has come back, if there is one.
func (l *Lane) newMark() *wire.Mark {
	n := len(l.marks)
	if n == 0 {
		return new(wire.Mark)
	}
	m := l.marks[n-1]
	l.marks = l.marks[:n-1]
	return m
}

// takeMark notes that a node has read up to a mark. One that was sent to the process before is of a
// credit that is no more.
func (l *Lane) takeMark(from wire.Address, m *wire.Mark) {
	if c := l.creditOf(from.Node); c != nil && m.Life == c.incarnation && !planted.On("mark-forgotten") {
		c.unread -= m.Weight
	}
	l.marks = append(l.marks, m)
}

// words is how many a message of rows has, about.
func words(m *wire.Rows) (n int) {
	for i := range m.Parts {
		n += wordsOf(&m.Parts[i])
	}
	return n
}

func wordsOf(p *wire.RowsPart) int {
	return len(p.Rows) + 2*len(p.Keys) + len(p.Values)
}
