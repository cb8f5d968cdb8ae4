package node

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// intake is a mesh of which only the receiving half is there: frames of node 1 for a lane that forgets them.
type intake struct {
	mesh *mesh
	from *peer
	in   wire.Outbox
}

func newIntake(t testing.TB) *intake {
	t.Helper()
	job := train.Job{Tables: []table.Schema{{Name: "w", Rows: 1 << 16, Width: 16, Partitions: 4}}, Splits: 2,
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}
	c := Cluster{Members: []Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}}
	p := &process{job: &job, cluster: c, bus: newBus(0, nil, func() {})}
	if err := p.agree(); err != nil {
		t.Fatal(err)
	}
	p.bus.add(wire.LaneAt(0, 0), func(batch []wire.Envelope, _ *wire.Outbox) {
		for _, e := range batch {
			wire.Free(e.Message)
		}
	})
	return &intake{mesh: &mesh{bus: p.bus, checker: p.newChecker()}, from: &peer{node: 1}}
}

// pushOf is the frame of a push of some rows, and its header.
func pushOf(t testing.TB, rows int) (wire.Header, []byte) {
	t.Helper()
	m := &wire.Push{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, Pairs: []wire.Pair{{Generation: 1}}}
	c := wire.Chunk{Pair: wire.Pair{Generation: 1}, Subtree: wire.Subtree{Index: 1}, Values: make([]float32, 16*rows)}
	for r := range rows {
		c.Rows = append(c.Rows, uint32(rows-r))
	}
	m.Chunks = append(m.Chunks, c)
	var b wire.Batch
	if err := b.Add(wire.Envelope{From: wire.ClientAt(1), To: wire.LaneAt(0, 0), Message: m}); err != nil {
		t.Fatal(err)
	}
	frame := slices.Concat(b.Buffers()...)
	h, err := wire.ParseHeader(frame)
	if err != nil {
		t.Fatal(err)
	}
	return h, frame[wire.HeaderSize:]
}

// take delivers a frame, with the checker or as if there was none.
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

// BenchmarkTake is the price of a push from its payload to its lane's step, without the socket: once as it is, once
// without the checker.
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
