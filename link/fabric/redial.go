package fabric

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"bellows/link/session"
	"bellows/link/transport"
)

// Links is how the connections of a node are made again when they break: as Connect made them, this node dials those of
// lower number and takes the calls of the others, so that two nodes never make two at once. Without it, a connection that
// breaks is a node that is lost.
type Links struct {
	Transport transport.Transport
	Listener  transport.Listener // stays open while the job runs, for nodes that join later
	Addresses []string           // by node, of those of lower number
	// Connections is how many each pair of nodes has, for nodes that join later; 0: one.
	Connections int
}

// accept takes calls of other nodes until ctx ends. Each call replaces the connection of its number, which has broken,
// though this side may not have noticed yet. One listener serves all peers, since a caller names itself.
func (m *Mesh) accept(ctx context.Context) {
	defer m.lobby.empty()
	for {
		conn, err := m.links.Listener.Accept(ctx)
		switch {
		case err == nil:
			m.called(conn)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		} // else a caller was rejected, and may call again
	}
}

// called puts a new connection in the place of a broken one, if a node calls that calls this one; or lets a node in that
// joins.
func (m *Mesh) called(conn transport.Conn) {
	h := conn.Peer()
	switch a := m.pair(h.Node); {
	case h.Node <= m.bus.self:
	case a == nil:
		m.enter(conn)
		return
	case max(1, int(h.Of)) == len(a.peers) && int(h.Number) < len(a.peers) && a.peers[h.Number].offer(conn):
		return
	}
	conn.Close() // an unknown caller, or one that was given up
}

// offer leaves a connection for the reader, which finds it when the old one has ended: offer ends that, since the other side
// has given it up. Of two calls the later counts. A peer that is over, or has been said goodbye to, takes none.
func (p *peer) offer(conn transport.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.bye {
		return false
	}
	select {
	case old := <-p.fresh: // it came and was not wanted yet; the other side has made another since
		old.Close()
	default:
	}
	p.fresh <- conn
	if p.conn != nil {
		p.conn.Close()
	}
	return true
}

// remake reconnects after a break: it dials a node of lower number, and waits for a call of any other. It gives up when
// the silence becomes too long, when the other machine keeps refusing connections (package session decides after which
// time and how many tries), or when the peer is over. Its error says how long it tried, and the last failure.
func (m *Mesh) remake(p *peer) (transport.Conn, error) {
	began := time.Now()
	try := session.NewRedial(m.times, p.node == 0, 0)
	var last error
	for {
		wait, ok := try.Next(time.Since(began).Milliseconds())
		if !ok {
			return nil, errors.Join(fmt.Errorf("no other connection could be made for %.1f s", time.Since(began).Seconds()), last)
		}
		select {
		case conn := <-p.fresh:
			return conn, nil
		case <-p.until.Done():
			return nil, errors.Join(errors.New("it is not waited for any more"), last)
		case <-time.After(time.Duration(wait) * time.Millisecond):
		}
		if p.node > m.bus.self {
			try.Failed(time.Since(began).Milliseconds(), false)
			continue
		}
		var conn transport.Conn
		if conn, last = m.dial(p); last == nil {
			return conn, nil
		}
		if overtaken(last) {
			return nil, last
		}
		try.Failed(time.Since(began).Milliseconds(), isPortRefused(last))
	}
}

// dial calls the node of a peer once. Another node may listen by now where it did.
func (m *Mesh) dial(p *peer) (transport.Conn, error) {
	address := m.links.Addresses[p.node]
	conn, err := m.links.Transport.Number(p.number, p.of).Dial(p.until, address)
	if err == nil && conn.Peer().Node != p.node {
		return nil, errors.Join(fmt.Errorf("at %s answers node %d, not node %d", address, conn.Peer().Node, p.node), conn.Close())
	}
	return conn, err
}

// overtaken reports whether the other side is of another era of the job: it will be for ever.
func overtaken(err error) bool {
	var refusal *transport.Refusal
	return errors.As(err, &refusal) && refusal.Reason == transport.StaleEra
}

// nobodyListens reports whether the other machine refused the connection because no process listens at the address.
func isPortRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
