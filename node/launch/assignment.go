package launch

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"bellows"
	"bellows/core/liveness"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
	"bellows/vec"
)

// assignment is what a process is told of its place in a cluster, as one line of JSON on its standard input.
// It answers with one line, its address, on its standard output, and is then told all addresses. When its
// input ends, so does it.
type assignment struct {
	node.Cluster
	Transport string // "unix" or "tcp"
	Folder    string // for sockets, of mode 0700
	Token     string // of the job, in hexadecimal
	Wire      vec.Format
	Image     string // file of a saved run to go on from; "": none
	Times     liveness.Times
}

// address is where a process listens.
type address struct{ Address string }

// addresses is where all processes listen, by node.
type addresses struct{ Addresses []string }

// endpoint is a process that has its assignment: it listens, and can join the others.
type endpoint struct {
	assignment
	transport transport.Transport
	listener  transport.Listener
	addresses <-chan []string
	known     []string        // the addresses, when they have come
	ended     <-chan struct{} // the process that leads has closed our standard input
}

// listen opens the process's listener.
func (s assignment) listen() (*endpoint, error) {
	var token transport.Token
	if b, err := hex.DecodeString(s.Token); err != nil || copy(token[:], b) != len(token) || len(b) != len(token) {
		return nil, bellows.Errorf(bellows.Bug, "take assignment", fmt.Sprintf("node %d", s.Self), "the job's token is not %d bytes", len(token))
	}
	t, err := sock.New(transport.Config{Self: transport.Hello{Node: s.Self, Token: token}})
	if err != nil {
		return nil, err
	}
	l, err := t.Listen(s.place())
	if err != nil {
		return nil, err
	}
	return &endpoint{assignment: s, transport: t, listener: l}, nil
}

// place is where the process listens: a socket in its folder, or a free port of the loopback device.
func (s assignment) place() string {
	if s.Transport == "tcp" {
		return "tcp:127.0.0.1:0"
	}
	return "unix:" + filepath.Join(s.Folder, fmt.Sprintf("node-%d.sock", s.Self))
}

// address is where the process listens.
func (c *endpoint) address() string { return c.listener.Address() }

// takeAssignment takes the place that the process which started this one has for it, as read from in. The
// answer goes to out.
func takeAssignment(in io.Reader, out io.Writer) (*endpoint, error) {
	lines := bufio.NewReader(in)
	var s assignment
	if err := hear(lines, &s); err != nil {
		return nil, err
	}
	c, err := s.listen()
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(address{c.address()})
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	told, ended := make(chan []string, 1), make(chan struct{})
	c.addresses, c.ended = told, ended
	go c.hear(lines, told, ended)
	return c, nil
}

// hear learns where the others are, and then the end.
func (c *endpoint) hear(lines *bufio.Reader, told chan<- []string, ended chan<- struct{}) {
	defer close(ended)
	var a addresses
	if err := hear(lines, &a); err != nil || len(a.Addresses) != len(c.Members) {
		return
	}
	told <- a.Addresses
	for {
		if _, err := lines.ReadByte(); err != nil {
			return
		}
	}
}

// hear reads a line of JSON.
func hear(lines *bufio.Reader, to any) error {
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, to)
	}
	if err != nil {
		return bellows.Errorf(bellows.Usage, "take assignment", "standard input", "this process is started by another, which tells it its place: %w", err)
	}
	return nil
}

// close gives the endpoint up. Connections live on.
func (c *endpoint) close() error { return c.listener.Close() }

// join connects the process to all others, once it has been told where they are.
func (c *endpoint) join(ctx context.Context, notice func(string)) ([]transport.Conn, error) {
	w := newWait(c.Self, c.Times, c.Times.Or().Join, notice)
	bounded, cancel := w.bound(ctx)
	defer cancel()
	for {
		select {
		case a := <-c.addresses:
			c.known = a
			return c.joinAt(ctx, a, notice)
		case <-c.ended:
			return nil, bellows.Errorf(bellows.Lost, "join the nodes of the job", fmt.Sprintf("node %d", c.Self), "the process that leads has gone")
		case <-bounded.Done():
			return nil, bellows.Errorf(bellows.Lost, "join the nodes of the job", "node 0, to say where the others are", "%w", context.Cause(bounded))
		case <-w.next():
			w.name("node 0 to say where the others are")
		}
	}
}

// links is how connections that break are made again.
func (c *endpoint) links(addresses []string) *fabric.Links {
	return &fabric.Links{Transport: c.transport, Listener: c.listener, Addresses: addresses}
}

// joinAt is join where the addresses are known.
func (c *endpoint) joinAt(ctx context.Context, addresses []string, notice func(string)) ([]transport.Conn, error) {
	return fabric.Connect(ctx, c.transport, c.listener, c.Cluster.Joining(), addresses, c.Times, notice)
}
