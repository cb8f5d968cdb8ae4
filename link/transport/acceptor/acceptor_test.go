package acceptor_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"bellows/link/transport"
	"bellows/link/transport/acceptor"
)

// caller is a caller of an acceptor: a connection once its handshake has succeeded.
type caller struct {
	transport.Conn
	shows  chan struct{} // closed: it shows the token
	ends   chan error    // how its handshake ends
	over   error         // why it was rejected
	closed bool
}

func (c *caller) Close() error { c.closed = true; return nil }

func (c *caller) greet(ctx context.Context, known func()) (transport.Conn, error) {
	shows := c.shows
	for {
		select {
		case <-shows:
			known()
			shows = nil
		case err := <-c.ends:
			if err != nil {
				return nil, err
			}
			return c, nil
		case <-ctx.Done():
			c.over = context.Cause(ctx)
			return nil, c.over
		}
	}
}

// network is where callers come from.
type network struct {
	*acceptor.Acceptor
	come   chan *caller
	closed chan struct{}
}

func newNetwork() *network {
	s := &network{come: make(chan *caller), closed: make(chan struct{})}
	s.Acceptor = acceptor.New("here", func() (acceptor.Greet, error) {
		select {
		case c := <-s.come:
			return c.greet, nil
		case <-s.closed:
			return nil, net.ErrClosed
		}
	})
	return s
}

// open starts the acceptor, as the first Accept does.
func (s *network) open(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("accepted: %v", err)
	}
}

func (s *network) close() { close(s.closed); s.Close() }

// call sends callers to the acceptor, known at once or unknown.
func (s *network) call(n int, known bool) (list []*caller) {
	for range n {
		c := &caller{shows: make(chan struct{}), ends: make(chan error, 1)}
		if known {
			close(c.shows)
		}
		s.come <- c
		synctest.Wait()
		list = append(list, c)
	}
	return list
}

// countRejected counts rejected callers.
func countRejected(list []*caller) (n int) {
	for _, c := range list {
		if c.over != nil {
			n++
		}
	}
	return n
}

// TestUnknownCallersAreBounded plays more unknown callers than there are places, among known ones.
func TestUnknownCallersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNetwork()
		defer s.close()
		s.open(t)
		known := s.call(10, true)
		unknown := s.call(5*acceptor.MaxCallers, false)
		if n := countRejected(unknown); n != 4*acceptor.MaxCallers+10 {
			t.Errorf("%d of %d unknown callers were rejected", n, len(unknown))
		}
		for i, c := range unknown {
			if (c.over != nil) != (i < 4*acceptor.MaxCallers+10) {
				t.Fatalf("unknown caller %d: %v: not the oldest made room", i, c.over)
			}
		}
		if n := countRejected(known); n != 0 {
			t.Errorf("%d known callers were rejected", n)
		}
	})
}

// TestKnownCallersFillAllPlaces lets as many in as there are places: one more waits outside until a caller is accepted.
func TestKnownCallersFillAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNetwork()
		defer s.close()
		s.open(t)
		inside := s.call(acceptor.MaxCallers, true)
		late := s.call(1, true)[0]
		late.ends <- nil
		select {
		case s.come <- &caller{}:
			t.Error("the listener takes callers without a place")
		case <-time.After(time.Minute): // of the bubble's time
		}
		for _, c := range inside {
			c.ends <- nil
		}
		for range acceptor.MaxCallers + 1 {
			c, err := s.Accept(t.Context())
			if err != nil || c.(*caller).closed {
				t.Fatalf("accepted %v, %v", c, err)
			}
		}
		if countRejected(inside) != 0 || late.over != nil {
			t.Error("a known caller was rejected")
		}
	})
}

// TestCloseRejectsAllCallers closes an acceptor with callers in each state.
func TestCloseRejectsAllCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNetwork()
		s.open(t)
		unknown, known, waits := s.call(1, false)[0], s.call(1, true)[0], s.call(1, true)[0]
		waits.ends <- nil
		failed := s.call(1, false)[0]
		failed.ends <- errors.New("speaks otherwise")
		synctest.Wait()
		s.close()
		synctest.Wait()
		if unknown.over == nil || known.over == nil || !waits.closed {
			t.Errorf("unknown: %v; known: %v; waiting was closed: %v", unknown.over, known.over, waits.closed)
		}
		if _, err := s.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted after the end: %v", err)
		}
	})
}
