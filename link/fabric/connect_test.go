package fabric

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/acceptor"
	"bellows/link/transport/mem"
	"bellows/link/transport/sock"
)

// three returns a cluster of three nodes as one of them sees it.
func three(self bellows.NodeID) join.Cluster {
	return join.Cluster{Self: self, Nodes: 3, Connections: 1}
}

// places are where the nodes listen.
var places = []string{"zero", "one", "two"}

// joining returns a node of a network that listens at its address.
func joining(t *testing.T, network *mem.Network, n bellows.NodeID, token byte) (transport.Transport, transport.Listener) {
	t.Helper()
	tr, err := network.Join(transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{token}}})
	require.NoError(t, err)
	l, err := tr.Listen(places[n])
	require.NoError(t, err)
	return tr, l
}

// TestWaitForAnAnswerIsNamed calls a node that does not listen, and one that listens and does not accept.
func TestWaitForAnAnswerIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listens bool
		tried   string
	}{{false, "nobody listens there"}, {true, "no handshake within 5s"}} {
		synctest.Test(t, func(t *testing.T) {
			network := mem.New()
			if c.listens {
				_, l := joining(t, network, 0, 1)
				defer l.Close()
			}
			tr, l := joining(t, network, 1, 1)
			defer l.Close()
			var notices []string
			began := time.Now()
			_, err := Connect(t.Context(), tr, l, three(1), places, liveness.Times{Join: 11_000}, func(s string) { notices = append(notices, s) })
			if took := time.Since(began); took != 11*time.Second {
				t.Errorf("gave up after %v", took)
			}
			if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 0 at zero") ||
				!strings.Contains(err.Error(), "waited for 11.0 s") || !strings.Contains(err.Error(), c.tried) {
				t.Errorf("the end of the wait is %v", err)
			}
			if len(notices) != 5 || !strings.HasPrefix(notices[0], "node 1 has waited 2.0 s for node 0 at zero to answer") ||
				!strings.Contains(notices[4], c.tried) || !strings.HasSuffix(notices[4], "; after 11.0 s it gives up") {
				t.Errorf("notices %q", notices)
			}
		})
	}
}

// TestWaitForOthersIsNamed connects three nodes, one of which arrives after a while and one never. The first also
// learns that joining has ended.
func TestWaitForOthersIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := mem.New()
		tr, l := joining(t, network, 0, 1)
		defer l.Close()
		second, secondListener := joining(t, network, 1, 1)
		defer secondListener.Close()
		hungUp := make(chan error, 1)
		go func() {
			<-time.After(5 * time.Second)
			conn, err := second.Dial(t.Context(), places[0])
			if err == nil {
				_, _, err = conn.ReadFrame()
			}
			hungUp <- err
		}()
		var notices []string
		began := time.Now()
		_, err := Connect(t.Context(), tr, l, three(0), places, liveness.Times{}, func(s string) { notices = append(notices, s) })
		if took := time.Since(began); took != time.Minute {
			t.Errorf("gave up after %v", took)
		}
		if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "join the nodes of the job node 2: waited for 60.0 s") {
			t.Errorf("the end of the wait is %v", err)
		}
		if len(notices) != 29 || notices[1] != "node 0 has waited 4.0 s for node 1, node 2 to join; after 60.0 s it gives up" ||
			notices[2] != "node 0 has waited 6.0 s for node 2 to join; after 60.0 s it gives up" {
			t.Errorf("%d notices %q", len(notices), notices)
		}
		if err := <-hungUp; err == nil || !strings.Contains(err.Error(), io.EOF.Error()) {
			t.Errorf("the connection that there was ended with %v", err)
		}
	})
}

// TestRejectedCallersDoNotDelayNames calls again and again from a node of another job while a node is awaited.
func TestRejectedCallersDoNotDelayNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := mem.New()
		tr, l := joining(t, network, 0, 1)
		defer l.Close()
		other, otherListener := joining(t, network, 1, 2)
		defer otherListener.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				if c, err := other.Dial(ctx, places[0]); err == nil {
					c.Close()
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		}()
		var notices []string
		_, err := Connect(ctx, tr, l, three(0), places, liveness.Times{Join: 9000}, func(s string) { notices = append(notices, s) })
		if err == nil || !strings.Contains(err.Error(), "of different jobs") {
			t.Errorf("the end of the wait is %v", err)
		}
		if len(notices) < 3 || !strings.Contains(notices[0], "of different jobs") {
			t.Errorf("notices %q", notices)
		}
	})
}

// TestConnectFailsAtOnceOnPermanentErrors dials a node of another job, a node other than the expected one, and an
// invalid address.
func TestConnectFailsAtOnceOnPermanentErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		node  bellows.NodeID
		token byte
		kind  bellows.Kind
		want  string
	}{{0, 2, bellows.Refused, "of different jobs"}, {2, 1, bellows.Config, "node 0 at zero: node 2 answers there"}} {
		synctest.Test(t, func(t *testing.T) {
			network := mem.New()
			other, err := network.Join(transport.Config{Self: transport.Hello{Node: c.node, Token: transport.Token{c.token}}})
			require.NoError(t, err)
			there, err := other.Listen(places[0])
			require.NoError(t, err)
			defer there.Close()
			go there.Accept(t.Context())
			tr, l := joining(t, network, 1, 1)
			defer l.Close()
			began := time.Now()
			_, err = Connect(t.Context(), tr, l, three(1), places, liveness.Times{}, func(s string) { t.Error(s) })
			if bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || time.Since(began) != 0 {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		})
	}
	tr, err := sock.New(transport.Config{Self: transport.Hello{Node: 1, Token: transport.Token{1}}})
	require.NoError(t, err)
	for _, address := range []string{"nonsense", "tcp:127.0.0.1"} {
		_, err = Connect(t.Context(), tr, nil, three(1), []string{address, "", ""}, liveness.Times{}, func(s string) { t.Error(s) })
		if err == nil || !strings.Contains(err.Error(), address[4:]) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestSilentCallersDelayNoNode connects an endless number of silent callers to node 0, more than it has places for: the
// nodes still join at once.
func TestSilentCallersDelayNoNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := mem.New()
		var ends [3]func() ([]transport.Conn, error)
		for n := range ends {
			tr, l := joining(t, network, bellows.NodeID(n), 1)
			defer l.Close()
			ends[n] = func() ([]transport.Conn, error) {
				return Connect(t.Context(), tr, l, three(bellows.NodeID(n)), places, liveness.Times{}, func(s string) { t.Error(s) })
			}
		}
		stranger := func() { // fails when the network has no room
			if _, err := network.Stream(places[0]); err != nil && !strings.Contains(err.Error(), "wait there") {
				t.Error(err)
			}
		}
		for range acceptor.MaxCallers + 10 {
			stranger()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				stranger()
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}()
		began := time.Now()
		errs := make(chan error)
		for n := range ends {
			go func() {
				conns, err := ends[n]()
				if count := len(slices.DeleteFunc(conns, func(c transport.Conn) bool { return c == nil })); err == nil && count != 2 {
					err = fmt.Errorf("node %d has %d connections", n, count)
				}
				errs <- err
			}()
		}
		for range ends {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the nodes joined after %v", took)
		}
	})
}

// TestConnectRejectsADifferentNumberOfConnections configures two nodes for different connection counts.
func TestConnectRejectsADifferentNumberOfConnections(t *testing.T) {
	t.Parallel()
	network := mem.New()
	ends := make([]transport.Transport, 2)
	for n := range ends {
		var err error
		if ends[n], err = network.Join(transport.Config{Self: transport.Hello{Node: bellows.NodeID(n), Token: transport.Token{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := ends[0].Listen("here")
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dialled := make(chan error, 1)
	go func() { // three connections, where two are expected: each is rejected, which the next read reports
		defer cancel()
		for i := range uint8(3) {
			c, err := ends[1].Number(i, 3).Dial(ctx, "here")
			if err == nil {
				_, _, err = c.ReadFrame()
			}
			if !errors.Is(err, io.EOF) {
				dialled <- fmt.Errorf("connection %d: %w", i, err)
				return
			}
		}
		dialled <- nil
	}()
	_, err = Connect(ctx, ends[0], l, join.Cluster{Nodes: 2, Connections: 2}, []string{"here", "there"}, liveness.Times{}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "node 1") {
		t.Errorf("error %v", err)
	}
	if err := <-dialled; err != nil {
		t.Error(err)
	}
}

// TestConnectNamesWhoIsMissing waits for a node that never comes.
func TestConnectNamesWhoIsMissing(t *testing.T) {
	t.Parallel()
	network := mem.New()
	tr, err := network.Join(transport.Config{Self: transport.Hello{Token: transport.Token{1}}})
	require.NoError(t, err)
	l, err := tr.Listen("here")
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Connect(ctx, tr, l, three(0), []string{"here", "a", "b"}, liveness.Times{}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "node 1, node 2") {
		t.Errorf("error %v", err)
	}
}
