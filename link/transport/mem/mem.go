// Package mem is the in-memory transport: connections between nodes of one process, without sockets. Its handshakes,
// frames and timeouts are those of the real transports, and like a socket it buffers a bounded number of unread bytes.
//
// Make one Network, let each node Join it, and use what Join returns as any transport. Addresses are any text; an empty
// one lets the network choose. It never loses, delays or reorders bytes; the simulation does that.
package mem

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"bellows"
	"bellows/link/transport"
	"bellows/link/transport/acceptor"
	"bellows/link/wire"
)

// backlog is how many dialling nodes may wait outside a acceptor.
const backlog = 2 * acceptor.MaxCallers

// Network is a set of addresses. Nodes of different networks cannot reach each other.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	chosen    int // addresses that the network chose
}

// New returns a network without listeners.
func New() *Network { return &Network{listeners: map[string]*listener{}} }

// Join returns the transport of one node on the network. It fails if the configuration is wrong.
func (n *Network) Join(c transport.Config) (transport.Transport, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &node{n, c}, nil
}

type node struct {
	network *Network
	config  transport.Config
}

func (n *node) Listen(address string) (transport.Listener, error) {
	w := n.network
	w.mu.Lock()
	defer w.mu.Unlock()
	if address == "" {
		w.chosen++
		address = fmt.Sprintf("mem:%d", w.chosen)
	}
	if w.listeners[address] != nil {
		return nil, bellows.Errorf(bellows.Unavailable, "listen at", address, "a node listens there already")
	}
	l := &listener{node: n, address: address, dialled: make(chan *stream, backlog), closed: make(chan struct{})}
	l.Acceptor = acceptor.New(address, l.next)
	w.listeners[address] = l
	return l, nil
}

func (n *node) Number(number, of uint8) transport.Transport {
	numbered := *n
	numbered.config.Self.Number, numbered.config.Self.Of = number, of
	return &numbered
}

func (n *node) Dial(ctx context.Context, address string) (transport.Conn, error) {
	s, err := n.network.dial(address, n.config)
	if err != nil {
		return nil, transport.OpenFault("dial", address, err)
	}
	return n.open(ctx, "dial", address, s, n.config.Greet)
}

// Stream connects to an address as an unknown caller, which need not follow the protocol.
func (n *Network) Stream(address string) (io.ReadWriter, error) {
	return n.dial(address, transport.Config{})
}

// dial hands one end of a new pair of streams to the listener and returns the other.
func (n *Network) dial(address string, c transport.Config) (*stream, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[address]
	if l == nil {
		return nil, fmt.Errorf("nobody listens there: %w", syscall.ECONNREFUSED)
	}
	near, far := pair(c, l.node.config)
	select {
	case l.dialled <- far:
		return near, nil
	default:
		return nil, fmt.Errorf("%d nodes wait there to be accepted", backlog)
	}
}

// open shakes hands over a stream, within GreetTimeout and until ctx ends, and makes it a connection.
func (n *node) open(ctx context.Context, op, place string, s *stream, hands func(io.ReadWriter) (transport.Hello, error)) (transport.Conn, error) {
	slow := fmt.Errorf("no handshake within %v: %w", n.config.GreetTimeout, os.ErrDeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, n.config.GreetTimeout, slow)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })
	peer, err := hands(s)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.end(net.ErrClosed)
		return nil, transport.OpenFault(op, place, err)
	}
	return &conn{stream: s, reader: transport.NewReader(s), peer: peer, remote: transport.Name(peer, place)}, nil
}

type listener struct {
	*acceptor.Acceptor
	node    *node
	address string
	dialled chan *stream
	closed  chan struct{}
}

func (l *listener) Address() string { return l.address }

// next waits for a caller.
func (l *listener) next() (acceptor.Greet, error) {
	select {
	case s := <-l.dialled:
		return func(ctx context.Context, known func()) (transport.Conn, error) { return l.greet(ctx, s, known) }, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// greet shakes hands with a caller.
func (l *listener) greet(ctx context.Context, s *stream, known func()) (transport.Conn, error) {
	config := l.node.config
	admit := config.Admit
	config.Admit = func(peer transport.Hello) error {
		known()
		if admit == nil {
			return nil
		}
		return admit(peer)
	}
	return l.node.open(ctx, "accept at", l.address, s, config.Answer)
}

func (l *listener) Close() error {
	w := l.node.network
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners[l.address] != l {
		return nil
	}
	delete(w.listeners, l.address)
	close(l.closed)
	l.Acceptor.Close()
	for {
		select {
		case s := <-l.dialled:
			s.end(net.ErrClosed)
		default:
			return nil
		}
	}
}

type conn struct {
	stream *stream
	reader *transport.Reader
	peer   transport.Hello
	remote string
}

func (c *conn) WriteFrames(buffers [][]byte) error {
	for _, b := range buffers {
		if _, err := c.stream.Write(b); err != nil {
			return transport.ConnFault("write to", c.remote, err)
		}
	}
	return nil
}

// Arrived implements transport.Meter.
func (c *conn) Arrived() uint64 { return c.reader.Arrived() }

func (c *conn) ReadFrame() (wire.Header, []byte, error) {
	h, payload, err := c.reader.Frame()
	if err != nil {
		return h, nil, transport.ConnFault("read from", c.remote, err)
	}
	return h, payload, nil
}

func (c *conn) Close() error {
	c.stream.end(net.ErrClosed)
	return nil
}

func (c *conn) Remote() string        { return c.remote }
func (c *conn) Peer() transport.Hello { return c.peer }
