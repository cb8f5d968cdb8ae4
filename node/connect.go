package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"bellows"
	"bellows/transport"
)

// redialEvery is how long a node waits before it dials again one that does not listen yet.
const redialEvery = 20 * time.Millisecond

// joinNotice is how long the others may be waited for before they are named, and named again.
const joinNotice = 2 * time.Second

// Connect joins a node to all others of its cluster: it dials those of lower number, which may still be
// on their way, and takes the calls of the others. addresses are by node. It gives up when ctx ends,
// naming who is missing; notice is told of a wait that lasts. The connections come by number and, of each number, by
// node, nil for the node itself.
func Connect(ctx context.Context, t transport.Transport, l transport.Listener, c Cluster, addresses []string,
	notice func(string)) ([]transport.Conn, error) {
	nodes, each := len(c.Members), c.connections()
	conns := make([]transport.Conn, each*nodes)
	fail := func(err error) ([]transport.Conn, error) {
		for _, conn := range conns {
			if conn != nil {
				err = errors.Join(err, conn.Close())
			}
		}
		return nil, err
	}
	for i := range each {
		numbered := t.Number(uint8(i), uint8(each))
		for n := range c.Self {
			conn, err := dial(ctx, numbered, n, addresses[n])
			if err != nil {
				return fail(err)
			}
			conns[i*nodes+int(n)] = conn
		}
	}
	if err := accept(ctx, l, c, conns, notice); err != nil {
		return fail(err)
	}
	return conns, nil
}

// accept takes the calls of all nodes above self.
func accept(ctx context.Context, l transport.Listener, c Cluster, conns []transport.Conn, notice func(string)) error {
	began := time.Now()
	for {
		missing := c.missing(conns)
		if missing == "" {
			return nil
		}
		short, cancel := context.WithTimeout(ctx, joinNotice)
		conn, err := l.Accept(short)
		late := short.Err() != nil
		cancel()
		switch {
		case err == nil:
			if at := c.placeOf(conn.Peer()); at >= 0 && conns[at] == nil {
				conns[at] = conn
			} else if err := conn.Close(); err != nil {
				return err
			}
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return bellows.Errorf(bellows.Lost, "join the nodes of the job", missing, "%w", errors.Join(context.Cause(ctx), err))
		case late:
			notice(fmt.Sprintf("node %d waits for %s to join since %.1f s", c.Self, missing, time.Since(began).Seconds()))
		} // else somebody was turned away, and may come again
	}
}

// placeOf is where a connection of a node above this one belongs, or -1 for one that is not expected.
func (c *Cluster) placeOf(peer transport.Hello) int {
	n, number, of := int(peer.Node), int(peer.Number), max(1, int(peer.Of))
	if n <= int(c.Self) || n >= len(c.Members) || number >= of || of != c.connections() {
		return -1
	}
	return number*len(c.Members) + n
}

// missing names the nodes above this one that have not all connections yet.
func (c *Cluster) missing(conns []transport.Conn) string {
	var list []string
	for n := int(c.Self) + 1; n < len(c.Members); n++ {
		for at := n; at < len(conns); at += len(c.Members) {
			if conns[at] == nil {
				list = append(list, fmt.Sprintf("node %d", n))
				break
			}
		}
	}
	return strings.Join(list, ", ")
}

// dial calls a node until it answers or turns the call away.
func dial(ctx context.Context, t transport.Transport, n bellows.NodeID, address string) (transport.Conn, error) {
	for {
		conn, err := t.Dial(ctx, address)
		var refusal *transport.Refusal
		if err == nil && conn.Peer().Node != n {
			return nil, errors.Join(fmt.Errorf("at %s answers node %d, not node %d", address, conn.Peer().Node, n), conn.Close())
		}
		if err == nil || errors.As(err, &refusal) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Lost, "join the nodes of the job", fmt.Sprintf("node %d", n), "%w", errors.Join(context.Cause(ctx), err))
		case <-time.After(redialEvery):
		}
	}
}
