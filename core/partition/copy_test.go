package partition_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/partition"
	"bellows/core/partition/partitiontest"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// fed is a destination of a copy that lasts, as a backup would be one.
type fed struct {
	r      *rig
	node   bellows.NodeID
	of     *partition.Partition
	copy   *partition.Copy
	source *handoff.Source
	to     *partition.Partition
	pieces []*wire.Piece
	begun  uint64 // copies
}

// begin begins a copy of the partition that the rig drives now.
func (f *fed) begin() {
	f.begun++
	m := &wire.Handoff{Term: 1, Number: f.begun, Pair: f.r.p.Pair(), Node: f.node}
	f.source = handoff.NewSource(m, f.begun, handoff.Limits{Slab: 7, Window: 200, Behind: 1 << 20})
	f.of, f.copy, f.to, f.pieces = f.r.p, partition.NewCopy(f.r.p), f.r.make(true, 0), nil
	var fx partition.Effects
	f.copy.Offer(f.source, 1, &fx)
	f.to.In.Target = handoff.NewTarget(self, fx.Sends[0].Message.(*wire.Piece))
	f.copy.Begin()
}

// feed sends what may be sent, and delivers some pieces.
func (f *fed) feed(most int) {
	f.r.t.Helper()
	var fx partition.Effects
	if f.copy.Feed(&fx) {
		f.r.t.Fatal("more is on its way than may be")
	}
	for _, s := range fx.Sends {
		if s.To.Node != f.node {
			f.r.t.Fatalf("a message to %v", s.To)
		}
		f.pieces = append(f.pieces, s.Message.(*wire.Piece))
	}
	for ; len(f.pieces) > 0 && most > 0; most-- {
		m := f.pieces[0]
		f.pieces = f.pieces[1:]
		number := m.Number
		require.NoError(f.r.t, f.to.TakePiece(m, new(partition.Effects)))
		f.source.Taken(number)
	}
}

// check delivers everything, and compares the bits and those of the image that was kept.
func (f *fed) check() {
	f.r.t.Helper()
	for more := true; more; {
		sent, waiting := f.source.Sent(), len(f.pieces)
		f.feed(1 << 20)
		more = waiting > 0 || f.source.Sent() > sent
	}
	var want, got rowstore.Image
	f.of.State.Save(&want)
	f.to.State.Save(&got)
	if !partitiontest.Same(&want, &got) {
		f.r.t.Fatalf("the copy at node %d has %v, not %v", f.node, got, want)
	}
	if kept := f.of.State.Kept(); kept != nil && !partitiontest.Same(kept, f.to.State.Kept()) {
		f.r.t.Fatalf("node %d has another image that was kept", f.node)
	}
}

// TestCopiesLast feeds two destinations of one partition through records, clocks, leases, images, cuts and moves. Each
// has no end, is fed at its own pace, and has the bits of the partition. After a move the next owner feeds them.
func TestCopiesLast(t *testing.T) {
	t.Parallel()
	for _, c := range []table.Consistency{table.BSP, table.Async} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, keys %v", c, sparse), func(t *testing.T) {
				t.Parallel()
				moves, begun := 0, uint64(0)
				for seed := range uint64(20) {
					r := newRig(t, seed, sparse, c, 0)
					all := [2]*fed{{r: r, node: 20}, {r: r, node: 21}}
					for range 600 {
						r.step()
						for i, f := range all {
							if f.of != r.p {
								f.begin()
							}
							if r.rng.IntN(2+4*i) == 0 {
								f.feed(r.rng.IntN(20))
							}
						}
					}
					r.finish()
					for _, f := range all {
						if f.of != r.p {
							f.begin()
						}
						f.check()
						begun += f.begun
					}
					moves += r.moves
				}
				if moves < 20 || begun != uint64(2*moves+40) {
					t.Errorf("%d moves, %d copies", moves, begun)
				}
			})
		}
	}
}
