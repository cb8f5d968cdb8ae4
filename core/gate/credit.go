package gate

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Credits are backpressure towards those who read, at a lane. What it sends to another node waits there in a queue, as
// long as that node does not read. So a lane answers a node only as far as its credit goes:
// questions beyond it wait, which take little memory, and are answered when marks come back that
// the lane has sent behind its answers. A node that asks and never reads keeps Unread of
// memory here, and one answer more (TestLeasesOfWhoDoesNotReadWait).
//
// Turned down: to stop reading from who does not read, by which two nodes that answer each other
// could wait for ever.
type Credits struct {
	Self   bellows.NodeID // the lane's own node, where nothing waits
	Unread int            // words that may be on their way to a node
	nodes  []credit
	marks  []*wire.Mark // have come back
}

// credit is what has been sent to a node, in words of four bytes, and is not known to have come
// there. One that is started again has a new one: what was under way to the process before it will
// not be read.
type credit struct {
	incarnation uint32 // of the node's client; 0: the first that the lane knew
	unread      int
	unmarked    int // of these, behind the last mark
}

// of is a node's; nil: this lane's own node.
func (b *Credits) of(n bellows.NodeID) *credit {
	if n == b.Self {
		return nil
	}
	for len(b.nodes) <= int(n) {
		b.nodes = append(b.nodes, credit{})
	}
	return &b.nodes[n]
}

// Renew gives the next process of a node a credit of its own.
func (b *Credits) Renew(n bellows.NodeID, incarnation uint32) {
	if c := b.of(n); c != nil {
		*c = credit{incarnation: incarnation}
	}
}

// Choked reports whether a node must read before it is sent more.
func (b *Credits) Choked(n bellows.NodeID) bool {
	c := b.of(n)
	return c != nil && c.unread > b.Unread
}

// Charge notes that so many words were sent to a node, and gives a mark to be sent behind them now and then: each
// eighth of what may be unread, so that credit comes back before it is all used.
func (b *Credits) Charge(n bellows.NodeID, words int) *wire.Mark {
	c := b.of(n)
	if c == nil {
		return nil
	}
	c.unread += words
	if c.unmarked += words; c.unmarked <= b.Unread/8 {
		return nil
	}
	m := b.mark()
	m.Weight, m.Life = c.unmarked, c.incarnation
	c.unmarked = 0
	return m
}

// mark is one that has come back, if there is one.
func (b *Credits) mark() *wire.Mark {
	n := len(b.marks)
	if n == 0 {
		return new(wire.Mark)
	}
	m := b.marks[n-1]
	b.marks = b.marks[:n-1]
	return m
}

// Take notes that a node has read up to a mark. One that was sent to the process before is of a
// credit that is no more.
func (b *Credits) Take(n bellows.NodeID, m *wire.Mark) {
	if c := b.of(n); c != nil && m.Life == c.incarnation && !planted.On("mark-forgotten") {
		c.unread -= m.Weight
	}
	b.marks = append(b.marks, m)
}
