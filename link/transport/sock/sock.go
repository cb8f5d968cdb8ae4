// Package sock is the transport over TCP and Unix sockets. An address says which:
//
//	tcp:127.0.0.1:0            a host or IP address, and a port; port 0 lets the system choose one
//	unix:/run/bellows/3.sock   a path; its folder is made if it is missing
//
// Unix sockets join processes of one user on one host. Their folder must be open to its owner alone (mode 0700) and the
// socket is too (0600); on Linux each side asks the kernel besides whether the other process has its user. Elsewhere the
// modes are all that protects it. A socket file that a dead process left behind is replaced; one on which somebody
// listens, and a file of any other kind, is an error.
//
// TCP connections send at once (no Nagle) and probe a silent peer, so that a host that vanished is found within half a
// minute even without Config.ReadSilence. Where bytes are under way to it that takes the system's own patience, which
// Linux is told to bound likewise, and others may stretch to many minutes.
//
// Make a Transport with New for each Config, and see package transport for what to do with it. Listeners shake hands as
// package door does; otherwise the package starts no goroutine: it works in those that call it.
package sock

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"bellows"
	"bellows/link/transport"
)

// keepAlive finds a vanished host in idle + interval x count = 25 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// unacknowledged is how long bytes may be under way before Linux gives a TCP connection up: as long as keepAlive takes, and
// longer than a write may stall, so that the writer's error comes first.
func unacknowledged(stall time.Duration) time.Duration { return max(25*time.Second, 2*stall) }

// past is a deadline that ends what is under way.
var past = time.Unix(1, 0)

type sockets struct {
	config transport.Config
	check  func(net.Conn) error // refuses a process of another user, where the system can tell
}

// New is the transport of one node. It fails if the configuration is wrong.
func New(c transport.Config) (transport.Transport, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &sockets{c, sameUser}, nil
}

// cut divides an address into network and place.
func cut(address string) (network, place string, err error) {
	network, place, ok := strings.Cut(address, ":")
	if !ok || network != "tcp" && network != "unix" || place == "" {
		return "", "", bellows.Errorf(bellows.Config, "read address", fmt.Sprintf("%q", address), "it has neither form of a transport's address").
			Hinted("write tcp:HOST:PORT or unix:PATH")
	}
	return network, place, nil
}

func (s *sockets) Dial(ctx context.Context, address string) (transport.Conn, error) {
	network, place, err := cut(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	d := net.Dialer{KeepAliveConfig: keepAlive}
	c, err := d.DialContext(ctx, network, place)
	if err != nil {
		return nil, transport.OpenFault("dial", address, because(ctx, err))
	}
	if err := s.check(c); err != nil { // before the token leaves
		c.Close()
		return nil, &bellows.Error{Kind: bellows.Refused, Op: "dial", Subject: address, Err: err}
	}
	return s.open(ctx, "dial", address, c, s.config.Greet)
}

func (s *sockets) Number(n, of uint8) transport.Transport {
	numbered := *s
	numbered.config.Self.Number, numbered.config.Self.Of = n, of
	return &numbered
}

// bounded is ctx with the time of a handshake.
func (s *sockets) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	slow := fmt.Errorf("no handshake within %v: %w", s.config.GreetTimeout, os.ErrDeadlineExceeded)
	return context.WithTimeoutCause(ctx, s.config.GreetTimeout, slow)
}

// because is err, or why ctx ended, of which err is then the consequence.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return plain(err)
}

// open shakes hands over a new connection while ctx lives.
func (s *sockets) open(ctx context.Context, op, place string, c net.Conn, hands func(io.ReadWriter) (transport.Hello, error)) (transport.Conn, error) {
	if err := bound(c, unacknowledged(s.config.WriteStall)); err != nil {
		c.Close()
		return nil, transport.OpenFault(op, place, err)
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(past) })
	peer, err := hands(c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, transport.OpenFault(op, place, because(ctx, err))
	}
	return newConn(c, s.config, peer, place), nil
}
