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
// naming who is missing; notice is told of a wait that lasts. The connections come by node, nil for the
// node itself.
func Connect(ctx context.Context, t transport.Transport, l transport.Listener, c Cluster, addresses []string,
	notice func(string)) ([]transport.Conn, error) {
	conns := make([]transport.Conn, len(c.Members))
	fail := func(err error) ([]transport.Conn, error) {
		for _, conn := range conns {
			if conn != nil {
				err = errors.Join(err, conn.Close())
			}
		}
		return nil, err
	}
	for n := range c.Self {
		conn, err := dial(ctx, t, n, addresses[n])
		if err != nil {
			return fail(err)
		}
		conns[n] = conn
	}
	if err := accept(ctx, l, c.Self, conns, notice); err != nil {
		return fail(err)
	}
	return conns, nil
}

// accept takes the calls of all nodes above self.
func accept(ctx context.Context, l transport.Listener, self bellows.NodeID, conns []transport.Conn, notice func(string)) error {
	began := time.Now()
	for {
		missing := names(conns, self)
		if missing == "" {
			return nil
		}
		short, cancel := context.WithTimeout(ctx, joinNotice)
		conn, err := l.Accept(short)
		late := short.Err() != nil
		cancel()
		switch {
		case err == nil:
			n := conn.Peer().Node
			if n > self && int(n) < len(conns) && conns[n] == nil {
				conns[n] = conn
			} else if err := conn.Close(); err != nil {
				return err
			}
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return bellows.Errorf(bellows.Lost, "join the nodes of the job", missing, "%w", errors.Join(context.Cause(ctx), err))
		case late:
			notice(fmt.Sprintf("node %d waits for %s to join since %.1f s", self, missing, time.Since(began).Seconds()))
		} // else somebody was turned away, and may come again
	}
}

// names are the nodes above self that have no connection yet.
func names(conns []transport.Conn, self bellows.NodeID) string {
	var list []string
	for n := int(self) + 1; n < len(conns); n++ {
		if conns[n] == nil {
			list = append(list, fmt.Sprintf("node %d", n))
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
