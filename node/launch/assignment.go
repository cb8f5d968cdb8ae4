package launch

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/link/fabric"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
	"bellows/vec"
)

// An assignment gives a process its place in a cluster, as one line of JSON on its standard input. Node 0 makes one for
// itself as well; the others differ only in Self. It has what the command line does not: what was drawn or made for
// this run, and the options of node 0 that must be the same everywhere.
type assignment struct {
	node.Cluster
	Transport string // "unix" or "tcp"
	Host      string // of tcp: where it listens; "": at the loopback device
	Folder    string // for sockets, of mode 0700
	Token     transport.Token
	Era       bellows.Era // as node.Options has it
	Wire      vec.Format
	Saved     []byte // where a saved run lies; nil: nowhere
	Times     liveness.Times
	Notice    time.Duration // how long a process stays after it is asked to end
	Authority []byte        // with tcp: the certificate of the job's authority, in DER
}

// address is where a process listens, and with tcp the public key that it wants certified.
type address struct {
	Address string
	Key     []byte
}

// addresses says where all processes listen, by node, with the certificate of the process that reads it. A process that
// joins while the job runs also gets its turn to connect to the others, and the nodes that are gone. A later line has
// only a certificate, before the one in use expires.
type addresses struct {
	Addresses   []string
	Gone        []bellows.NodeID
	Certificate []byte
}

// An endpoint is a process with its assignment: it listens, and can join the others. The listener stays open while the
// job runs, because broken connections are made again through it; the maker of the endpoint closes it. Connections
// outlive the endpoint. A child's endpoint gets the addresses of the others from its input; node 0's knows them.
type endpoint struct {
	assignment
	identity  *secure.Identity // nil: not with tcp
	transport transport.Transport
	listener  transport.Listener
	addresses <-chan addresses
	known     []string // the addresses, when they have come
}

// listen opens the process's listener, which refuses connections without the token, and those from other hosts without
// a certificate.
func (s assignment) listen() (*endpoint, error) { return s.listenAt(s.place()) }

// listenAt listens at an address.
func (s assignment) listenAt(place string) (c *endpoint, err error) {
	c = &endpoint{assignment: s}
	config := transport.Config{Self: transport.Hello{Node: s.Self, Token: s.Token, Era: s.Era}}
	if s.Authority == nil {
		c.transport, err = sock.New(config)
	} else if c.identity, err = secure.NewIdentity(); err == nil {
		c.transport, err = sock.Secured(config, c.identity)
	}
	if err != nil {
		return nil, err
	}
	if c.listener, err = c.transport.Listen(place); err != nil {
		return nil, err
	}
	return c, nil
}

// place returns where the process listens: a socket in its folder, which no other user of the machine may enter, or a
// free port of the loopback device or of another address, which any process that reaches it may connect to: the token
// protects it, and certificates do against other hosts.
func (s assignment) place() string {
	if s.Transport == "tcp" {
		return "tcp:" + net.JoinHostPort(cmp.Or(os.Getenv(hostVariable), s.Host, "127.0.0.1"), "0")
	}
	return "unix:" + filepath.Join(s.Folder, fmt.Sprintf("node-%d.sock", s.Self))
}

// joinAt joins by known addresses, as node 0 does, which gathers them.
func (c *endpoint) joinAt(ctx context.Context, addresses []string, notice func(string)) ([]transport.Conn, error) {
	return fabric.Connect(ctx, c.transport, c.listener, c.Cluster.Joining(), addresses, c.Times, notice)
}

// links returns the way in which broken connections are made again.
func (c *endpoint) links(addresses []string) *fabric.Links {
	return &fabric.Links{Transport: c.transport, Listener: c.listener, Addresses: addresses}
}
