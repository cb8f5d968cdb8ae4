package fabric

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
)

// saysIn puts a message that comes of an era.
func (c *scriptConn) saysIn(t *testing.T, era bellows.Era, m wire.Message) {
	t.Helper()
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{From: wire.ClientAt(1), To: wire.ControllerAt(), Era: era, Message: m}))
	c.frames <- slices.Concat(b.Buffers()...)
}

// TestFramesOfAnotherEraAreIgnored sends frames of an older era over a connection, whatever the handshake announced.
// Their messages reach no actor; their session frames end nothing and do not count as the first frame. The node reports
// this by name, once, and the connection stays up. Outgoing frames carry the mesh's era: the session's own, and those
// of a sender without an era.
func TestFramesOfAnotherEraAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newScriptConn()
		m := NewMesh([]transport.Conn{nil, conn})
		b := NewBus(0, 2, m)
		defer b.Close()
		var came []wire.Message
		b.Add(wire.ControllerAt(), func(batch []wire.Envelope, _ *wire.Outbox) {
			for _, e := range batch {
				came = append(came, e.Message)
			}
		})
		var said []string
		m.Start(b, Options{Checker: open{}, Lost: func(l Loss) { t.Errorf("lost: %v", l) }, Stale: func(sentence string) { said = append(said, sentence) }})
		for _, era := range []bellows.Era{1, 3} {
			conn.saysIn(t, era, &wire.Resume{Process: 7})
			conn.saysIn(t, era, &wire.Notice{Sentence: "of another era"})
			conn.saysIn(t, era, &wire.Bye{})
		}
		synctest.Wait()
		if p := m.pair(1).peers[0]; len(came) > 0 || p.end.Synced() || p.bye {
			t.Errorf("%v came; the session was begun: %v, ended: %v", came, p.end.Synced(), p.bye)
		}
		if want := "StaleEra: what comes from node 1 is of era 1 of the job, and node 0 is in era 2: nothing of it is taken"; len(said) != 1 || !strings.HasPrefix(said[0], want) {
			t.Errorf("%q was said", said)
		}
		conn.saysIn(t, 2, &wire.Resume{Process: 8})
		conn.saysIn(t, 2, &wire.Notice{Sentence: "of this one"})
		synctest.Wait()
		if len(came) != 1 || came[0].(*wire.Notice).Sentence != "of this one" {
			t.Errorf("of its own era %v came", came)
		}
		b.Send(wire.ClientAt(0), wire.LaneAt(1, 0), &wire.Held{})
		m.Tick()
		closed := make(chan struct{})
		go func() {
			m.Close()
			close(closed)
		}()
		synctest.Wait()
		close(conn.frames)
		<-closed
		kinds := 0
		conn.mu.Lock()
		defer conn.mu.Unlock()
		for stream := conn.stream; len(stream) > 0; kinds++ {
			h, err := wire.ParseHeader(stream)
			require.NoError(t, err)
			if h.Era != 2 {
				t.Errorf("%v leaves as of era %d", h, h.Era)
			}
			stream = stream[wire.HeaderSize+int(h.Length):]
		}
		if kinds < 3 {
			t.Errorf("%d frames have left", kinds)
		}
	})
}

// TestReplacedLeaderIsReportedOnce replaces the process of node 0. The new one sends its first frame over each of two
// connections, then an acknowledgement: only the first connection reports the replacement.
func TestReplacedLeaderIsReportedOnce(t *testing.T) {
	t.Parallel()
	b := NewBus(1, 0, nil)
	defer b.Close()
	told := 0
	m := &Mesh{bus: b, follows: func() { told++ }}
	pair := m.newPair([]transport.Conn{newEndConn(), newEndConn()})
	send := func(p *peer, message wire.Message) {
		t.Helper()
		all := frame(t, wire.ClientAt(0), wire.Address{}, message)
		h, err := wire.ParseHeader(all)
		if err == nil {
			err = m.takeBelow(p, h, all[wire.HeaderSize:])
		}
		require.NoError(t, err)
	}
	for turn, want := range []int{0, 1, 2} {
		for number, p := range pair.peers {
			p.end.Renews()
			send(p, &wire.Resume{Process: uint64(7 + turn)})
			send(p, &wire.Ack{})
			if told != want {
				t.Errorf("process %d, connection %d: told %d times, want %d", turn, number, told, want)
			}
		}
	}
}
