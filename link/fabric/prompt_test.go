package fabric

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bellows/core/liveness"
	"bellows/core/tally"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
)

// promptConn is a scriptConn that takes at once what it is given, and says before it waits for more.
type promptConn struct {
	scriptConn
	before func()
	hold   chan struct{} // a try ends when this can be received from; nil: at once
	tried  []int         // bytes of each try
}

func newPromptConn() *promptConn {
	return &promptConn{scriptConn: scriptConn{endConn: endConn{closed: make(chan struct{})}, frames: make(chan []byte, 999)}}
}

func (c *promptConn) BeforeWait(f func()) { c.before = f }

func (c *promptConn) TryFrames(b [][]byte) [][]byte {
	n := 0
	for _, x := range b {
		n += len(x)
	}
	c.tried = append(c.tried, n)
	if c.hold != nil {
		<-c.hold
	}
	_ = c.WriteFrames(b)
	return nil
}

func (c *promptConn) ReadFrame() (wire.Header, []byte, error) {
	if len(c.frames) == 0 {
		c.before()
	}
	return c.scriptConn.ReadFrame()
}

// post is a bus of node 0 with a lane, a mesh over one connection to node 1, and what comes to the lane.
type post struct {
	*Bus
	mesh    *Mesh
	batches [][]wire.Envelope
}

var postLane = wire.LaneAt(0, 0)

// startPost begins with what has come over the connection already.
func startPost(t *testing.T, conn transport.Conn, links *Links) *post {
	p := &post{mesh: NewMesh([]transport.Conn{nil, conn})}
	p.Bus = NewBus(0, 0, p.mesh)
	p.Add(postLane, func(batch []wire.Envelope, _ *wire.Outbox) { p.batches = append(p.batches, slices.Clone(batch)) })
	p.mesh.Start(p.Bus, Options{Checker: open{}, Links: links, Lost: func(Loss) {}})
	return p
}

// stop ends it without the leave of its other end.
func (p *post) stop() {
	for q := range p.mesh.peers() {
		q.hangUp()
	}
	p.mesh.Close()
	p.Bus.Close()
}

// TestManyFramesAreOneStep delivers 200 messages that wait at a connection: their actor runs after a fixed number of
// frames, and a last time before the reader waits for more.
func TestManyFramesAreOneStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newPromptConn()
		conn.receive(t, &wire.Resume{Process: 7})
		for range 200 {
			conn.frames <- frame(t, wire.ClientAt(1), postLane, &wire.Held{})
		}
		p := startPost(t, conn, nil)
		synctest.Wait()
		var got []int
		for _, b := range p.batches {
			got = append(got, len(b))
		}
		if want := []int{63, 64, 64, 9}; !slices.Equal(got, want) {
			t.Errorf("steps of %v messages, want %v", got, want)
		}
		p.stop()
	})
}

// TestTickAcknowledgesAFewMessages delivers a few messages, too few to acknowledge at once: a tick acknowledges them.
// All that arrived is counted.
func TestTickAcknowledgesAFewMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newScriptConn()
		came := [][]byte{frame(t, wire.ClientAt(1), wire.Address{}, &wire.Resume{Process: 7})}
		for range 3 {
			came = append(came, frame(t, wire.ClientAt(1), postLane, &wire.Held{}))
		}
		for _, f := range came {
			conn.frames <- f
		}
		p := startPost(t, conn, nil)
		synctest.Wait()
		conn.expectKinds(t, &wire.Resume{})
		p.mesh.Tick()
		synctest.Wait()
		conn.expectKinds(t, &wire.Resume{}, &wire.Ack{})
		var sent, received tally.Traffic
		p.mesh.Traffic(&sent, &received)
		var all tally.Flow
		for _, f := range received {
			all.Frames, all.Bytes = all.Frames+f.Frames, all.Bytes+f.Bytes
		}
		if want := int64(len(slices.Concat(came...))); all.Frames != 4 || all.Bytes != want {
			t.Errorf("counted %+v, want 4 frames of %d bytes", all, want)
		}
		p.stop()
	})
}

// TestMarkReturnsWhenMessagesBeforeItArrived sends a mark after a message: it returns to its sender when the other end
// acknowledges the message. A mark with nothing under way before it returns at once, and later messages are sent as
// usual.
func TestMarkReturnsWhenMessagesBeforeItArrived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newScriptConn()
		conn.receive(t, &wire.Resume{Process: 7})
		p := startPost(t, conn, nil)
		client := wire.ClientAt(1)
		back := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			n := 0
			for _, b := range p.batches {
				for _, e := range b {
					if _, mark := e.Message.(*wire.Mark); mark && e.From == client && e.To == postLane {
						n++
					}
				}
			}
			if n != want {
				t.Errorf("%s %d marks are back, want %d", when, n, want)
			}
		}
		p.Send(postLane, client, &wire.Held{})
		p.Send(postLane, client, &wire.Mark{Weight: 1})
		back("before the message has come", 0)
		ack := &wire.Ack{}
		ack.Received[session.Ordinary] = 1
		conn.receive(t, ack)
		back("when it has come", 1)
		p.Send(postLane, client, &wire.Mark{Weight: 2})
		back("behind nothing", 2)
		p.Send(postLane, client, &wire.Held{})
		synctest.Wait()
		conn.expectKinds(t, &wire.Resume{}, &wire.Held{}, &wire.Held{})
		p.stop()
	})
}

// TestALongMessageIsTheWriters sends a short message and one longer than a shipper may write: only the writer tries the
// second.
func TestALongMessageIsTheWriters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := newPromptConn()
		conn.receive(t, &wire.Resume{Process: 7})
		p := startPost(t, conn, nil)
		synctest.Wait()
		conn.tried = nil
		p.Send(postLane, wire.ClientAt(1), &wire.Held{})
		synctest.Wait()
		p.Send(wire.ClientAt(0), wire.LaneAt(1, 0), &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, tryMost/4)}}})
		synctest.Wait()
		if len(conn.tried) != 1 || len(conn.stream) < tryMost {
			t.Errorf("tried %v bytes at once; %d bytes have left", conn.tried, len(conn.stream))
		}
		p.stop()
	})
}

// stuckConn is a scriptConn whose writes end when the test allows it, with an error if it has one.
type stuckConn struct {
	*scriptConn
	hold chan error
}

func (c stuckConn) WriteFrames(b [][]byte) error {
	if err := <-c.hold; err != nil {
		return err
	}
	return c.scriptConn.WriteFrames(b)
}

// TestNextConnectionWaitsForTheWriting breaks a connection and has the other node call again while a shipper or the
// writer writes to the first: the second begins when that write has ended or failed.
func TestNextConnectionWaitsForTheWriting(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"on the way", "written", "failed"} {
		synctest.Test(t, func(t *testing.T) {
			second, calls := newScriptConn(), make(caller)
			prompt := newPromptConn()
			stuck := stuckConn{newScriptConn(), make(chan error, 1)}
			first, frames := transport.Conn(prompt), prompt.frames
			if how != "on the way" {
				first, frames = stuck, stuck.frames
			}
			frames <- frame(t, wire.ClientAt(1), wire.Address{}, &wire.Resume{Process: 7})
			stuck.hold <- nil // the first word leaves
			p := startPost(t, first, &Links{Listener: calls})
			synctest.Wait()
			prompt.hold = make(chan struct{})
			go p.Send(postLane, wire.ClientAt(1), &wire.Held{})
			synctest.Wait()
			close(frames)
			<-time.After(time.Second) // no call: the node of the higher number calls
			calls <- second
			synctest.Wait()
			if got := second.kinds(t); len(got) > 0 {
				t.Errorf("kinds %v leave over the second connection while the first is written to", got)
			}
			close(prompt.hold)
			if how == "failed" {
				stuck.hold <- errors.New("the cable is cut")
			}
			close(stuck.hold)
			synctest.Wait()
			second.expectKinds(t, &wire.Resume{})
			p.stop()
		})
	}
}

// TestAWriteThatFailsEndsItsConnection fails a write on a connection that receives nothing: the node is lost with the
// write's error as the reason.
func TestAWriteThatFailsEndsItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := stuckConn{newScriptConn(), make(chan error, 2)}
		conn.receive(t, &wire.Resume{Process: 7})
		conn.hold <- nil
		conn.hold <- errors.New("the cable is cut")
		m := NewMesh([]transport.Conn{nil, conn})
		b := NewBus(0, 0, m)
		b.Add(postLane, func([]wire.Envelope, *wire.Outbox) {})
		lost := make(chan Loss, 1)
		m.Start(b, Options{Checker: open{}, Lost: func(n Loss) { lost <- n }})
		synctest.Wait()
		b.Send(postLane, wire.ClientAt(1), &wire.Held{})
		if n := <-lost; n.Node != 1 || n.Breach || !strings.Contains(n.Reason, "the cable is cut") {
			t.Errorf("lost: %+v", n)
		}
		m.Close()
		b.Close()
	})
}

// TestRefusedPortIsGivenUpSoon breaks a connection to a node whose machine then refuses connections: the node is lost
// after a moment of refusals, and not only after the limit for silence.
func TestRefusedPortIsGivenUpSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := newScriptConn()
		var dialled []string
		m := NewMesh([]transport.Conn{nil, first})
		b := NewBus(2, 0, m)
		lost := make(chan time.Duration, 1)
		began := time.Now()
		m.Start(b, Options{Checker: open{}, Links: &Links{Listener: make(caller), Transport: dialler{err: syscall.ECONNREFUSED, dialled: &dialled}, Addresses: []string{"zero", "one", "two"}},
			Lost: func(Loss) { lost <- time.Since(began) }})
		close(first.frames)
		times := liveness.Times{}.Or()
		if after := (<-lost).Milliseconds(); after < times.Broken || after > times.Broken+500 || len(dialled) < 5 {
			t.Errorf("given up after %d ms and %d calls, want %d ms", after, len(dialled), times.Broken)
		}
		m.Close()
		b.Close()
	})
}

// dialler is a transport that is answered at the third call; err: never.
type dialler struct {
	transport.Transport
	conn    transport.Conn
	err     error
	dialled *[]string
}

func (d dialler) Number(number, of uint8) transport.Transport { return d }

func (d dialler) Dial(_ context.Context, address string) (transport.Conn, error) {
	*d.dialled = append(*d.dialled, address)
	switch {
	case d.err != nil:
		return nil, d.err
	case len(*d.dialled) < 3:
		return nil, errors.New("a cable is cut")
	}
	return d.conn, nil
}

// TestNodeOfHigherNumberCallsAgain breaks a connection of node 2 to node 1: node 2 calls node 1's address until it is
// answered.
func TestNodeOfHigherNumberCallsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := newScriptConn(), newScriptConn()
		var dialled []string
		m := NewMesh([]transport.Conn{nil, first})
		b := NewBus(2, 0, m)
		m.Start(b, Options{Checker: open{}, Links: &Links{Listener: make(caller), Transport: dialler{conn: second, dialled: &dialled}, Addresses: []string{"zero", "one", "two"}},
			Lost: func(Loss) {}})
		close(first.frames)
		<-time.After(time.Second)
		synctest.Wait()
		if want := []string{"one", "one", "one"}; !slices.Equal(dialled, want) {
			t.Errorf("calls %q, want %q", dialled, want)
		}
		second.expectKinds(t, &wire.Resume{})
		for p := range m.peers() {
			p.hangUp()
		}
		m.Close()
		b.Close()
	})
}

// TestPlacesIsOneMoreThanCompute raises how many goroutines run at a time, and never lowers it.
func TestPlacesIsOneMoreThanCompute(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, c := range []struct{ computing, places int }{{2, 3}, {3, 4}, {1, 4}, {6, 7}} {
		if Places(c.computing); runtime.GOMAXPROCS(0) != c.places {
			t.Errorf("beside %d that compute there are %d places, want %d", c.computing, runtime.GOMAXPROCS(0), c.places)
		}
	}
}
