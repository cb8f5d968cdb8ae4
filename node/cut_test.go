package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"bellows"
	"bellows/link/transport"
	"bellows/node"
	"bellows/train"
)

// flakyConn is a connection that breaks after so many writes.
type flakyConn struct {
	transport.Conn
	mu   sync.Mutex
	left int
}

func (c *flakyConn) WriteFrames(b [][]byte) error {
	c.mu.Lock()
	c.left--
	broken := c.left < 0
	c.mu.Unlock()
	if broken {
		return errors.Join(errors.New("cut by the test"), c.Close())
	}
	return c.Conn.WriteFrames(b)
}

// flaky is a transport whose connections break after so many writes, up to some number of them.
type flaky struct {
	transport.Transport
	writes int
	breaks *breaks
}

// breaks counts the connections that are to break.
type breaks struct {
	mu   sync.Mutex
	left int
	made int
}

func (b *breaks) wrap(c transport.Conn, writes int) transport.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	if b.left == 0 {
		return c
	}
	b.left--
	return &flakyConn{Conn: c, left: writes}
}

func (f flaky) Dial(ctx context.Context, address string) (transport.Conn, error) {
	c, err := f.Transport.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return f.breaks.wrap(c, f.writes), nil
}

func (f flaky) Number(n, of uint8) transport.Transport {
	f.Transport = f.Transport.Number(n, of)
	return f
}

// TestBrokenConnectionsAreRemade breaks connections again and again: the job continues without effect, with the bits of
// one process.
func TestBrokenConnectionsAreRemade(t *testing.T) {
	t.Parallel()
	const rounds = 60
	one := runAlone(t, busy(rounds), node.Options{})
	for name, members := range shapes {
		for _, connections := range []int{1, 3} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := &breaks{left: 40}
				r := gang{members: members, connections: connections, redial: true, job: func(bellows.NodeID) train.Job { return busy(rounds) },
					dial: func(tr transport.Transport) transport.Transport { return flaky{tr, 7, b} }}.done(t)
				for i := range one.Tables {
					if !slices.Equal(r.Tables[i], one.Tables[i]) {
						t.Errorf("table %d ends at %v, one node at %v", i, r.Tables[i], one.Tables[i])
					}
				}
				if r.Audit.Sent == 0 || r.Audit.Sent != r.Audit.Applied || r.Audit.Dropped != 0 {
					t.Errorf("audit %+v", r.Audit)
				}
				if pairs := len(members) * (len(members) - 1) / 2 * connections; b.made <= pairs {
					t.Errorf("%d connections were made: none has broken", b.made)
				}
			})
		}
	}
}
