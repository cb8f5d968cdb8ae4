package fabric

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
)

// scriptConn is a connection that receives the frames of a channel, until that or the connection is closed. Written
// frames are kept.
type scriptConn struct {
	endConn
	frames chan []byte
	mu     sync.Mutex
	stream []byte
}

func newScriptConn() *scriptConn {
	return &scriptConn{endConn: endConn{closed: make(chan struct{})}, frames: make(chan []byte, 9)}
}

func (c *scriptConn) WriteFrames(b [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stream = append(c.stream, slices.Concat(b...)...)
	return nil
}

func (c *scriptConn) ReadFrame() (wire.Header, []byte, error) {
	select {
	case frame, more := <-c.frames:
		if !more {
			return wire.Header{}, nil, io.EOF
		}
		h, err := wire.ParseHeader(frame)
		return h, append(h.Payload()[:0], frame[wire.HeaderSize:]...), err
	case <-c.closed:
		return wire.Header{}, nil, net.ErrClosed
	}
}

// receive makes a message arrive.
func (c *scriptConn) receive(t *testing.T, m wire.Message) {
	t.Helper()
	c.frames <- frame(t, wire.ClientAt(1), wire.Address{}, m)
}

func frame(t testing.TB, from, to wire.Address, m wire.Message) []byte {
	t.Helper()
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{From: from, To: to, Message: m}))
	return slices.Concat(b.Buffers()...)
}

// kinds returns what was written.
func (c *scriptConn) kinds(t *testing.T) (list []uint8) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := c.stream; len(b) > 0; {
		h, err := wire.ParseHeader(b)
		require.NoError(t, err)
		list = append(list, h.Kind)
		b = b[wire.HeaderSize+int(h.Length):]
	}
	return list
}

// expectKinds wants messages of these kinds, and no others, to have been written.
func (c *scriptConn) expectKinds(t *testing.T, want ...wire.Message) {
	t.Helper()
	var kinds []uint8
	for _, m := range want {
		kinds = append(kinds, wire.Envelope{Message: m}.Kind())
	}
	if got := c.kinds(t); !slices.Equal(got, kinds) {
		t.Errorf("messages of kinds %v were written, want %v", got, kinds)
	}
}

// caller is a listener at which come the connections that are put into it.
type caller chan transport.Conn

func (c caller) Accept(ctx context.Context) (transport.Conn, error) {
	select {
	case conn := <-c:
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (caller) Address() string { return "here" }
func (caller) Close() error    { return nil }

// TestRestIsSentOverTheNextConnection closes a mesh before its connection has been answered. The connection breaks, the
// other node calls again, and the posted messages and the goodbye are sent there.
func TestRestIsSentOverTheNextConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := newScriptConn(), newScriptConn()
		m := NewMesh([]transport.Conn{nil, first})
		b := NewBus(0, 0, m)
		defer b.Close()
		calls := make(caller)
		m.Start(b, Options{Checker: open{}, Links: &Links{Listener: calls}, Lost: func(l Loss) { t.Errorf("lost: %v", l) }})
		b.Send(wire.ClientAt(0), wire.LaneAt(1, 0), &wire.Held{})
		closed := make(chan struct{})
		go func() {
			m.Close()
			close(closed)
		}()
		synctest.Wait()
		close(first.frames)
		synctest.Wait()
		calls <- second
		second.receive(t, &wire.Resume{Process: 7})
		<-closed
		first.expectKinds(t, &wire.Resume{})
		second.expectKinds(t, &wire.Resume{}, &wire.Held{}, &wire.Bye{})
	})
}

// TestPartedNodeDelaysNoClose closes a mesh while a connection is being remade with messages unsent. For a node without
// which the job continues that ends at once, for others a second later.
func TestPartedNodeDelaysNoClose(t *testing.T) {
	t.Parallel()
	for _, parted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			first := newScriptConn()
			m := NewMesh([]transport.Conn{nil, first})
			b := NewBus(0, 0, m)
			defer b.Close()
			m.Start(b, Options{Checker: open{}, Links: &Links{Listener: make(caller)}, Lost: func(l Loss) { t.Errorf("lost: %v", l) }, Parted: func(n bellows.NodeID) bool { return parted && n == 1 }})
			b.Send(wire.ClientAt(0), wire.LaneAt(1, 0), &wire.Held{})
			synctest.Wait()
			close(first.frames)
			synctest.Wait()
			began, want := time.Now(), time.Second
			if parted {
				want = 0
			}
			m.Close()
			if took := time.Since(began); took != want {
				t.Errorf("parted %v: closed after %v, want %v", parted, took, want)
			}
		})
	}
}

// TestLateConnectionIsClosed calls again when the peer is over: in the moment before, so that the reader finds the
// connection after the end, and later, when no reader takes it.
func TestLateConnectionIsClosed(t *testing.T) {
	t.Parallel()
	m := NewMesh([]transport.Conn{nil, newEndConn(), newEndConn()})
	for _, p := range m.pair(1).peers {
		late := newEndConn()
		if p.number == 0 {
			p.hangUp()
			if m.resume(p, late) {
				t.Error("a peer that is over continues")
			}
		} else {
			if !p.offer(late) {
				t.Error("a call is turned away before the end")
			}
			m.end(p, errBye)
			if p.offer(newEndConn()) {
				t.Error("a call is taken after the end")
			}
		}
		select {
		case <-late.closed:
		default:
			t.Errorf("connection %d came too late, and is open", p.number)
		}
	}
}
