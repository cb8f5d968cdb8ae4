package fabric

import (
	"testing"

	"bellows/link/transport"
	"bellows/link/wire"
)

// TestPeerIsShippedOnceForManyPosts posts three messages for one of two connections and one for the other. Each
// connection is once in the list to ship, and not again after shipping.
func TestPeerIsShippedOnceForManyPosts(t *testing.T) {
	t.Parallel()
	m := NewMesh([]transport.Conn{newEndConn(), newEndConn()})
	lane, client := wire.LaneAt(0, 0), wire.ClientAt(1)
	for round := range 2 {
		for _, from := range []wire.Address{lane, wire.ClientAt(0), lane, lane} {
			m.post(wire.Envelope{From: from, To: client, Message: &wire.Held{}})
		}
		if m.dirty.len() != 2 || m.dirty.list[0].number == m.dirty.list[1].number {
			t.Errorf("round %d: %d are to be shipped, want 2", round, m.dirty.len())
		}
		m.ship()
		if m.dirty.len() != 0 {
			t.Errorf("round %d: %d are still to be shipped", round, m.dirty.len())
		}
		for p := range m.peers() {
			if p.dirty || !p.writing || len(p.wake) != 1 {
				t.Fatalf("round %d, connection %d: dirty %v, writing %v, the writer is woken %d times", round, p.number, p.dirty, p.writing, len(p.wake))
			}
			<-p.wake
			p.rested()
		}
	}
}

// TestLongestWaitingIsShippedFirst posts for one connection and then for the other, in either order: a later message
// may depend on an earlier one.
func TestLongestWaitingIsShippedFirst(t *testing.T) {
	t.Parallel()
	for _, first := range []wire.Address{wire.LaneAt(0, 0), wire.ClientAt(0)} {
		m := NewMesh([]transport.Conn{newEndConn(), newEndConn()})
		second := wire.ClientAt(0)
		if first == second {
			second = wire.LaneAt(0, 0)
		}
		for _, from := range []wire.Address{first, second, first} {
			m.post(wire.Envelope{From: from, To: wire.ClientAt(1), Message: &wire.Held{}})
		}
		for _, from := range []wire.Address{first, second} {
			if got, want := m.dirty.next(), m.peer(wire.Envelope{From: from, To: wire.ClientAt(1), Message: &wire.Held{}}); got != want {
				t.Errorf("what %v has posted first leaves behind", first)
			}
		}
	}
}

// TestOnlyTheWriterEndsAPeer shuts a peer down: its writer is woken and no other goroutine may write any more, so that
// a second end wakes nothing.
func TestOnlyTheWriterEndsAPeer(t *testing.T) {
	t.Parallel()
	m := NewMesh([]transport.Conn{newEndConn()})
	p := m.pair(1).peers[0]
	for range 2 {
		m.shutdown(p)
		p.ship()
		if !p.shut || !p.writing || len(p.wake) != 1 {
			t.Fatalf("shut %v, writing %v, the writer is woken %d times", p.shut, p.writing, len(p.wake))
		}
	}
	if p.late == nil {
		t.Error("its other end has not spoken yet, and it is waited for without end")
	}
	p.late.Stop()
}
