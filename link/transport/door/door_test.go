package door_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"bellows/link/transport"
	"bellows/link/transport/door"
)

// caller is somebody at a door: a connection once its handshake has succeeded.
type caller struct {
	transport.Conn
	shows  chan struct{} // closed: it shows the token
	ends   chan error    // how its handshake ends
	over   error         // why it was turned away
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

// street is where callers come from.
type street struct {
	*door.Door
	come   chan *caller
	closed chan struct{}
}

func newStreet() *street {
	s := &street{come: make(chan *caller), closed: make(chan struct{})}
	s.Door = door.New("here", func() (door.Greet, error) {
		select {
		case c := <-s.come:
			return c.greet, nil
		case <-s.closed:
			return nil, net.ErrClosed
		}
	})
	return s
}

// open makes the door work, as the first Accept does.
func (s *street) open(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("accepted: %v", err)
	}
}

func (s *street) close() { close(s.closed); s.Close() }

// call sends callers to the door, who are known at once or strangers.
func (s *street) call(n int, known bool) (list []*caller) {
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

// turnedAway counts callers that were.
func turnedAway(list []*caller) (n int) {
	for _, c := range list {
		if c.over != nil {
			n++
		}
	}
	return n
}

// TestStrangersHaveBounds plays more strangers than there are places, among callers who are known.
func TestStrangersHaveBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		defer s.close()
		s.open(t)
		known := s.call(10, true)
		strangers := s.call(5*door.Most, false)
		if n := turnedAway(strangers); n != 4*door.Most+10 {
			t.Errorf("%d of %d strangers were turned away", n, len(strangers))
		}
		for i, c := range strangers {
			if (c.over != nil) != (i < 4*door.Most+10) {
				t.Fatalf("stranger %d: %v: not the oldest made room", i, c.over)
			}
		}
		if n := turnedAway(known); n != 0 {
			t.Errorf("%d of those who are known were turned away", n)
		}
	})
}

// TestWhoIsKnownFillsTheHouse lets as many in as there are places: one more waits outside until somebody is accepted.
func TestWhoIsKnownFillsTheHouse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		defer s.close()
		s.open(t)
		inside := s.call(door.Most, true)
		late := s.call(1, true)[0]
		late.ends <- nil
		select {
		case s.come <- &caller{}:
			t.Error("the listener takes callers for whom it has no place")
		case <-time.After(time.Minute): // of the bubble's time
		}
		for _, c := range inside {
			c.ends <- nil
		}
		for range door.Most + 1 {
			c, err := s.Accept(t.Context())
			if err != nil || c.(*caller).closed {
				t.Fatalf("accepted %v, %v", c, err)
			}
		}
		if turnedAway(inside) != 0 || late.over != nil {
			t.Error("somebody who is known was turned away")
		}
	})
}

// TestCloseTurnsAllAway closes a door with callers in each state.
func TestCloseTurnsAllAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		s.open(t)
		stranger, known, waits := s.call(1, false)[0], s.call(1, true)[0], s.call(1, true)[0]
		waits.ends <- nil
		failed := s.call(1, false)[0]
		failed.ends <- errors.New("speaks otherwise")
		synctest.Wait()
		s.close()
		synctest.Wait()
		if stranger.over == nil || known.over == nil || !waits.closed {
			t.Errorf("the stranger: %v; who was known: %v; who waited was closed: %v", stranger.over, known.over, waits.closed)
		}
		if _, err := s.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted after the end: %v", err)
		}
	})
}
