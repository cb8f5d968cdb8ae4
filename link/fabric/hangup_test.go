package fabric

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/wire"
)

// TestClientKeepsAPush sends a push to a node whose connection has ended. Its client keeps the push to send it again,
// so that no other message may reuse its memory.
func TestClientKeepsAPush(t *testing.T) {
	t.Parallel()
	near, far := joined(t, mem.New().Join, "")
	lane := wire.Address{Role: wire.Lane}
	x := exchangeOf(1, []transport.Conn{near, nil}, func(Loss) {}, wire.Address{Node: 1}, func([]wire.Envelope, *wire.Outbox) {})
	if err := far.Close(); err != nil {
		t.Error(err)
	}
	x.Close()
	for range 100 {
		kept := wire.New[wire.Push]()
		kept.Flush = bellows.FlushID{Client: 1, Seq: 7}
		kept.Chunks = append(kept.Chunks, wire.Chunk{Values: []float32{1, 2, 3}})
		x.Send(wire.Address{Node: 1}, lane, kept)
		if kept.Flush.Seq != 7 || len(kept.Chunks) != 1 {
			t.Fatalf("the client's push is now %+v", kept)
		}
		if next := wire.New[wire.Push](); next == kept {
			t.Fatal("two flushes have one push")
		}
	}
}

// TestSecondCallIsRejected calls twice from a node of which one connection is expected: one of the two stays, and the
// other is closed.
func TestSecondCallIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := mem.New()
		var ends [3]transport.Transport
		for n := range ends {
			var err error
			if ends[n], err = network.Join(transport.Config{Self: transport.Hello{Node: bellows.NodeID(n), Token: transport.Token{1}}}); err != nil {
				t.Fatal(err)
			}
		}
		l, err := ends[0].Listen("here")
		require.NoError(t, err)
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		read := make(chan error, 2)
		go func() {
			for range cap(read) {
				c, err := ends[1].Dial(ctx, "here")
				if err != nil {
					t.Error(err)
					return
				}
				go func() {
					_, _, err := c.ReadFrame()
					read <- err
				}()
			}
			synctest.Wait()
			if _, err := ends[2].Dial(ctx, "here"); err != nil {
				t.Error(err)
			}
		}()
		conns, err := Connect(ctx, ends[0], l, three(0), []string{"here", "", ""}, liveness.Times{}, func(string) {})
		require.NoError(t, err)
		synctest.Wait()
		if len(read) != 1 || !errors.Is(<-read, io.EOF) {
			t.Errorf("one of two is ended, and of %d that is known", len(read))
		}
		if err := conns[1].WriteFrames([][]byte{frame(t, wire.Address{}, wire.Address{Node: 1}, &wire.Held{})}); err != nil {
			t.Error(err)
		}
		if err := <-read; err != nil {
			t.Errorf("the other does not stand: %v", err)
		}
		for _, c := range conns[1:] {
			c.Close()
		}
		l.Close()
	})
}

// TestCloseBeforeTheFirstFrameSaysBye closes an exchange before the other node's first frame has arrived: when it
// arrives, the other node receives the goodbye at once.
func TestCloseBeforeTheFirstFrameSaysBye(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := joined(t, mem.New().Join, "")
		x := exchangeOf(1, []transport.Conn{near, nil}, func(Loss) {}, wire.Address{Node: 1}, func([]wire.Envelope, *wire.Outbox) {})
		var closed atomic.Bool
		go func() {
			x.Close()
			closed.Store(true)
		}()
		synctest.Wait()
		if closed.Load() {
			t.Error("it is closed, and nothing was heard of the other node")
		}
		if err := far.WriteFrames([][]byte{frame(t, wire.Address{}, wire.Address{}, &wire.Resume{Process: 7})}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !closed.Load() {
			t.Error("it is not closed when the other node has been heard")
		}
		for _, want := range []wire.Message{&wire.Resume{}, &wire.Bye{}} {
			h, _, err := far.ReadFrame()
			if kind := (wire.Envelope{Message: want}).Kind(); err != nil || h.Kind != kind {
				t.Errorf("%v, %v; want kind %d", h, err, kind)
			}
		}
		if _, _, err := far.ReadFrame(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last word: %v", err)
		}
		far.Close()
	})
}

// TestCloseWaitsOneSecondForSilence closes an exchange while the other node does not send its first frame: a second
// later it is closed.
func TestCloseWaitsOneSecondForSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := joined(t, mem.New().Join, "")
		x := exchangeOf(1, []transport.Conn{near, nil}, func(Loss) {}, wire.Address{Node: 1}, func([]wire.Envelope, *wire.Outbox) {})
		began := time.Now()
		x.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("closed after %v, want 1 s", took)
		}
		far.Close()
	})
}

// TestByeOnOneConnectionEndsNoOther joins two nodes by two connections. After node 0's goodbye on one, node 1 still
// receives messages on the other, and loses node 0 with the last of them.
func TestByeOnOneConnectionEndsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, farFirst := joined(t, mem.New().Join, "")
		second, farSecond := joined(t, mem.New().Join, "")
		heard, lost := 0, 0
		x := exchangeOf(1, []transport.Conn{first, second}, func(Loss) { lost++ },
			wire.Address{Node: 1}, func(batch []wire.Envelope, _ *wire.Outbox) { heard += len(batch) })
		last := func(c transport.Conn, say ...[]byte) {
			t.Helper()
			hello, bye := frame(t, wire.Address{}, wire.Address{}, &wire.Resume{Process: 7}), frame(t, wire.Address{}, wire.Address{}, &wire.Bye{})
			err := c.WriteFrames(append(append([][]byte{hello}, say...), bye))
			synctest.Wait() // the other end's first frame has left: it would find the connection closed
			if err := errors.Join(err, c.Close()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		last(farSecond)
		if lost != 0 {
			t.Error("node 0 is lost with one of two connections, which it ended in peace")
		}
		last(farFirst, frame(t, wire.ControllerAt(), wire.Address{Node: 1}, &wire.End{}))
		if heard != 1 || lost != 1 {
			t.Errorf("%d messages arrived on the other, and node 0 is lost %d times", heard, lost)
		}
		x.Close()
	})
}
