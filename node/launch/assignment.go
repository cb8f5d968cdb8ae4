package launch

import (
	"context"
	"fmt"
	"path/filepath"

	"bellows/core/liveness"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
	"bellows/vec"
)

// assignment is what a process is told of its place in a cluster, as one line of JSON on its standard input. Node 0 makes
// one for itself, too, and each other is that with another Self. It has what the command line does not: what was drawn or
// made for this run, and what options of node 0's must be the same everywhere.
type assignment struct {
	node.Cluster
	Transport string // "unix" or "tcp"
	Folder    string // for sockets, of mode 0700
	Token     transport.Token
	Wire      vec.Format
	Image     string // file of a saved run to go on from; "": none
	Times     liveness.Times
}

// address is where a process listens.
type address struct{ Address string }

// addresses is where all processes listen, by node.
type addresses struct{ Addresses []string }

// endpoint is a process that has its assignment: it listens, and can join the others. The listener stays open while the job
// runs, since connections that break are made again through it; whoever has made the endpoint closes that. Connections live
// on. A child's learns from its input where the others are; node 0's knows.
type endpoint struct {
	assignment
	transport transport.Transport
	listener  transport.Listener
	addresses <-chan []string
	known     []string // the addresses, when they have come
}

// listen opens the process's listener, which turns away whoever does not know the token.
func (s assignment) listen() (*endpoint, error) {
	t, err := sock.New(transport.Config{Self: transport.Hello{Node: s.Self, Token: s.Token}})
	if err != nil {
		return nil, err
	}
	l, err := t.Listen(s.place())
	if err != nil {
		return nil, err
	}
	return &endpoint{assignment: s, transport: t, listener: l}, nil
}

// place is where the process listens: a socket in its folder, which nobody else on the machine may enter, or a free port of the
// loopback device, to which anybody may talk, and which the token guards alone.
func (s assignment) place() string {
	if s.Transport == "tcp" {
		return "tcp:127.0.0.1:0"
	}
	return "unix:" + filepath.Join(s.Folder, fmt.Sprintf("node-%d.sock", s.Self))
}

// joinAt is join where the addresses are known, as node 0, which gathers them, knows them.
func (c *endpoint) joinAt(ctx context.Context, addresses []string, notice func(string)) ([]transport.Conn, error) {
	return fabric.Connect(ctx, c.transport, c.listener, c.Cluster.Joining(), addresses, c.Times, notice)
}

// links is how connections that break are made again.
func (c *endpoint) links(addresses []string) *fabric.Links {
	return &fabric.Links{Transport: c.transport, Listener: c.listener, Addresses: addresses}
}
