package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
)

// pair returns both ends of a session. A message waits until the other end receives it.
func pair(t *testing.T) (a, b *Session) {
	x, y := net.Pipe()
	a, b = NewSession(x, strings.NewReader("")), NewSession(y, strings.NewReader(""))
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// TestAMessageTravels with all its fields, after bytes that were read early, and after heartbeats.
func TestAMessageTravels(t *testing.T) {
	t.Parallel()
	x, y := net.Pipe()
	a, b := NewSession(x, strings.NewReader("")), NewSession(y, strings.NewReader("\n{\"pid\":3}\n\n"))
	defer a.Close()
	defer b.Close()
	if m, err := b.Receive(); err != nil || m.PID != 3 {
		t.Errorf("what was read early: %+v, %v", m, err)
	}
	want := Message{Hello: &Hello{Node: "node-1", Slots: 2, PID: 7, Program: Program{Name: "x"}}, Process: 1 << 60, Say: []byte("line\n"), End: true, Kill: true, Said: []byte{0, 255},
		Over: &Over{How: "so"}, Run: "runs/a", Question: 3, Scale: &Grow{[]Place{{Node: "node-2", Slots: 1, Lanes: 2, Host: "h"}}}, Drain: &Drop{[]string{"node-1"}, 5}, Answer: &Reply{Sentences: []string{"done"}}}
	sent := make(chan error, 1)
	go func() { sent <- a.Send(want) }()
	got, err := b.Receive()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestForeignLinesAreRefused: lines that are not messages, have unknown fields, or are too long.
func TestForeignLinesAreRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bellows.Kind{
		`{"pid":1}`:                bellows.Bug,
		`{"pid":1} {"pid":2}`:      bellows.Refused,
		`{"pid":1,"oil":2}`:        bellows.Refused,
		`hello`:                    bellows.Refused,
		strings.Repeat(" ", 1<<21): bellows.Lost,
	} {
		x, y := net.Pipe()
		s := NewSession(x, strings.NewReader(line+"\n"))
		m, err := s.Receive()
		if line == `{"pid":1}` {
			if m.PID != 1 || err != nil {
				t.Errorf("%+v, %v", m, err)
			}
		} else if bellows.KindOf(err) != want || !strings.HasPrefix(err.Error(), "read from pipe: ") {
			t.Errorf("%.20s: %v", line, err)
		}
		s.Close()
		y.Close()
	}
}

// TestASessionEnds once, for both. Later calls fail with the loss of the other side; a message that is too long is the
// sender's error.
func TestASessionEnds(t *testing.T) {
	t.Parallel()
	x, y := connected(t)
	a, b := NewSession(x, strings.NewReader("")), NewSession(badClose{y}, strings.NewReader(""))
	if err := a.Send(Message{Run: strings.Repeat("x", lineMost)}); bellows.KindOf(err) != bellows.Bug || !strings.Contains(err.Error(), "at most 1048576") {
		t.Errorf("a line that is too long: %v", err)
	}
	go a.Send(Message{PID: 1})
	if m, err := b.Receive(); err != nil || m.PID != 1 {
		t.Errorf("and goes on: %+v, %v", m, err)
	}
	if err := b.Close(); !errors.Is(err, errBadClose) || b.Close() != nil {
		t.Errorf("closed: %v", err)
	}
	if _, err := a.Receive(); bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "the other side has ended") {
		t.Errorf("received: %v", err)
	}
	a.conn.Close()
	if err := a.Send(Message{}); bellows.KindOf(err) != bellows.Lost || !strings.HasPrefix(err.Error(), "send to 127.0.0.1:") {
		t.Errorf("sent: %v", err)
	}
	select {
	case <-a.over:
	default:
		t.Error("it is not over")
	}
}

// connected returns both ends of a connection.
func connected(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

type badClose struct{ net.Conn }

var errBadClose = errors.New("it does not close")

func (b badClose) Close() error { return errors.Join(b.Conn.Close(), errBadClose) }

// TestSilenceEndsASession: a side sends heartbeats while it lives. A silent side is lost, and so is one that does not
// read.
func TestSilenceEndsASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a, b := pair(t)
		first := make(chan error, 1)
		go func() {
			_, err := a.Receive()
			first <- err
		}()
		go b.Receive() // takes pulses
		<-time.After(10 * silenceMost)
		select {
		case err := <-first:
			t.Errorf("lost after %v: %v", time.Since(began), err)
		default:
		}
		b.quiet.Stop()
		began = time.Now()
		if err := <-first; bellows.KindOf(err) != bellows.Lost || time.Since(began) > silenceMost || time.Since(began) < silenceMost-pulseEvery {
			t.Errorf("lost after %v: %v", time.Since(began), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a, _ := pair(t)
		a.quiet.Stop()
		if err := a.Send(Message{PID: 1}); bellows.KindOf(err) != bellows.Lost || time.Since(began) != sendWithin {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		b, _ := pair(t)
		began = time.Now()
		<-b.over // a pulse without a reader
		if took := time.Since(began); took != pulseEvery+sendWithin {
			t.Errorf("over after %v", took)
		}
	})
}

// TestSidesHaveAddresses, where their connection has.
func TestSidesHaveAddresses(t *testing.T) {
	t.Parallel()
	conn, _ := connected(t)
	s := NewSession(addressed{conn}, strings.NewReader(""))
	defer s.Close()
	if s.Host() != "127.0.0.1" || s.Peer() != "127.0.0.9" {
		t.Errorf("%q, %q", s.Host(), s.Peer())
	}
	if a, _ := pair(t); a.Host() != "" || a.Peer() != "" {
		t.Errorf("%q, %q", a.Host(), a.Peer())
	}
}

// addressed comes from elsewhere.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9), Port: 1} }

// TestErrorsTravel as replies and as refusals, with their kind, sentence and hint. An error without a kind is a bug,
// and all text is printable.
func TestErrorsTravel(t *testing.T) {
	t.Parallel()
	for k := bellows.Bug; k <= bellows.Interrupted; k++ {
		e := bellows.Errorf(k, "do", "it", "%w", io.ErrUnexpectedEOF).Hinted("try again")
		r := Refusal(fmt.Errorf("around it: %w", e))
		for _, err := range []error{Failure(e).Err(), r.Err()} {
			var got *bellows.Error
			if !errors.As(err, &got) || got.Kind.ExitCode() != k.ExitCode() || got.Error() != e.Error() || got.Hint != e.Hint || got.Op != "do" || got.Subject != "it" {
				t.Errorf("%+v has become %+v", e, err)
			}
		}
	}
	if err := Failure(errors.New("so")).Err(); bellows.KindOf(err) != bellows.Bug || !strings.Contains(err.Error(), "so") {
		t.Errorf("unclassified: %v", err)
	}
	var bare *bellows.Error
	if err := Failure(&bellows.Error{Kind: bellows.Usage, Op: "do", Subject: "it"}).Err(); !errors.As(err, &bare) || bare.Err != nil {
		t.Errorf("without a reason: %+v", err)
	}
	if err := Failure(errors.New("a\x1b[2Jb")).Err(); bytes.ContainsRune([]byte(err.Error()), 0x1b) {
		t.Errorf("%q", err)
	}
	if err := (&Reply{}).Err(); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
}

// TestPromptSilenceDetection: a side is present while it sends, and lost within 3 s, but not within 2.5 s, after it is
// stopped.
func TestPromptSilenceDetection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		go a.Receive() // its pulses are taken
		a.Prompt()
		b.ExpectsPrompt()
		began := time.Now()
		time.AfterFunc(time.Minute, a.quiet.Stop)
		_, err := b.Receive()
		took := time.Since(began) - time.Minute
		if !errors.Is(err, os.ErrDeadlineExceeded) || took <= 2500*time.Millisecond || took > 3*time.Second {
			t.Errorf("it is missed %v after it was stopped: %v", took, err)
		}
	})
}

// asleep is a connection whose reader slept for longer than the other side may be silent: the time is over, and all
// messages that arrived meanwhile are there.
type asleep struct {
	net.Conn
	slept bool
}

func (c *asleep) Read(b []byte) (int, error) {
	if !c.slept {
		c.slept = true
		return 0, os.ErrDeadlineExceeded
	}
	return copy(b, "{\"pid\":3}\n"), nil
}

// TestSleepingReaderKeepsSession: what has come meanwhile is read first.
func TestSleepingReaderKeepsSession(t *testing.T) {
	t.Parallel()
	x, _ := net.Pipe()
	s := NewSession(&asleep{Conn: x}, strings.NewReader(""))
	defer s.Close()
	s.ExpectsPrompt()
	if m, err := s.Receive(); err != nil || m.PID != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}
