package partition

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Ledger is what the audit learns of a partition (package audit; docs/decisions/0027): a reader of
// its log. It counts bits where they are taken and given to the store, the store counts what it
// writes, and the two must agree (TestTheAuditSeesLossesInside).
type Ledger struct {
	Sample audit.Sample // the clocks in which bits are summed

	of      bellows.PartitionID
	width   int
	store   *rowstore.Store
	taken   audit.Sum        // chunks that were given to the store or taken into sums; slabs at the end of leases
	yielded audit.Sum        // chunks and sums of them that were given to the store
	joined  int64            // rows that became part of others in sums
	carried audit.Sum        // chunks that came with an image
	rows    int64            // of these
	before  rowstore.Written // by the copy of the partition to this lane, which counts elsewhere
}

// Before adds up the bits that are about to be written.
func (g *Ledger) Before(c *Change) {
	if (c.Kind != Delta && c.Kind != Sum) || !g.Sample.Contains(c.Clock) {
		return
	}
	if c.Chunk == nil {
		g.yielded += g.store.Bits(c.Rows, c.Deltas) // its chunks were taken one by one
		return
	}
	bits := g.chunk(c.Chunk)
	g.taken += bits
	g.yielded += bits
}

// After adds up the bits that the holder of a lease has written.
func (g *Ledger) After(c *Change) {
	if c.Kind == LeaseEnd && g.Sample.Contains(c.Clock) {
		g.taken += g.store.Bits(nil, g.store.Values())
	}
}

// take adds a chunk, alone in a buffer, before it becomes part of a sum.
func (g *Ledger) take(b *delta.Buffer) { g.taken += g.store.Bits(b.Chunk()) }

// carry counts a chunk that came with an image, as if the lane had sent it.
func (g *Ledger) carry(c *wire.Chunk, clock bellows.Clock) {
	if planted.On("half-uncounted") {
		return
	}
	g.rows += int64(len(c.Values) / g.width)
	if g.Sample.Contains(clock) {
		g.carried += g.chunk(c)
	}
}

// Carried returns how many rows of deltas came with an image. Their bits are in the ledger of Count, as sent.
func (g *Ledger) Carried() int64 { return g.rows }

// chunk returns the sum over a chunk as its client made it: by keys where it has keys.
func (g *Ledger) chunk(c *wire.Chunk) audit.Sum {
	if c.Keys != nil {
		return audit.Keys(g.of, g.width, c.Keys, c.Values)
	}
	return audit.Rows(g.of, g.width, c.Rows, c.Values)
}

// restart counts from now on: what was written before counts elsewhere.
func (g *Ledger) restart(before rowstore.Written) {
	g.taken, g.yielded, g.joined, g.before = 0, 0, 0, before
}

// Count returns what the partition has counted while it was this lane's, and how many rows of deltas
// were applied and dropped. Chunks that still wait are dropped: deltas of clocks that do not complete, and
// those that leases keep out. Leases are out at the end of jobs that failed, and of no others; the
// state of such a job, which would have what they keep out (ApplyDeferred), is not asked for.
func (p *Partition) Count() (l audit.Ledger, applied, dropped int64) {
	g, w := &p.Ledger, p.State.store.Written()
	for _, list := range [][]Entry{p.backlog.open, p.backlog.deferred} {
		for i := range list {
			e := &list[i]
			if e.kind != chunkEntry {
				continue
			}
			dropped += int64(len(e.Chunk.Values) / g.width)
			if g.Sample.Contains(e.Clock) {
				l.Dropped += g.chunk(e.Chunk)
			}
		}
	}
	l.Sent = g.carried
	l.Taken, l.Yielded, l.Written = g.taken, g.yielded, w.Bits-g.before.Bits
	return l, w.Rows - g.before.Rows + g.joined, dropped
}
