package transporttest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/link/transport"
	"bellows/link/transport/acceptor"
)

func (s suite) introductions(t *testing.T) {
	far := configFor(2, 0)
	far.Self.Lowest, far.Self.Highest = 1, 5
	near := configFor(7, 3)
	near.Admit = transport.Only(2)
	a, b := s.pair(t, near, far)
	if p := b.Peer(); p.Node != 7 || p.Number != 3 || p.Highest != transport.VersionHighest || p.Token != (transport.Token{}) {
		t.Errorf("the dialling side is %+v", p)
	}
	if p := a.Peer(); p.Node != 2 || p.Number != 3 || p.Highest != 5 || p.Token != (transport.Token{}) {
		t.Errorf("the listening side is %+v", p)
	}
	if !strings.Contains(a.Remote(), "node 2") || !strings.Contains(b.Remote(), "node 7") {
		t.Errorf("the peers are called %q and %q", a.Remote(), b.Remote())
	}
}

// refusals wants the same printable sentence on both sides, and a listener that continues.
func (s suite) refusals(t *testing.T) {
	far := configFor(2, 0)
	far.Admit = transport.Only(1)
	l := s.listen(t, far)
	because := func(why string) func(transport.Hello) error {
		return func(transport.Hello) error { return errors.New(why) }
	}
	for name, c := range map[string]struct {
		dialler func(*transport.Config)
		reason  transport.Reason
		refuser bellows.NodeID
	}{
		"newer":              {func(c *transport.Config) { c.Self.Lowest, c.Self.Highest = 7, 9 }, transport.WrongVersion, 2},
		"of another job":     {func(c *transport.Config) { c.Self.Token[15]++ }, transport.WrongToken, 2},
		"another node":       {func(c *transport.Config) { c.Self.Node = 4 }, transport.Unexpected, 2},
		"wants another node": {func(c *transport.Config) { c.Admit = transport.Only(6) }, transport.Unexpected, 1},
		"at length":          {func(c *transport.Config) { c.Admit = because(strings.Repeat("é", 400)) }, transport.Unexpected, 1},
		"in colours":         {func(c *transport.Config) { c.Admit = because("\x1b[31mno\r\n\xff") }, transport.Unexpected, 1},
	} {
		dialler := configFor(1, 0)
		c.dialler(&dialler)
		m := s.meet(t, l, dialler)
		var near, far *transport.Refusal
		if !errors.As(m.dialErr, &near) || !errors.As(m.acceptEr, &far) {
			t.Fatalf("%s: dial: %v; accept: %v", name, m.dialErr, m.acceptEr)
		}
		if near.Reason != c.reason || far.Reason != c.reason || near.ByPeer != (c.refuser == 2) || far.ByPeer == near.ByPeer {
			t.Errorf("%s: refused for %d (by its peer: %v) and %d (%v)", name, near.Reason, near.ByPeer, far.Reason, far.ByPeer)
		}
		if near.Peer.Node != 2 || far.Peer.Node != dialler.Self.Node || near.Peer.Token != far.Peer.Token {
			t.Errorf("%s: the refused are %+v and %+v", name, near.Peer, far.Peer)
		}
		said := near.Sentence
		if said != far.Sentence || len(said) > 255 || strings.ContainsAny(said, "\x1b\r\n") || !strings.Contains(said, "node 2") {
			t.Errorf("%s: one side prints %q, the other %q", name, said, far.Sentence)
		}
		if bellows.KindOf(m.dialErr) != bellows.Refused || bellows.KindOf(m.acceptEr) != bellows.Refused {
			t.Errorf("%s: the kinds are %d and %d", name, bellows.KindOf(m.dialErr), bellows.KindOf(m.acceptEr))
		}
	}
	if m := s.meet(t, l, configFor(1, 0)); m.dialErr != nil || m.acceptEr != nil {
		t.Fatalf("after refusals: dial: %v; accept: %v", m.dialErr, m.acceptEr)
	}
}

// patient returns a configuration whose handshakes do not time out during a test.
func patient(node bellows.NodeID) transport.Config {
	c := configFor(node, 0)
	c.GreetTimeout = time.Hour
	return c
}

// silentCallers connect before a node does, as many as a listener has places, and then more. They send nothing for
// longer than the test may take.
func (s suite) silentCallers(t *testing.T) {
	l := s.listen(t, patient(2))
	if _, err := l.Accept(ended(t)); err == nil { // the listener's work has begun
		t.Error("accepted nobody")
	}
	for n := range acceptor.MaxCallers + 5 {
		s.stranger(t, l.Address())
		if n >= acceptor.MaxCallers { // the oldest makes room
			if _, err := l.Accept(t.Context()); err == nil || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "token") {
				t.Errorf("unknown caller %d was rejected: %v", n-acceptor.MaxCallers, err)
			}
		}
	}
	if m := s.meet(t, l, patient(1)); m.dialErr != nil || m.acceptEr != nil {
		t.Errorf("dial: %v; accept: %v", m.dialErr, m.acceptEr)
	}
}

// known begins a handshake, lets unknown callers come until they evict each other, and ends the handshake.
func (s suite) known(t *testing.T) {
	l := s.listen(t, patient(2))
	if _, err := l.Accept(ended(t)); err == nil {
		t.Error("accepted nobody")
	}
	answered, goOn := make(chan struct{}), make(chan struct{})
	slow := patient(1)
	slow.Admit = func(transport.Hello) error {
		close(answered)
		<-goOn
		return nil
	}
	var dialled transport.Conn
	var dialErr error
	runConcurrently(
		func() { dialled, dialErr = s.open(t, slow).Dial(t.Context(), l.Address()) },
		func() {
			<-answered
			for n := range acceptor.MaxCallers + 2 {
				s.stranger(t, l.Address())
				if n < acceptor.MaxCallers-1 {
					continue
				}
				if _, err := l.Accept(t.Context()); err == nil || !strings.Contains(err.Error(), "token") {
					t.Errorf("unknown caller %d was rejected: %v", n-acceptor.MaxCallers+1, err)
				}
			}
			close(goOn)
			c, err := l.Accept(t.Context())
			if err != nil {
				t.Errorf("accept: %v", err)
				return
			}
			t.Cleanup(func() { c.Close() })
		},
	)
	if dialErr != nil {
		t.Fatalf("dial: %v", dialErr)
	}
	dialled.Close()
}

func (s suite) nobody(t *testing.T) {
	l := s.listen(t, configFor(2, 0))
	l.Close()
	c, err := s.open(t, configFor(1, 0)).Dial(t.Context(), l.Address())
	if c != nil || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), l.Address()) {
		t.Errorf("dialled %v, %v", c, err)
	}
}

// unaccepted dials a listener that shakes no hands.
func (s suite) unaccepted(t *testing.T) {
	l := s.listen(t, configFor(2, 0))
	hasty := configFor(1, 0)
	hasty.GreetTimeout = 20 * time.Millisecond
	c, err := s.open(t, hasty).Dial(t.Context(), l.Address())
	if c != nil || !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), l.Address()) {
		t.Errorf("dialled %v, %v", c, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if c, err = s.open(t, configFor(1, 0)).Dial(ctx, l.Address()); c != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialled %v, %v", c, err)
	}
}

func (s suite) unblocks(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	for _, c := range []transport.Conn{a, b} {
		var err error
		runConcurrently(
			func() { _, _, err = c.ReadFrame() },
			func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			},
		)
		if c == a {
			failed(t, c, err, net.ErrClosed)
		}
		failed(t, c, c.WriteFrames([][]byte{{1}}), net.ErrClosed)
		if err := c.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	}
}

func (s suite) unblocksWrite(t *testing.T) {
	a, _ := s.pair(t, configFor(1, 0), configFor(2, 0))
	f := frame(t, 1, 100_000)
	begun := make(chan struct{})
	var err error
	runConcurrently(
		func() {
			write(t, a, f[:100])
			close(begun)
			err = flood(a, f)
		},
		func() {
			<-begun
			a.Close()
		},
	)
	failed(t, a, err, net.ErrClosed)
}

// peerGone closes one end while the other writes and reads.
func (s suite) peerGone(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	f := frame(t, 1, 100_000)
	var wrote, read error
	runConcurrently(
		func() { wrote = flood(a, f) },
		func() { _, _, read = a.ReadFrame() },
		func() { expect(t, b, f); b.Close() },
	)
	failed(t, a, wrote, io.ErrUnexpectedEOF)
	if !errors.Is(read, io.ErrUnexpectedEOF) {
		failed(t, a, read, io.EOF)
	}
}

func (s suite) listenerEnds(t *testing.T) {
	l := s.listen(t, configFor(2, 0))
	m := s.meet(t, l, configFor(1, 0))
	if m.dialErr != nil || m.acceptEr != nil {
		t.Fatalf("dial: %v; accept: %v", m.dialErr, m.acceptEr)
	}
	if _, err := s.open(t, configFor(3, 0)).Listen(l.Address()); bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), l.Address()) {
		t.Errorf("a second listener: %v", err)
	}
	waiting := func() {
		for { // the second listener may have knocked
			_, err := l.Accept(t.Context())
			if errors.Is(err, net.ErrClosed) && strings.Contains(err.Error(), l.Address()) {
				return
			}
		}
	}
	runConcurrently(waiting, waiting, func() {
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	f := frame(t, 1, 10)
	write(t, m.dialled, f) // connections live on
	expect(t, m.accepted, f)
	again, err := s.open(t, configFor(3, 0)).Listen(l.Address())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func (s suite) contextsEnd(t *testing.T) {
	l := s.listen(t, configFor(2, 0))
	if _, err := s.open(t, configFor(1, 0)).Dial(ended(t), l.Address()); !errors.Is(err, context.Canceled) {
		t.Errorf("dial: %v", err)
	}
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var errs [2]error
		runConcurrently(
			func() { _, errs[0] = l.Accept(ctx) },
			func() { _, errs[1] = l.Accept(ctx) },
			cancel,
		)
		for _, err := range errs {
			if err == nil || bellows.KindOf(err) != bellows.Unavailable {
				t.Errorf("accept: %v", err)
			}
		}
	}
	if m := s.meet(t, l, configFor(1, 0)); m.dialErr != nil || m.acceptEr != nil {
		t.Fatalf("after contexts that ended: dial: %v; accept: %v", m.dialErr, m.acceptEr)
	}
}
