package server

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The audit counts every row delta that clients send as applied or dropped at one lane, and so the bits of
// its values (package audit, docs/decisions/0027). Partitions and stores count the deltas that are applied.
// At the end of the job the lane counts as dropped the parts that it has missed (package prepare).
// TestEndAccountsForEverything and TestTheAuditSeesLossesInside hold this, and the audit of every schedule.

// countMissed counts, when nothing more can come, what has never counted.
func (l *Lane) countMissed() {
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, make([]audit.Ledger, len(l.cfg.Tables)))
	for _, one := range l.flushes.Missed() {
		of := l.clients.Newest(wire.ClientAt(one.Flush.Client))
		if of == 0 || one.Flush.Incarnation < of || l.buried(one.Flush) && !planted.On("lost-missed-counted") { // nobody's of the job, or of a process that is no more
			continue
		}
		l.counts.Dropped += one.Rows
		l.counts.Ledgers[one.Ref.Table].Dropped += one.Bits
	}
}

// bits is the audit's sum over a chunk as its client made it: by keys where it has keys, so that it
// does not depend on the numbers that rows have here; 0 where the clock is not in the sample.
func (p *partition) bits(c *wire.Chunk, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	return chunkBits(c, p.width)
}

func chunkBits(c *wire.Chunk, width int) audit.Sum {
	if c.Keys != nil {
		return audit.Keys(c.Ref.Partition, width, c.Keys, c.Values)
	}
	return audit.Rows(c.Ref.Partition, width, c.Rows, c.Values)
}

// slabBits is the audit's sum over values of the whole partition; 0 where the clock is not in the sample.
func (p *partition) slabBits(values []float32, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	return p.store.Bits(nil, values)
}

// countUnapplied counts, when the job is over, what waits here and is not written: deltas of clocks that will not complete, and those that leases keep out. Leases
// are out at the end of jobs that failed, and of no others: nobody asks for the state of such a job, which would have what leases kept out (applyDeferred).
func (p *partition) countUnapplied() (rows int64) {
	for _, list := range [][]entry{p.later, p.deferred} {
		for _, e := range list {
			if e.chunk >= 0 {
				c := &e.flush.push.Chunks[e.chunk]
				rows += int64(len(c.Values) / p.width)
				p.dropped += p.bits(c, e.clock)
			}
		}
	}
	return rows
}

// count adds up what the partitions and their stores have counted.
func (l *Lane) count() {
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, make([]audit.Ledger, len(l.cfg.Tables)))
	for _, p := range l.owned {
		l.countPartition(p)
	}
}

// countPartition adds what one has counted while it was this lane's.
func (l *Lane) countPartition(p *partition) {
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, make([]audit.Ledger, len(l.cfg.Tables)))
	w := p.store.Written()
	l.counts.Applied += w.Rows - p.before.Rows + p.joined
	l.counts.Dropped += p.countUnapplied()
	l.counts.Ledgers[p.ref.Table].Add(&audit.Ledger{Taken: p.taken, Dropped: p.dropped, Yielded: p.yielded, Written: w.Bits - p.before.Bits})
}
