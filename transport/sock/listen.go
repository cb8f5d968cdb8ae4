package sock

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"bellows"
	"bellows/transport"
)

// acceptPause is how long Accept waits before it returns an error of the system, such as too many open files, so that a
// caller who goes on does not spin.
const acceptPause = 50 * time.Millisecond

type listener struct {
	sockets *sockets
	net     interruptible
	address string
	unix    bool
	turn    chan struct{} // holds a token while nobody is in net's Accept
	close   func() error
}

// interruptible is a listener of package net whose Accept can be ended by a deadline.
type interruptible interface {
	net.Listener
	SetDeadline(time.Time) error
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
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	return &listener{
		sockets: s,
		net:     l,
		address: network + ":" + l.Addr().String(),
		unix:    network == "unix",
		turn:    turn,
		close:   sync.OnceValue(l.Close),
	}, nil
}

func listen(network, place string) (interruptible, error) {
	if network == "tcp" {
		lc := net.ListenConfig{KeepAliveConfig: keepAlive}
		l, err := lc.Listen(context.Background(), network, place)
		if err != nil {
			return nil, plain(err)
		}
		return l.(*net.TCPListener), nil
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

func (l *listener) Accept(ctx context.Context) (transport.Conn, error) {
	c, err := l.accept(ctx)
	if err != nil {
		return nil, transport.OpenFault("accept at", l.address, err)
	}
	place, config := "tcp:"+c.RemoteAddr().String(), l.sockets.config
	if l.unix {
		place = l.address
	}
	if err := l.sockets.check(c); err != nil { // told in the handshake, so that the other side can print it
		config.Admit = func(transport.Hello) error { return err }
	}
	ctx, cancel := l.sockets.bounded(context.WithoutCancel(ctx))
	defer cancel()
	return l.sockets.open(ctx, "accept at", place, c, config.Answer)
}

// accept takes the next connection, one caller after the other, so that the deadline by which ctx ends it is its own.
func (l *listener) accept(ctx context.Context) (net.Conn, error) {
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer context.AfterFunc(ctx, func() { l.net.SetDeadline(past) })()
	for {
		l.net.SetDeadline(time.Time{}) // an earlier caller's ctx may have left one, or be about to: then once more
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c, err := l.net.Accept()
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, net.ErrClosed):
			return nil, net.ErrClosed
		case !errors.Is(err, os.ErrDeadlineExceeded):
			pause(ctx)
			return nil, plain(err)
		}
	}
}

func pause(ctx context.Context) {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
