package fabric

import (
	"io"
	"net"
	"sync"
	"testing"

	"bellows/link/transport"
	"bellows/link/wire"
)

// endConn is a connection that ends when the peer ends it, or this side closes it.
type endConn struct {
	transport.Conn
	gone   chan struct{} // the peer has ended it
	closed chan struct{}
	once   sync.Once
}

func newEndConn() *endConn { return &endConn{gone: make(chan struct{}), closed: make(chan struct{})} }

func (c *endConn) WriteFrames([][]byte) error { return nil }
func (c *endConn) Remote() string             { return "node 1" }
func (c *endConn) Peer() transport.Hello      { return transport.Hello{Node: 1} }

func (c *endConn) ReadFrame() (wire.Header, []byte, error) {
	select {
	case <-c.gone:
		return wire.Header{}, nil, io.EOF
	case <-c.closed:
		return wire.Header{}, nil, net.ErrClosed
	}
}

func (c *endConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// TestLossClosesAllConnectionsOfANode ends one of three connections to a node: the others are closed before the
// node is reported as lost, and that is reported once.
func TestLossClosesAllConnectionsOfANode(t *testing.T) {
	t.Parallel()
	conns := []*endConn{newEndConn(), newEndConn(), newEndConn()}
	m := NewMesh([]transport.Conn{nil, conns[0], nil, conns[1], nil, conns[2]})
	lost := make(chan int, 3)
	m.Start(NewBus(0, 0, m), Options{Lost: func(Loss) {
		open := 0
		for _, c := range conns {
			select {
			case <-c.closed:
			default:
				open++
			}
		}
		lost <- open
	}})
	close(conns[1].gone)
	if open := <-lost; open != 0 {
		t.Errorf("%d connections to the lost node are open", open)
		for _, c := range conns {
			c.Close()
		}
	}
	m.Close()
	if len(lost) != 0 {
		t.Error("one node is lost more than once")
	}
}
