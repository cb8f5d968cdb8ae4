package sock

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"bellows/internal/require"
	"bellows/link/transport"
)

// taker is a connection that takes at most a number of bytes before each deadline passes.
type taker struct {
	net.Conn
	took  bytes.Buffer
	calls int
	takes func(offered int) int
	until time.Time // the deadline
}

func (c *taker) SetWriteDeadline(t time.Time) error { c.until = t; return nil }

func (c *taker) Write(b []byte) (int, error) {
	c.calls++
	n := min(len(b), c.takes(len(b)))
	c.took.Write(b[:n])
	if n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

func writer(c net.Conn) *conn {
	return newConn(c, nil, transport.Config{WriteStall: time.Second}, transport.Hello{}, "here")
}

// TestWritesKeepOrder joins and hands over buffers of all sizes, twice over the same connection.
func TestWritesKeepOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	to := &taker{takes: func(n int) int { return n }}
	c := writer(to)
	for range 2 {
		to.took.Reset()
		var buffers [][]byte
		for range 3000 {
			b := make([]byte, rng.IntN(1<<rng.IntN(15)))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			buffers = append(buffers, b)
		}
		require.NoError(t, c.WriteFrames(buffers))
		if !bytes.Equal(to.took.Bytes(), slices.Concat(buffers...)) {
			t.Fatal("other bytes arrived than were sent")
		}
	}
}

// TestSmallBuffersLeaveTogether counts writes.
func TestSmallBuffersLeaveTogether(t *testing.T) {
	t.Parallel()
	to := &taker{takes: func(n int) int { return n }}
	buffers := slices.Repeat([][]byte{make([]byte, 50)}, 1000)
	if err := writer(to).WriteFrames(buffers); err != nil || to.calls != 1 {
		t.Errorf("1000 buffers of 50 bytes took %d writes, %v", to.calls, err)
	}
}

// TestSlowIsNotStalled takes few bytes in each interval for longer than any deadline, and then none.
func TestSlowIsNotStalled(t *testing.T) {
	t.Parallel()
	slow := &taker{takes: func(int) int { return 7 }}
	if err := writer(slow).WriteFrames([][]byte{make([]byte, 500), make([]byte, 9000), make([]byte, 3)}); err != nil || slow.took.Len() != 9503 {
		t.Errorf("%d bytes arrived: %v", slow.took.Len(), err)
	}
	left := 600
	stops := &taker{takes: func(offered int) int { n := min(left, 7, offered); left -= n; return n }}
	c := writer(stops)
	for range 2 {
		err := c.WriteFrames([][]byte{make([]byte, 500), make([]byte, 9000)})
		if !errors.Is(err, os.ErrDeadlineExceeded) || stops.took.Len() != 600 {
			t.Errorf("%d bytes arrived: %v", stops.took.Len(), err)
		}
	}
}

// TestADeadlineEndsWithItsWrite writes to a fast and to a slow peer, and checks that no deadline is left. After an idle
// time, an old deadline would make TryFrames fail.
func TestADeadlineEndsWithItsWrite(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]func(int) int{"at once": func(n int) int { return n }, "slowly": func(int) int { return 70 }} {
		to := &taker{takes: takes, until: time.Unix(1, 0)}
		if err := writer(to).WriteFrames([][]byte{make([]byte, 500), make([]byte, 9000)}); err != nil || !to.until.IsZero() {
			t.Errorf("%s: after the write its deadline is %v, %v", name, to.until, err)
		}
	}
}
