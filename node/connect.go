package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"bellows"
	"bellows/lease"
	"bellows/transport"
)

// redialEvery is how long a node waits before it dials again one that does not listen yet.
const redialEvery = 20 * time.Millisecond

// Connect joins a node to all others of its cluster: it dials those of lower number, which may still be
// on their way, and takes the calls of the others. addresses are by node. It gives up when ctx ends, when the others have
// not come within times.Join, and at once where waiting mends nothing: an address that is none, another node there, a
// refusal. Its error names who is missing; notice is told of a wait that lasts, every times.Notice. The connections come by
// number and, of each number, by node, nil for the node itself.
func Connect(ctx context.Context, t transport.Transport, l transport.Listener, c Cluster, addresses []string,
	times lease.Times, notice func(string)) ([]transport.Conn, error) {
	nodes, each := len(c.Members), c.connections()
	conns := make([]transport.Conn, each*nodes)
	w := newWait(c.Self, times, times.Or().Join, notice)
	ctx, cancel := w.bound(ctx)
	defer cancel()
	for i := range each {
		numbered := t.Number(uint8(i), uint8(each))
		for n := range c.Self {
			conn, err := w.dial(ctx, numbered, n, addresses[n])
			if err != nil {
				return nil, errors.Join(err, hangUp(conns))
			}
			conns[i*nodes+int(n)] = conn
		}
	}
	if err := w.accept(ctx, l, c, conns); err != nil {
		return nil, errors.Join(err, hangUp(conns))
	}
	return conns, nil
}

// hangUp closes the connections that there are.
func hangUp(conns []transport.Conn) (err error) {
	for _, conn := range conns {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	return err
}

// wait is the wait of a node for others: it is named while it lasts, and has an end.
type wait struct {
	self   bellows.NodeID
	began  time.Time
	within time.Duration
	every  time.Duration // it is named so often,
	next   time.Time     // and then
	notice func(string)
}

func newWait(self bellows.NodeID, times lease.Times, withinMillis int64, notice func(string)) *wait {
	now, every := time.Now(), time.Duration(times.Or().Notice)*time.Millisecond
	return &wait{self, now, time.Duration(withinMillis) * time.Millisecond, every, now.Add(every), notice}
}

// bound is ctx with the end of the wait.
func (w *wait) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, w.within, fmt.Errorf("waited for %.1f s", w.within.Seconds()))
}

// name tells for what is waited, and what was tried last, if it is time to.
func (w *wait) name(what string, last error) {
	now := time.Now()
	if now.Before(w.next) {
		return
	}
	w.next = now.Add(w.every)
	if now.Sub(w.began) >= w.within {
		return // its end says it
	}
	tried := ""
	if last != nil {
		tried = fmt.Sprintf(" (%v)", last)
	}
	w.notice(fmt.Sprintf("node %d has waited %.1f s for %s%s; after %.1f s it gives up", w.self, now.Sub(w.began).Seconds(), what, tried, w.within.Seconds()))
}

// over is the error of a wait that ctx has ended.
func (w *wait) over(ctx context.Context, whom string, last error) error {
	why := context.Cause(ctx)
	if last != nil && !errors.Is(last, why) {
		why = fmt.Errorf("%w; the last try: %w", why, last)
	}
	return bellows.Errorf(bellows.Lost, "join the nodes of the job", whom, "%w", why)
}

// accept takes the calls of all nodes above self.
func (w *wait) accept(ctx context.Context, l transport.Listener, c Cluster, conns []transport.Conn) error {
	var last error // why somebody was turned away
	for {
		missing := c.missing(conns)
		if missing == "" {
			return nil
		}
		short, cancel := context.WithDeadline(ctx, w.next)
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
		case ctx.Err() != nil:
			return w.over(ctx, missing, last)
		case errors.Is(err, net.ErrClosed):
			return bellows.Errorf(bellows.Lost, "join the nodes of the job", missing, "%w", err)
		case !late:
			last = err // it may come again
		}
		w.name(missing+" to join", last)
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

// dial calls a node until it answers, or waiting mends nothing.
func (w *wait) dial(ctx context.Context, t transport.Transport, n bellows.NodeID, address string) (transport.Conn, error) {
	whom := fmt.Sprintf("node %d at %s", n, address)
	var last error
	for {
		conn, err := w.attempt(ctx, t, address, func() { w.name(whom+" to answer", last) })
		switch {
		case err == nil && conn.Peer().Node != n:
			err = bellows.Errorf(bellows.Config, "join the nodes of the job", whom, "node %d answers there", conn.Peer().Node)
			return nil, errors.Join(err, conn.Close())
		case err == nil || hopeless(err):
			return conn, err
		case ctx.Err() != nil:
			return nil, w.over(ctx, whom, last)
		}
		last = err
		select {
		case <-ctx.Done():
			return nil, w.over(ctx, whom, last)
		case <-time.After(redialEvery):
			w.name(whom+" to answer", last)
		}
	}
}

// hopeless reports whether a call would fail again however often it is made.
func hopeless(err error) bool {
	kind := bellows.KindOf(err)
	address := (*net.AddrError)(nil)
	return kind == bellows.Refused || kind == bellows.Config || errors.Is(err, fs.ErrPermission) || errors.As(err, &address)
}

// attempt dials once, and calls late each time that the wait is to be named meanwhile.
func (w *wait) attempt(ctx context.Context, t transport.Transport, address string, late func()) (conn transport.Conn, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err = t.Dial(ctx, address)
	}()
	for {
		select {
		case <-ended:
			return conn, err
		case <-time.After(time.Until(w.next)):
			late()
		}
	}
}
