package fabric

import (
	"bellows/core/join"
	"bellows/link/transport"
)

// lobby is where the first connections of a node that joins wait for its others: package join decides who comes. All of it
// is of the goroutine that takes calls.
type lobby struct {
	newcomers *join.Newcomers
	conns     []transport.Conn // by number, of who is on the way
}

// empty closes what waits there.
func (l *lobby) empty() {
	for _, conn := range l.conns {
		if conn != nil {
			conn.Close() // nobody reads it
		}
	}
	l.conns = nil
}

// enter takes a call of a node that was not there. With its last connection the node is one of the mesh
// (TestANodeJoinsARunningMesh).
func (m *Mesh) enter(conn transport.Conn) {
	h, l := conn.Peer(), &m.lobby
	v := l.newcomers.Called(h.Node, int(h.Number), max(1, int(h.Of)))
	if !v.Keep {
		conn.Close() // nobody expects it
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
		HangUp(conns) // nobody expects them any more
	}
}

// add lets a node be one of the mesh, and reports whether it has: where the mesh is closed nobody would end its readers.
// What comes first is read before anybody here can say anything to it.
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
