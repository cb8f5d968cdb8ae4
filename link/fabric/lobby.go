package fabric

import (
	"bellows/core/join"
	"bellows/link/transport"
)

// lobby holds the first connections of a joining node until all have arrived; package join decides which nodes may
// join. The goroutine that accepts calls owns all of it.
type lobby struct {
	newcomers *join.Newcomers
	conns     []transport.Conn // by number, of the node that joins
}

// empty closes what waits there.
func (l *lobby) empty() {
	for _, conn := range l.conns {
		if conn != nil {
			conn.Close() // no reader
		}
	}
	l.conns = nil
}

// enter takes a call of a node that was not there. With its last connection the node is one of the mesh
// (TestNodeJoinsARunningMesh).
func (m *Mesh) enter(conn transport.Conn) {
	h, l := conn.Peer(), &m.lobby
	v := l.newcomers.Called(h.Node, int(h.Number), max(1, int(h.Of)))
	if !v.Keep {
		conn.Close() // not expected
		return
	}
	if v.First {
		l.empty()
		l.conns = make([]transport.Conn, max(1, int(h.Of)))
	}
	if old := l.conns[h.Number]; old != nil {
		old.Close() // it has been given up at the other end
	}
	l.conns[h.Number] = conn
	if !v.Whole {
		return
	}
	conns := l.conns
	l.conns = nil
	if !m.add(m.newPair(conns)) {
		HangUp(conns) // no longer expected
	}
}

// add makes a node part of the mesh, and reports whether it did: in a closed mesh nothing would end its readers. Its
// first frames are read before this node can send it anything.
func (m *Mesh) add(a *pair) bool {
	for _, p := range a.peers {
		p.joined = true
		m.prepare(p)
	}
	m.mu.Lock()
	closed := m.closed
	if !closed {
		m.put(a.peers[0].node, a)
		m.begin(a)
	}
	m.mu.Unlock()
	if !closed {
		a.ship()
	}
	return !closed
}
