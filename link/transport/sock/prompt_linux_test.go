package sock_test

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
)

// prompts returns both ends of a connection, over each network.
func prompts(t *testing.T) map[string][2]transport.NonBlockingConn {
	t.Helper()
	ends := map[string][2]transport.NonBlockingConn{}
	for name, address := range map[string]string{"tcp": "tcp:127.0.0.1:0", "unix": "unix:" + filepath.Join(private(t), "s")} {
		l := listen(t, node(2), address)
		var near transport.Conn
		dialled := make(chan error)
		go func() {
			var err error
			near, err = open(t, node(1)).Dial(t.Context(), l.Address())
			dialled <- err
		}()
		far, err := l.Accept(t.Context())
		require.NoError(t, errors.Join(err, <-dialled))
		t.Cleanup(func() { near.Close(); far.Close() })
		ends[name] = [2]transport.NonBlockingConn{near.(transport.NonBlockingConn), far.(transport.NonBlockingConn)}
	}
	return ends
}

// rows returns a frame of values, as buffers.
func rows(t *testing.T, request uint64, values int) [][]byte {
	t.Helper()
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{Message: &wire.Rows{Request: request, Parts: []wire.RowsPart{{Values: make([]float32, values)}}}}))
	return slices.Clone(b.Buffers())
}

// TestTryFramesKeepsOrder writes frames without waiting, until the system takes no more, and then the rest with
// waiting. All arrive, complete and in order.
func TestTryFramesKeepsOrder(t *testing.T) {
	t.Parallel()
	for name, ends := range prompts(t) {
		sent, rest := uint64(0), [][]byte(nil)
		for len(rest) == 0 { // no reader yet, so that this ends
			rest = ends[0].TryFrames(rows(t, sent, 100_000))
			sent++
		}
		written := make(chan error)
		go func() { written <- ends[0].WriteFrames(rest) }()
		for want := range sent {
			h, payload, err := ends[1].ReadFrame()
			if err != nil {
				t.Fatal(name, err)
			}
			e, err := wire.Decode(h, payload)
			if err != nil {
				t.Fatal(name, err)
			}
			if got := e.Message.(*wire.Rows).Request; got != want {
				t.Fatalf("%s: frame %d came as number %d", name, got, want)
			}
		}
		if err := <-written; err != nil {
			t.Fatal(name, err)
		}
		if rest := ends[0].TryFrames(rows(t, sent, 1)); len(rest) > 0 { // after a write with a deadline
			t.Errorf("%s: a small frame did not leave at once", name)
		}
	}
}

// TestManyBuffersLeaveInOrder gives one write more buffers and more bytes than one system call takes.
func TestManyBuffersLeaveInOrder(t *testing.T) {
	t.Parallel()
	const frames = 300
	for name, ends := range prompts(t) {
		var all [][]byte
		for i := range uint64(frames) {
			all = append(all, rows(t, i, 1<<(i%16))...)
		}
		written := make(chan error)
		go func() { written <- ends[0].WriteFrames(all) }()
		for want := range uint64(frames) {
			h, payload, err := ends[1].ReadFrame()
			require.NoError(t, err)
			e, err := wire.Decode(h, payload)
			require.NoError(t, err)
			m := e.Message.(*wire.Rows)
			if m.Request != want || len(m.Parts[0].Values) != 1<<(want%16) {
				t.Fatalf("%s: frame %d came as number %d with %d values", name, want, m.Request, len(m.Parts[0].Values))
			}
		}
		if err := <-written; err != nil {
			t.Fatal(name, err)
		}
	}
}

// TestTriesReportInTheNextWrite closes a connection while the other side tries to write.
func TestTriesReportInTheNextWrite(t *testing.T) {
	t.Parallel()
	for name, ends := range prompts(t) {
		if err := ends[0].Close(); err != nil {
			t.Fatal(name, err)
		}
		rest := ends[0].TryFrames(rows(t, 1, 10))
		if len(rest) == 0 {
			t.Fatalf("%s: a closed connection took a frame", name)
		}
		if err := ends[0].WriteFrames(rest); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the write after it: %v", name, err)
		}
	}
}

// TestBeforeWaitIsCalled answers from within a read, whenever the read has to wait.
func TestBeforeWaitIsCalled(t *testing.T) {
	t.Parallel()
	const questions = 20
	for name, ends := range prompts(t) {
		waits, answered := make(chan bool, 1), 0
		ends[1].BeforeWait(func() {
			select {
			case waits <- true:
			default:
			}
			for ; answered > 0; answered-- {
				if rest := ends[1].TryFrames(rows(t, 7, 1)); len(rest) > 0 {
					t.Errorf("%s: an answer did not leave at once", name)
				}
			}
		})
		read := make(chan error)
		go func() {
			for range questions {
				if _, _, err := ends[1].ReadFrame(); err != nil {
					read <- err
					return
				}
				answered++
			}
			_, _, err := ends[1].ReadFrame()
			read <- err
		}()
		<-waits
		for range questions {
			if err := ends[0].WriteFrames(rows(t, 1, 3)); err != nil {
				t.Fatal(name, err)
			}
			if _, _, err := ends[0].ReadFrame(); err != nil {
				t.Fatal(name, err)
			}
		}
		if err := ends[0].Close(); err != nil {
			t.Fatal(name, err)
		}
		if err := <-read; err == nil {
			t.Errorf("%s: a read continued after the peer had closed", name)
		}
	}
}
