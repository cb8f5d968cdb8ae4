package gate

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Credits are a lane's backpressure towards nodes that do not read. Messages to another node wait in a queue as long as
// that node does not read. So a lane answers a node only as far as its credit goes. Questions beyond it wait, which
// takes little memory. The lane answers them when the marks that it sent after its answers come back. A node that asks
// and never reads keeps Unread words of memory here, and one answer more (TestUnreadLeasesWaitForCredit).
//
// Rejected: not to read from a node that does not read. Two nodes that answer each other could then wait for ever.
type Credits struct {
	Self   bellows.NodeID // the lane's own node, where nothing waits
	Unread int            // words that may be on their way to a node; a word has four bytes
	nodes  []credit
	marks  []*wire.Mark // have come back
}

// credit counts the words sent to a node that are not known to have arrived. A process that replaces another has a
// new one: it will not read what was under way to the previous process.
type credit struct {
	incarnation uint32 // of the node's client; 0: the first that the lane knew
	unread      int
	unmarked    int // of these, after the last mark
}

// find returns a node's credit; nil: the node is this lane's own.
func (b *Credits) find(n bellows.NodeID) *credit {
	if n == b.Self {
		return nil
	}
	for len(b.nodes) <= int(n) {
		b.nodes = append(b.nodes, credit{})
	}
	return &b.nodes[n]
}

// Renew gives the next process of a node a new credit.
func (b *Credits) Renew(n bellows.NodeID, incarnation uint32) {
	if c := b.find(n); c != nil {
		*c = credit{incarnation: incarnation}
	}
}

// Choked reports whether a node must read before it is sent more.
func (b *Credits) Choked(n bellows.NodeID) bool {
	c := b.find(n)
	return c != nil && c.unread > b.Unread
}

// Charge notes that so many words were sent to a node. Now and then it returns a mark to be sent after them: one for
// each eighth of Unread, so that credit comes back before it is used up.
func (b *Credits) Charge(n bellows.NodeID, words int) *wire.Mark {
	c := b.find(n)
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

// mark returns a mark that has come back, or a new one.
func (b *Credits) mark() *wire.Mark {
	n := len(b.marks)
	if n == 0 {
		return new(wire.Mark)
	}
	m := b.marks[n-1]
	b.marks = b.marks[:n-1]
	return m
}

// Take notes that a node has read up to a mark. A mark of the previous process belongs to a credit that is gone.
func (b *Credits) Take(n bellows.NodeID, m *wire.Mark) {
	if c := b.find(n); c != nil && m.Life == c.incarnation && !planted.On("mark-forgotten") {
		c.unread -= m.Weight
	}
	b.marks = append(b.marks, m)
}
