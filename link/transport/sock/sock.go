// Package sock opens, accepts and reads TCP and Unix sockets, with TLS where wanted, and names the peer. An
// address names one:
//
//	tcp:127.0.0.1:0            a host or IP address, and a port; port 0 lets the system choose one
//	unix:/run/bellows/3.sock   a path; its folder is made if it is missing
//
// Unix sockets join processes of one user on one host. Their folder must be open to its owner alone (mode 0700), and
// the socket is 0600; on Linux each side also asks the kernel whether the other process has its user. Elsewhere the
// modes are the only protection. A socket file that a dead process left is replaced; one with a listening process, and
// a file of any other kind, is an error.
//
// TCP connections send at once (no Nagle) and probe a silent peer, so that a vanished host is found within half a
// minute even without Config.ReadSilence. While bytes are under way to it, the system's own timeout applies. Linux is
// asked to bound that as well; other systems may take many minutes.
//
// Between hosts a Transport of Secured encrypts. Within one host it does not, and writes and reads are the same as
// without it.
//
// Make a Transport with New, or with Secured, for each Config, and see package transport for its use. Listeners shake
// hands as package acceptor does; otherwise the package starts no goroutine: it works in those that call it.
package sock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"bellows"
	"bellows/link/secure"
	"bellows/link/transport"
)

// keepAlive finds a vanished host in idle + interval x count = 25 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// unacknowledged returns how long bytes may be under way before Linux gives a TCP connection up: as long as keepAlive
// takes, and longer than a write may stall, so that the writer's error comes first.
func unacknowledged(stall time.Duration) time.Duration { return max(25*time.Second, 2*stall) }

// past is a deadline that ends what is under way.
var past = time.Unix(1, 0)

type sockets struct {
	config   transport.Config
	check    func(net.Conn) error // refuses a process of another user, where the system can tell
	identity *secure.Identity     // nil: nothing is encrypted
	plain    func(net.Conn) bool  // connections that are not
}

// New returns the transport of one node. It fails if the configuration is wrong.
func New(c transport.Config) (transport.Transport, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &sockets{config: c, check: sameUser}, nil
}

// Secured returns a Transport, as New does, for a node whose job may use several hosts: connections between two hosts
// use TLS 1.3, and both sides show certificates of the job's authority for the node that they claim to be. An unknown
// caller costs in addition the state of a TLS handshake: at most 64 KiB, and 256 KiB if it sends that much of a
// certificate. Connections within a host are those of New. Both sides decide by the addresses of a connection's ends.
func Secured(c transport.Config, i *secure.Identity) (transport.Transport, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &sockets{config: c, check: sameUser, identity: i, plain: secure.SameHost}, nil
}

// NodeName returns the name in the certificate of a node.
func NodeName(n bellows.NodeID) secure.Name {
	return secure.Name{Role: secure.Node, ID: fmt.Sprintf("node-%d", n)}
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
	return s.open(ctx, "dial", address, c, true, func(rw io.ReadWriter, is identified) (transport.Hello, error) {
		peer, err := s.config.Greet(rw)
		if err == nil {
			err = is.node(peer)
		}
		return peer, err
	})
}

func (s *sockets) Number(n, of uint8) transport.Transport {
	numbered := *s
	numbered.config.Self.Number, numbered.config.Self.Of = n, of
	return &numbered
}

// bounded returns ctx with the timeout of a handshake.
func (s *sockets) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	slow := fmt.Errorf("no handshake within %v: %w", s.config.GreetTimeout, os.ErrDeadlineExceeded)
	return context.WithTimeoutCause(ctx, s.config.GreetTimeout, slow)
}

// because returns err, or the reason why ctx ended, of which err is then the consequence.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return plain(err)
}

// identified is the name on the other side's certificate, or why that is not known. Without TLS it is empty.
type identified struct {
	sealed bool
	name   secure.Name
	err    error
}

// node refuses a peer whose certificate names another node.
func (i identified) node(peer transport.Hello) error {
	if i.sealed && i.err == nil && i.name != NodeName(peer.Node) {
		return &secure.Stranger{Err: fmt.Errorf("it says that it is node %d, and its certificate is of %s", peer.Node, i.name)}
	}
	return i.err
}

// seal encrypts a connection with another host. The caller's name may be unknown then: our own handshake sends it.
func (s *sockets) seal(ctx context.Context, c net.Conn, dials bool) (*sealed, identified, error) {
	if _, tcp := c.(*net.TCPConn); !tcp || s.identity == nil || s.plain(c) {
		return nil, identified{}, nil
	}
	l := &sealed{below: &below{Conn: c}}
	if dials {
		l.stream = tls.Client(l.below, s.identity.Client(secure.AdmitRole(secure.Node)))
	} else {
		l.stream = tls.Server(l.below, s.identity.Server())
	}
	if err := l.stream.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, identified{}, err
		}
		return nil, identified{}, secure.Explain(err)
	}
	is := identified{sealed: true}
	is.name, is.err = s.identity.Peer(l.stream.ConnectionState())
	return l, is, nil
}

// open shakes hands over a new connection until ctx ends.
func (s *sockets) open(ctx context.Context, op, place string, c net.Conn, dials bool, hands func(io.ReadWriter, identified) (transport.Hello, error)) (transport.Conn, error) {
	if err := bound(c, unacknowledged(s.config.WriteStall)); err != nil {
		c.Close()
		return nil, transport.OpenFault(op, place, err)
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(past) })
	over, is, err := s.seal(ctx, c, dials)
	var peer transport.Hello
	switch {
	case err != nil:
	case over != nil:
		peer, err = hands(over.stream, is)
	default:
		peer, err = hands(c, is)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if stranger := (*secure.Stranger)(nil); errors.As(err, &stranger) && ctx.Err() == nil {
			return nil, &bellows.Error{Kind: bellows.Refused, Op: op, Subject: place, Err: stranger}
		}
		return nil, transport.OpenFault(op, place, because(ctx, err))
	}
	return newConn(c, over, s.config, peer, place), nil
}
