package fabric

import (
	"net"
	"slices"
	"sync"
	"testing"

	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
)

// slowConn is a connection that receives only its first frame, and whose second write takes so long that more messages
// are posted meanwhile.
type slowConn struct {
	meanwhile func()
	stream    []byte
	greeted   bool
	closed    chan struct{}
	once      sync.Once
}

func (c *slowConn) WriteFrames(buffers [][]byte) error {
	c.stream = append(c.stream, slices.Concat(buffers...)...)
	if c.meanwhile != nil && len(c.stream) > 100 { // the first part is among it
		c.meanwhile()
		c.meanwhile = nil
	}
	return nil
}

func (c *slowConn) ReadFrame() (wire.Header, []byte, error) {
	if !c.greeted {
		c.greeted = true
		var b wire.Batch
		if err := b.Add(wire.Envelope{Message: &wire.Resume{Process: 1}}); err != nil {
			return wire.Header{}, nil, err
		}
		frame := slices.Concat(b.Buffers()...)
		h, err := wire.ParseHeader(frame)
		return h, append(h.Payload()[:0], frame[wire.HeaderSize:]...), err
	}
	<-c.closed
	return wire.Header{}, nil, net.ErrClosed
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *slowConn) Remote() string        { return "node 1" }
func (c *slowConn) Peer() transport.Hello { return transport.Hello{Node: 1} }

// TestShortMessagesOvertakeALongOne posts a push in parts and, while the first part is written, a message of the
// controller, one of a lane and one of the pushing client. Those of others leave before the next part, the client's own
// after the last.
func TestShortMessagesOvertakeALongOne(t *testing.T) {
	t.Parallel()
	conn := &slowConn{closed: make(chan struct{})}
	m := NewMesh([]transport.Conn{conn})
	m.pair(1).peers[0].hello.Process = 1
	b := NewBus(0, 0, m)
	to := wire.LaneAt(1, 0)
	posted := make(chan struct{})
	conn.meanwhile = func() {
		defer close(posted)
		b.Send(wire.ClientAt(0), to, &wire.Release{})
		b.Send(wire.LaneAt(0, 0), wire.ClientAt(1), &wire.Held{})
		b.Send(wire.ControllerAt(), to, &wire.Collect{Slabs: 7})
	}
	b.Send(wire.ClientAt(0), to, &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, 100)}}})
	m.Start(b, Options{Checker: open{}, Lost: func(Loss) {}, PartMost: 100})
	<-posted
	m.Close()
	var got []string
	for stream := conn.stream; len(stream) > 0; {
		h, err := wire.ParseHeader(stream)
		require.NoError(t, err)
		got = append(got, h.String())
		stream = stream[wire.HeaderSize+int(h.Length):]
	}
	part, last := "part of a push, 100 bytes from node 0 to lane 0 of node 1", "part of a push, 68 bytes from node 0 to lane 0 of node 1"
	want := []string{"resume of 2 bytes from node 0 to node 0", part, "collect of 2 bytes from the controller to lane 0 of node 1", "held of 20 bytes from lane 0 of node 0 to node 1",
		part, part, part, last, "release of 12 bytes from node 0 to lane 0 of node 1", "bye of 0 bytes from node 0 to node 0"}
	if !slices.Equal(got, want) {
		t.Errorf("what left is\n%q, not\n%q", got, want)
	}
	if n := m.left[tally.Pushes].frames.Load(); n != 5 {
		t.Errorf("%d frames of the push were counted", n)
	}
}
