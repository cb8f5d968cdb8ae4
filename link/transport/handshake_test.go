package transport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
)

// ends is what one side hears, and a record of what it says.
type ends struct {
	io.Reader
	io.Writer
}

func config(t *testing.T, node bellows.NodeID) Config {
	t.Helper()
	c, err := Config{Self: Hello{Token: Token{1}, Node: node}}.WithDefaults()
	require.NoError(t, err)
	return c
}

// TestRefusingKeepsTheToken checks that a listener does not reveal its token to a caller that it rejects.
func TestRefusingKeepsTheToken(t *testing.T) {
	t.Parallel()
	c := config(t, 2)
	c.Self.Token = Token([]byte("secret of a job!"))
	c.Admit = Only(1)
	stranger := Hello{Lowest: 1, Highest: 1, Node: 1, Token: Token{9}}
	other := Hello{Lowest: 1, Highest: 1, Node: 7, Token: c.Self.Token}
	newer := Hello{Lowest: 4, Highest: 4, Node: 1}
	for _, h := range []Hello{stranger, other, newer} {
		var said bytes.Buffer
		_, err := c.Answer(ends{bytes.NewReader(appendGreeting(nil, h, nil)), &said})
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.ByPeer || refusal.Peer.Node != h.Node {
			t.Errorf("node %d: %v", h.Node, err)
		}
		if bytes.Contains(said.Bytes(), c.Self.Token[:]) {
			t.Errorf("node %d received the token", h.Node)
		}
	}
}

// TestStrangersGetNoAnswer wants silence towards what does not speak the protocol.
func TestStrangersGetNoAnswer(t *testing.T) {
	t.Parallel()
	c := config(t, 2)
	for in, want := range map[string]string{
		strings.Repeat("GET / HTTP/1.1\r\n", 5): "another program",
		"BELLOWS\n":                             "unexpected EOF",
		"":                                      "unexpected EOF",
	} {
		var said bytes.Buffer
		if _, err := c.Answer(ends{strings.NewReader(in), &said}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
		if said.Len() > 0 {
			t.Errorf("%q was answered with %x", in, said.Bytes())
		}
	}
}

// TestGreetingMustStay wants the third greeting to be the first one again.
func TestGreetingMustStay(t *testing.T) {
	t.Parallel()
	c := config(t, 2)
	first := Hello{Lowest: 1, Highest: 1, Node: 1, Token: Token{1}}
	changed := first
	changed.Node = 5
	in := appendGreeting(appendGreeting(nil, first, nil), changed, nil)
	if _, err := c.Answer(ends{bytes.NewReader(in), io.Discard}); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	token := Token{1}
	for want, c := range map[string]Config{
		"token is missing": {},
		"lowest":           {Self: Hello{Token: token, Lowest: 3, Highest: 2}},
		"negative":         {Self: Hello{Token: token}, GreetTimeout: -1},
		"is negative":      {Self: Hello{Token: token}, ReadSilence: -time.Second},
	} {
		if _, err := c.WithDefaults(); err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	c := config(t, 1)
	if c.GreetTimeout <= 0 || c.WriteStall <= 0 || c.ReadSilence != 0 || c.Self.Highest != VersionHighest {
		t.Errorf("the defaults are %+v", c)
	}
}

// TestBothSidesLearnOfEachOther lets two nodes shake hands over a pipe, for connection 2 of 3. The listener repeats
// that, and each has the other's Hello without the token.
func TestBothSidesLearnOfEachOther(t *testing.T) {
	t.Parallel()
	dialler, listener := config(t, 1), config(t, 2)
	dialler.Self.Number, dialler.Self.Of = 2, 3
	dialler.Admit, listener.Admit = Only(2), Only(1)
	a, b := net.Pipe()
	var heard Hello
	var failed error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		heard, failed = listener.Answer(b)
	}()
	peer, err := dialler.Greet(a)
	<-answered
	if want := (Hello{Lowest: 1, Highest: 1, Node: 2, Number: 2, Of: 3}); err != nil || peer != want {
		t.Errorf("the dialler hears %+v, %v; want %+v", peer, err, want)
	}
	if want := dialler.Self.bare(); failed != nil || heard != want {
		t.Errorf("the listener hears %+v, %v; want %+v", heard, failed, want)
	}
}

// TestRefusalSaysWhatWasWrong rejects a node for each reason: both sides have the same sentence.
func TestRefusalSaysWhatWasWrong(t *testing.T) {
	t.Parallel()
	const newer = ": run the same release on both"
	for want, change := range map[string]func(h *Hello){
		"node 1 speaks protocol versions 4 to 6, but node 2 speaks protocol version 1" + newer: func(h *Hello) { h.Lowest, h.Highest = 4, 6 },
		"node 1 speaks protocol version 2, but node 2 speaks protocol version 1" + newer:       func(h *Hello) { h.Lowest, h.Highest = 2, 2 },
		"node 1 has not the token of node 2: they are of different jobs":                       func(h *Hello) { h.Token[3]++ },
		"node 9 is not expected by node 2: it waits for node 1":                                func(h *Hello) { h.Node = 9 },
	} {
		dialler, listener := config(t, 1), config(t, 2)
		listener.Admit = Only(1)
		change(&dialler.Self)
		a, b := net.Pipe()
		answered := make(chan error)
		go func() {
			_, err := listener.Answer(b)
			answered <- err
		}()
		_, err := dialler.Greet(a)
		refused := <-answered
		there, here := (*Refusal)(nil), (*Refusal)(nil)
		if !errors.As(err, &here) || !here.ByPeer || here.Sentence != want {
			t.Errorf("the dialler has %v, want %q", err, want)
		}
		if !errors.As(refused, &there) || there.ByPeer || there.Sentence != want || there.Peer != dialler.Self.bare() {
			t.Errorf("the listener has %v, want %q", refused, want)
		}
	}
}

// TestAnotherEraIsRefused shakes hands between two nodes with one token, one of which does not know of a rollback.
// Whichever side calls, both get the reason, by name.
func TestAnotherEraIsRefused(t *testing.T) {
	t.Parallel()
	for _, eras := range [][2]bellows.Era{{1, 2}, {2, 1}, {2, 2}} {
		near, far := net.Pipe()
		a, b := config(t, 1), config(t, 2)
		a.Self.Era, b.Self.Era = eras[0], eras[1]
		answered := make(chan error, 1)
		go func() {
			_, err := b.Answer(far)
			answered <- err
		}()
		_, called := a.Greet(near)
		for i, err := range []error{called, <-answered} {
			refusal := (*Refusal)(nil)
			switch {
			case eras[0] == eras[1] && err != nil:
				t.Errorf("of one era: %v", err)
			case eras[0] != eras[1] && (!errors.As(err, &refusal) || refusal.Reason != StaleEra || refusal.ByPeer != (i == 0) ||
				!strings.Contains(err.Error(), "node 1 is of era") || !strings.Contains(err.Error(), "a rollback has ended")):
				t.Errorf("eras %v, side %d: %v", eras, i, err)
			}
		}
		near.Close()
		far.Close()
	}
}
