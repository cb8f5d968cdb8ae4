package node

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// stuckConn takes nothing, and nothing comes over it.
type stuckConn struct {
	closed chan struct{}
	once   sync.Once
}

func (c *stuckConn) WriteFrames([][]byte) error { <-c.closed; return nil }

func (c *stuckConn) ReadFrame() (wire.Header, []byte, error) {
	<-c.closed
	return wire.Header{}, nil, net.ErrClosed
}

func (c *stuckConn) Close() error        { c.once.Do(func() { close(c.closed) }); return nil }
func (*stuckConn) Remote() string        { return "node 1" }
func (*stuckConn) Peer() transport.Hello { return transport.Hello{Node: 1} }

// TestUnreadAnswersAreBounded makes a peer ask for a partition of a MiB 300 times and read no answer: what the node keeps for it is bounded.
func TestUnreadAnswersAreBounded(t *testing.T) {
	conn := &stuckConn{closed: make(chan struct{})}
	job := train.Job{Tables: []table.Schema{{Name: "w", Rows: 1 << 18, Width: 1, Partitions: 1}}, Splits: 2, Driver: &train.Clocks{Splits: 2, Count: 1},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return nil, nil },
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}
	c := Cluster{Members: []Member{{Slots: 0, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 0}}}
	m := fabric.NewMesh([]transport.Conn{nil, conn})
	p, err := assemble(&job, c, m, Options{})
	require.NoError(t, err)
	p.start(func(fabric.Loss) {}, nil, nil)
	defer p.close()
	defer conn.Close()
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before := heap()
	var in wire.Outbox
	for i := range 300 {
		pull := &wire.Pull{Request: uint64(i + 1), Incarnation: 1, Need: wire.Need{Clock: -1}, Parts: []wire.PullPart{{Pair: wire.Pair{Generation: 1}}}}
		in.Envelopes = append(in.Envelopes[:0], wire.Envelope{From: wire.ClientAt(1), To: wire.LaneAt(0, 0), Message: pull})
		p.bus.Enqueue(&in)
		p.bus.Drain()
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("a peer that does not read makes the node keep %d MiB", grown>>20)
	}
}
