package fabric

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/transport/sock"
	"bellows/link/wire"
)

// street is a mesh that grows: what its nodes have of each other.
type street struct {
	open        func(transport.Config) (transport.Transport, error)
	place       func(n bellows.NodeID) string
	connections int
	addresses   []string
	houses      []*house
}

// house is a node with a client and a lane, which says whatever comes to it.
type house struct {
	exchange
	self bellows.NodeID
	came chan wire.Envelope
	lost chan Loss
	met  chan struct{}
}

// move lets the next node in: it dials all others that are there.
func (s *street) move(t *testing.T, gone ...bellows.NodeID) *house {
	t.Helper()
	h := &house{self: bellows.NodeID(len(s.addresses)), came: make(chan wire.Envelope, 1<<10), lost: make(chan Loss, 8), met: make(chan struct{}, 8)}
	tr, err := s.open(transport.Config{Self: transport.Hello{Node: h.self, Token: transport.Token{1}}})
	require.NoError(t, err)
	l, err := tr.Listen(s.place(h.self))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	s.addresses = append(s.addresses, l.Address())
	c := join.Cluster{Self: h.self, Nodes: int(h.self) + 1, Connections: s.connections, Gone: gone}
	conns, err := Connect(t.Context(), tr, l, c, s.addresses, liveness.Times{}, func(string) {})
	require.NoError(t, err)
	m := NewMesh(conns)
	h.exchange = exchange{NewBus(h.self, 0, m), m}
	h.Add(wire.ClientAt(h.self), h.take)
	h.Add(wire.LaneAt(h.self, 0), h.take)
	h.Add(wire.LaneAt(h.self, 1), h.take)
	m.Start(h.Bus, Options{Checker: open{}, Lost: func(l Loss) { h.lost <- l }, Met: func() { h.met <- struct{}{} },
		Links: &Links{Transport: tr, Listener: l, Addresses: slices.Clone(s.addresses), Connections: s.connections}})
	s.houses = append(s.houses, h)
	return h
}

func (h *house) take(batch []wire.Envelope, _ *wire.Outbox) {
	for _, e := range batch {
		h.came <- e
	}
}

// hails sends a message to both lanes of another node, which must receive it.
func (h *house) hails(t *testing.T, to *house) {
	t.Helper()
	for i := range 2 {
		h.Send(wire.ClientAt(h.self), wire.LaneAt(to.self, i), &wire.Held{Flush: bellows.FlushID{Client: h.self, Seq: 7}})
	}
	for range 2 {
		if e := <-to.came; e.From != wire.ClientAt(h.self) || e.Message.(*wire.Held).Flush.Seq != 7 {
			t.Errorf("node %d says something, and node %d hears %+v", h.self, to.self, e)
		}
	}
}

// TestNodeJoinsARunningMesh lets four nodes in, one after the other. When a node has met all others, each of them can
// send it a message, and it connects to the rest.
func TestNodeJoinsARunningMesh(t *testing.T) {
	t.Parallel()
	network, folder := mem.New(), privateFolder(t)
	for name, s := range map[string]*street{
		"mem":  {open: network.Join, place: func(n bellows.NodeID) string { return fmt.Sprint("place ", n) }, connections: 1},
		"unix": {open: sock.New, place: func(n bellows.NodeID) string { return "unix:" + filepath.Join(folder, fmt.Sprint(n)) }, connections: 1},
		"tcp":  {open: sock.New, place: func(bellows.NodeID) string { return "tcp:127.0.0.1:0" }, connections: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range 4 {
				newcomer := s.move(t)
				if n > 0 {
					<-newcomer.met
				}
				for _, h := range s.houses {
					for _, to := range s.houses {
						if h != to {
							h.hails(t, to)
						}
					}
				}
			}
			for _, h := range s.houses {
				h.mesh.Close()
				h.Bus.Close()
				if len(h.met) > 0 {
					t.Errorf("node %d has met all others twice", h.self)
				}
			}
		})
	}
}

// TestMeshForgetsLostNodes joins a node that ends, then one that is dropped, then a third. The numbers of the first two
// are not reused, messages to them are dropped, and their received counts stay as they were.
func TestMeshForgetsLostNodes(t *testing.T) {
	t.Parallel()
	s := &street{open: mem.New().Join, place: func(n bellows.NodeID) string { return fmt.Sprint("place ", n) }, connections: 2}
	zero := s.move(t)
	one := s.move(t)
	<-one.met
	one.hails(t, zero)
	one.Close()
	if l := <-zero.lost; l.Node != 1 || l.Breach {
		t.Errorf("lost is %+v", l)
	}
	two := s.move(t, 1)
	<-two.met
	two.hails(t, zero)
	heard := zero.mesh.Heard()
	zero.mesh.Drop(2)
	if l := <-two.lost; l.Node != 0 {
		t.Errorf("node 2 has lost %+v", l)
	}
	two.Close()
	zero.Send(wire.ClientAt(0), wire.LaneAt(1, 0), &wire.Held{})
	zero.Send(wire.ClientAt(0), wire.LaneAt(2, 0), &wire.Held{})
	if now := zero.mesh.Heard(); heard[1] == 0 || now[1] != heard[1] || now[2] < heard[2] {
		t.Errorf("heard %v, and then %v", heard, now)
	}
	for n := range bellows.NodeID(3) {
		if a := zero.mesh.pair(n); a != nil && len(a.peers) > 0 {
			t.Errorf("node %d is in the mesh", n)
		}
	}
	three := s.move(t, 1, 2)
	<-three.met
	zero.hails(t, three)
	three.Close()
	zero.Close()
	for len(zero.lost) > 0 {
		if l := <-zero.lost; l.Node != 3 {
			t.Errorf("lost is %+v", l)
		}
	}
}

// TestClosedMeshAdmitsNoNode checks that, since nothing would end the node's readers.
func TestClosedMeshAdmitsNoNode(t *testing.T) {
	t.Parallel()
	m := NewMesh(nil)
	b := NewBus(0, 0, m)
	m.Start(b, Options{Checker: open{}})
	m.Close()
	b.Close()
	conn := newEndConn()
	if m.add(m.newPair([]transport.Conn{conn})) {
		t.Error("it has joined")
	}
	if m.pair(1) != nil || session.ConnectionOf(wire.Envelope{}, 1) != 0 {
		t.Error("it is in the mesh")
	}
}

// TestTheLobbyIsEmptied lets a node come half: the next closes what it has left, and so does the end.
func TestTheLobbyIsEmptied(t *testing.T) {
	t.Parallel()
	m := NewMesh(nil)
	m.bus = NewBus(0, 0, m)
	defer m.bus.Close()
	m.lobby.newcomers = join.NewNewcomers(1, 2)
	isClosed := func(c *callConn) bool {
		select {
		case <-c.closed:
			return true
		default:
			return false
		}
	}
	var conns []*callConn
	for _, call := range []transport.Hello{{Node: 1, Of: 2}, {Node: 1, Of: 2}, {Node: 2, Number: 1, Of: 2}, {Node: 1, Number: 1, Of: 2}, {Node: 3, Of: 1}} {
		c := &callConn{newEndConn(), call}
		conns = append(conns, c)
		m.called(c)
	}
	for i, want := range []bool{true, true, false, true, true} {
		if isClosed(conns[i]) != want {
			t.Errorf("call %d is closed: %v", i, !want)
		}
	}
	m.lobby.empty()
	if !isClosed(conns[2]) || m.pair(2) != nil {
		t.Error("a call that waits for others is not closed at the end")
	}
}

// TestCallerWithOwnNumberIsRejected calls the newest node of a mesh from a process that claims the node's own number.
func TestCallerWithOwnNumberIsRejected(t *testing.T) {
	t.Parallel()
	network := mem.New()
	s := &street{open: network.Join, place: func(n bellows.NodeID) string { return fmt.Sprint("place ", n) }, connections: 1}
	s.move(t)
	newest := s.move(t)
	<-newest.met
	c := &callConn{newEndConn(), transport.Hello{Node: newest.self, Of: 1}}
	newest.mesh.called(c)
	select {
	case <-c.closed:
	default:
		t.Error("it is kept")
		c.Close()
	}
	if newest.mesh.pair(newest.self) != nil {
		t.Error("a node has itself for a peer")
	}
	for _, h := range s.houses {
		h.mesh.Close()
		h.Bus.Close()
	}
}

// callConn is the connection of a caller.
type callConn struct {
	*endConn
	hello transport.Hello
}

func (c *callConn) Peer() transport.Hello { return c.hello }
