package fabric

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/validate"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// intake is a mesh with only its receiving half: frames of node 1 for a lane that drops them.
type intake struct {
	mesh *Mesh
	from *peer
	in   wire.Outbox
}

func newIntake(t testing.TB) *intake {
	t.Helper()
	tables, lanes, clients := []table.Schema{{Name: "w", Rows: 1 << 16, Width: 16, Partitions: 4}}, []wire.Address{wire.LaneAt(0, 0)}, []bellows.NodeID{0, 1}
	job := core.Job{Controller: wire.ControllerAt(), Nodes: 2, Lanes: lanes, Clients: route.Clients(clients), Tables: tables,
		Route: route.Spread(tables, 2, lanes, clients), Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}
	b := newBus(0, nil, func() {})
	t.Cleanup(b.Close)
	b.Add(wire.LaneAt(0, 0), func(batch []wire.Envelope, _ *wire.Outbox) {
		for _, e := range batch {
			wire.Free(e.Message)
		}
	})
	return &intake{mesh: &Mesh{bus: b, checker: validate.New(job, 0)}, from: &peer{node: 1}}
}

// pushOf returns the frame of a push of some rows, and its header.
func pushOf(t testing.TB, rows int) (wire.Header, []byte) {
	t.Helper()
	m := &wire.Push{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, Pairs: []wire.Pair{{Generation: 1}}}
	c := wire.Chunk{Pair: wire.Pair{Generation: 1}, Subtree: wire.Subtree{Index: 1}, Values: make([]float32, 16*rows)}
	for r := range rows {
		c.Rows = append(c.Rows, uint32(rows-r))
	}
	m.Chunks = append(m.Chunks, c)
	all := frame(t, wire.ClientAt(1), wire.LaneAt(0, 0), m)
	h, err := wire.ParseHeader(all)
	require.NoError(t, err)
	return h, all[wire.HeaderSize:]
}

// take delivers a frame, with or without the checker.
func (k *intake) take(h wire.Header, frame []byte, checked bool) error {
	payload := h.Payload()
	copy(payload, frame)
	if checked {
		err := k.mesh.take(k.from, h, payload, &k.in)
		k.mesh.bus.Drain()
		return err
	}
	e, err := wire.Decode(h, payload)
	if err != nil {
		return err
	}
	k.in.Envelopes = append(k.in.Envelopes[:0], e)
	k.mesh.bus.Enqueue(&k.in)
	k.mesh.bus.Drain()
	return nil
}

// BenchmarkTake measures a push from its payload to its lane's step, without the socket: with and without the checker.
func BenchmarkTake(b *testing.B) {
	for _, rows := range []int{14, 963, 15420} { // payloads of 1 KiB, 64 KiB and 1 MiB
		for _, checked := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d rows checked %v", rows, checked), func(b *testing.B) {
				k := newIntake(b)
				h, frame := pushOf(b, rows)
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				for b.Loop() {
					if err := k.take(h, frame, checked); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
