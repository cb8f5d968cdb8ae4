package sock

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"bellows"
	"bellows/link/transport"
	"bellows/link/transport/acceptor"
)

// acceptPause is how long the listener waits after an error of the system, such as too many open files, before it asks
// again, so that it does not spin.
const acceptPause = 50 * time.Millisecond

type listener struct {
	*acceptor.Acceptor
	sockets *sockets
	net     net.Listener
	address string
	unix    bool
	close   func() error
}

func (s *sockets) Listen(address string) (transport.Listener, error) {
	network, place, err := cut(address)
	if err != nil {
		return nil, err
	}
	l, err := listen(network, place)
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.Unavailable, Op: "listen at", Subject: address, Err: err}
	}
	n := &listener{
		sockets: s,
		net:     l,
		address: network + ":" + l.Addr().String(),
		unix:    network == "unix",
	}
	n.Acceptor = acceptor.New(n.address, n.next)
	n.close = sync.OnceValue(func() error {
		defer n.Acceptor.Close()
		return l.Close()
	})
	return n, nil
}

func listen(network, place string) (net.Listener, error) {
	if network == "tcp" {
		lc := net.ListenConfig{KeepAliveConfig: keepAlive}
		l, err := lc.Listen(context.Background(), network, place)
		if err != nil {
			return nil, plain(err)
		}
		return l, nil
	}
	if err := prepare(place); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: place, Net: network})
	if err != nil {
		return nil, plain(err)
	}
	if err := os.Chmod(place, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *listener) Address() string { return l.address }
func (l *listener) Close() error    { return l.close() }

// next waits for a caller.
func (l *listener) next() (acceptor.Greet, error) {
	c, err := l.net.Accept()
	switch {
	case err == nil:
		return func(ctx context.Context, known func()) (transport.Conn, error) { return l.greet(ctx, c, known) }, nil
	case errors.Is(err, net.ErrClosed):
		return nil, net.ErrClosed
	}
	time.Sleep(acceptPause)
	return nil, transport.OpenFault("accept at", l.address, plain(err))
}

// greet shakes hands with a caller.
func (l *listener) greet(ctx context.Context, c net.Conn, known func()) (transport.Conn, error) {
	place, config := "tcp:"+c.RemoteAddr().String(), l.sockets.config
	if l.unix {
		place = l.address
	}
	foreign, admit := l.sockets.check(c), config.Admit
	ctx, cancel := l.sockets.bounded(ctx)
	defer cancel()
	return l.sockets.open(ctx, "accept at", place, c, false, func(rw io.ReadWriter, is identified) (transport.Hello, error) {
		config.Admit = func(peer transport.Hello) error {
			if foreign != nil { // told in the handshake, so that the other side can print it
				return foreign
			}
			if err := is.node(peer); err != nil { // as above
				return err
			}
			known()
			if admit == nil {
				return nil
			}
			return admit(peer)
		}
		return config.Answer(rw)
	})
}
