// Package transporttest is the test suite that every transport must pass. The test of an implementation calls Run with
// three functions. One makes a transport for a Config. One returns an address on which no process listens yet. One
// connects to an address and sends nothing until the test ends. All transports of one run must be able to reach each
// other's addresses.
//
// The suite waits for events, never for a time: where a time must pass, it is a deadline of the transport itself.
package transporttest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/link/transport"
	"bellows/link/wire"
)

// Open makes the transport of one node, or fails the test.
type Open func(t *testing.T, c transport.Config) transport.Transport

// Stranger opens a stream to an address, says nothing, and leaves it open until the test ends.
type Stranger func(t *testing.T, address string)

// Run holds an implementation to the suite.
func Run(t *testing.T, open Open, address func(t *testing.T) string, stranger Stranger) {
	t.Helper()
	s := suite{open, address, stranger}
	for _, c := range []struct {
		name string
		test func(suite, *testing.T)
	}{
		{"frames arrive in order", suite.order},
		{"large frames", suite.large},
		{"many small frames in one write", suite.small},
		{"small writes do not wait for the reader", suite.buffered},
		{"both directions at once", suite.duplex},
		{"concurrent connections", suite.concurrent},
		{"messages in parts", suite.parts},
		{"half a frame", suite.half},
		{"garbage", suite.garbage},
		{"a length over the limit", suite.oversized},
		{"introductions", suite.introductions},
		{"refusals", suite.refusals},
		{"silent callers", suite.silentCallers},
		{"known callers keep their places", suite.known},
		{"nobody listens", suite.nobody},
		{"nobody accepts", suite.unaccepted},
		{"close unblocks", suite.unblocks},
		{"close unblocks a write", suite.unblocksWrite},
		{"a peer that is gone", suite.peerGone},
		{"a peer that stops reading", suite.stalled},
		{"a peer that says nothing", suite.silent},
		{"listeners end", suite.listenerEnds},
		{"contexts end", suite.contextsEnd},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); c.test(s, t) })
	}
}

type suite struct {
	open     Open
	address  func(t *testing.T) string
	stranger Stranger
}

// token is the secret of the suite's job.
var token = transport.Token{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// as returns the configuration of one node.
func configFor(node bellows.NodeID, number uint8) transport.Config {
	return transport.Config{Self: transport.Hello{Token: token, Node: node, Number: number}}
}

// listen opens a listener for a node, until the test ends.
func (s suite) listen(t *testing.T, c transport.Config) transport.Listener {
	t.Helper()
	l, err := s.open(t, c).Listen(s.address(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// meeting is what the two sides of one attempt to connect came to.
type meeting struct {
	dialled, accepted transport.Conn
	dialErr, acceptEr error
}

// meet dials once, and accepts until that has come to something: others may have knocked before.
func (s suite) meet(t *testing.T, l transport.Listener, dialler transport.Config) (m meeting) {
	t.Helper()
	tr := s.open(t, dialler)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(done)
		m.dialled, m.dialErr = tr.Dial(t.Context(), l.Address())
		if refusal := (*transport.Refusal)(nil); m.dialErr != nil && !errors.As(m.dialErr, &refusal) {
			cancel()
		}
	}()
	for refusal := (*transport.Refusal)(nil); ; {
		m.accepted, m.acceptEr = l.Accept(ctx)
		if m.acceptEr == nil || errors.As(m.acceptEr, &refusal) || ctx.Err() != nil {
			break
		}
	}
	<-done
	for _, c := range []transport.Conn{m.dialled, m.accepted} {
		if c != nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	return m
}

// pair returns a connection from node 1 to node 2, both ends.
func (s suite) pair(t *testing.T, near, far transport.Config) (dialled, accepted transport.Conn) {
	t.Helper()
	m := s.meet(t, s.listen(t, far), near)
	if m.dialErr != nil || m.acceptEr != nil {
		t.Fatalf("dial: %v; accept: %v", m.dialErr, m.acceptEr)
	}
	return m.dialled, m.accepted
}

// frame returns an encoded frame of a Rows message that carries n values, seeded by request.
func frame(t *testing.T, request uint64, n int) []byte {
	t.Helper()
	values := make([]float32, n)
	rng := rand.New(rand.NewPCG(request, uint64(n)))
	for i := range values {
		values[i] = rng.Float32()
	}
	return encode(t, &wire.Rows{Request: request, Parts: []wire.RowsPart{{Values: values}}})
}

// encode returns the frame of a message from lane 3 of node 1 to the client of node 2.
func encode(t *testing.T, m wire.Message) []byte {
	t.Helper()
	return encodeFrom(t, wire.Address{Node: 1, Role: wire.Lane, Index: 3}, m)
}

func encodeFrom(t *testing.T, from wire.Address, m wire.Message) []byte {
	t.Helper()
	var b wire.Batch
	e := wire.Envelope{From: from, To: wire.Address{Node: 2}, Message: m}
	if err := b.Add(e); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(b.Buffers()...)
}

// expect reads a frame and compares it with the bytes that were sent.
func expect(t *testing.T, c transport.Conn, want []byte) {
	t.Helper()
	h, payload, err := c.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	sent, err := wire.ParseHeader(want)
	if err != nil {
		t.Fatal(err)
	}
	if h != sent || !slices.Equal(payload, want[wire.HeaderSize:]) {
		t.Fatalf("%v arrived with %d bytes, %v was sent with %d", h, len(payload), sent, len(want)-wire.HeaderSize)
	}
	if _, err := wire.Decode(h, payload); err != nil {
		t.Fatal(err)
	}
}

// write sends buffers or fails the test. It may be called from any goroutine.
func write(t *testing.T, c transport.Conn, buffers ...[]byte) {
	t.Helper()
	if err := c.WriteFrames(buffers); err != nil {
		t.Error(err)
	}
}

// failed wants an error that is target and names the peer.
func failed(t *testing.T, c transport.Conn, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("want an error that is %q, got %v", target, err)
	}
	if !strings.Contains(err.Error(), c.Remote()) {
		t.Fatalf("the error does not name %s: %v", c.Remote(), err)
	}
}

// together runs functions at once and waits for all.
func runConcurrently(fs ...func()) {
	var all sync.WaitGroup
	for _, f := range fs {
		all.Go(f)
	}
	all.Wait()
}

// ended returns a context that is over.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
