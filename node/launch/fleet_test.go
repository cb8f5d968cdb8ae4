package launch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/link/transport"
	"bellows/node"
)

// sink is a child's standard input that takes all.
type sink struct{ bytes.Buffer }

func (*sink) Close() error { return nil }

// heard is a connection that knows whether it was closed.
type heard struct {
	transport.Conn
	closed bool
}

func (c *heard) Close() error { c.closed = true; return nil }

// TestDeathAtEndOfJoin ends a process in the moment when all have joined. Either the death is the reason why there is
// no job, and the connections are closed, or the leader receives it.
func TestDeathAtEndOfJoin(t *testing.T) {
	t.Parallel()
	said, left := 0, 0
	for range 300 {
		f := &fleet{deaths: make(chan node.Death, 2)}
		conn := &heard{}
		conns, err := f.join(t.Context(), func(context.Context) ([]transport.Conn, error) {
			f.deaths <- node.Death{Node: 1, Reason: "node 1 ended"}
			return []transport.Conn{nil, conn}, nil
		})
		switch {
		case err != nil && strings.Contains(err.Error(), "node 1 ended") && conns == nil && conn.closed && len(f.deaths) == 0:
			said++
		case err == nil && !conn.closed && len(f.deaths) == 1:
			left++
		default:
			t.Fatalf("join: %v, %v; connections closed: %v; %d deaths left", conns, err, conn.closed, len(f.deaths))
		}
	}
	t.Logf("the death ended the joining %d times, and was left for the job %d times", said, left)
}

// TestADeathEndsTheJoining makes a process die while the others are waited for.
func TestADeathEndsTheJoining(t *testing.T) {
	t.Parallel()
	f := &fleet{deaths: make(chan node.Death, 2)}
	_, err := f.join(t.Context(), func(ctx context.Context) ([]transport.Conn, error) {
		f.deaths <- node.Death{Node: 1, Reason: "node 1 ended"}
		<-ctx.Done()
		return nil, net.ErrClosed
	})
	if bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "start the job: node 1 ended") {
		t.Errorf("join: %v", err)
	}
}

// TestAddressWaitTimesOut starts a process that says nothing.
func TestAddressWaitTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quick := &local{in: &sink{}, over: make(chan struct{}), first: first{line: make(chan []byte, 1)}}
		mute := &local{in: &sink{}, over: make(chan struct{}), first: first{line: make(chan []byte, 1)}}
		io.WriteString(&quick.first, `{"Address":"there"}`+"\n")
		mute.tail.note("is thinking")
		f := &fleet{children: []*child{{node: 1, Process: quick}, {node: 2, Process: mute}}, addresses: make([]string, 3)}
		var notices []string
		began := time.Now()
		err := f.introduce(t.Context(), newWait(0, liveness.Times{}, 20_000, func(s string) { notices = append(notices, s) }))
		if time.Since(began) != 20*time.Second || err == nil || !strings.Contains(err.Error(), "node 2: it has not said where it listens: waited for 20.0 s") ||
			!strings.Contains(err.Error(), "is thinking") {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if len(notices) != 9 || notices[0] != "node 0 has waited 2.0 s for node 2 to say where it listens; after 20.0 s it gives up" {
			t.Errorf("notices %q", notices)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.introduce(ctx, newWait(0, liveness.Times{}, 20_000, func(string) {})); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestAddressesWaitTimesOut checks a part of the job of a process that then says nothing.
func TestAddressesWaitTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &endpoint{assignment: assignment{Cluster: node.Cluster{Self: 2}, Times: liveness.Times{Join: 7000}}}
		var notices []string
		began := time.Now()
		_, err := c.join(t.Context(), func(s string) { notices = append(notices, s) })
		if time.Since(began) != 7*time.Second || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 0, to say where the others are: waited for 7.0 s") {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if len(notices) != 3 || notices[0] != "node 2 has waited 2.0 s for node 0 to say where the others are; after 7.0 s it gives up" {
			t.Errorf("notices %q", notices)
		}
	})
}
