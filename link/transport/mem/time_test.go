package mem_test

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/wire"
)

// pair returns a connection from node 1 to node 2, both ends.
func pair(t *testing.T, near, far transport.Config) (dialled, accepted transport.Conn) {
	t.Helper()
	network := mem.New()
	join := func(c transport.Config, node bellows.NodeID) transport.Transport {
		c.Self = transport.Hello{Node: node, Token: transport.Token{1}}
		tr, err := network.Join(c)
		require.NoError(t, err)
		return tr
	}
	l, err := join(far, 2).Listen("")
	require.NoError(t, err)
	defer l.Close()
	met := make(chan error)
	go func() {
		c, err := join(near, 1).Dial(t.Context(), l.Address())
		dialled = c
		met <- err
	}()
	accepted, err = l.Accept(t.Context())
	require.NoError(t, errors.Join(err, <-met))
	return dialled, accepted
}

// TestStallIsTimeWithoutProgress reads a little every nine seconds for minutes, and then no more.
func TestStallIsTimeWithoutProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near := transport.Config{WriteStall: 10 * time.Second}
		a, b := pair(t, near, transport.Config{})
		beat := encode(t)
		wrote := make(chan error)
		begin := time.Now()
		go func() {
			for {
				if err := a.WriteFrames([][]byte{beat}); err != nil {
					wrote <- err
					return
				}
			}
		}()
		const reads, frames = 30, 3000 // each time more bytes than are held on the way
		tick := time.NewTicker(9 * time.Second)
		for range reads {
			<-tick.C
			for range frames {
				if _, _, err := b.ReadFrame(); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := <-wrote
		if took := time.Since(begin); !errors.Is(err, os.ErrDeadlineExceeded) || took != (reads*9+10)*time.Second {
			t.Errorf("the write failed after %v: %v", took, err)
		}
	})
}

// TestSilenceIsTimeWithoutBytes sends a beat every nine seconds, and then no more.
func TestSilenceIsTimeWithoutBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near := transport.Config{ReadSilence: 10 * time.Second}
		a, b := pair(t, near, transport.Config{})
		begin := time.Now()
		go func() {
			tick := time.NewTicker(9 * time.Second)
			defer tick.Stop()
			for range 5 {
				<-tick.C
				b.WriteFrames([][]byte{encode(t)})
			}
		}()
		for range 5 {
			if _, _, err := a.ReadFrame(); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := a.ReadFrame()
		if took := time.Since(begin); !errors.Is(err, os.ErrDeadlineExceeded) || took != 55*time.Second {
			t.Errorf("the read failed after %v: %v", took, err)
		}
	})
}

// encode returns the frame of a beat.
func encode(t *testing.T) []byte {
	var b wire.Batch
	if err := b.Add(wire.Envelope{Message: &wire.Beat{}}); err != nil {
		t.Error(err)
		return nil
	}
	return b.Buffers()[0]
}
