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

// countMissed counts, when nothing more can come, the parts that have never counted. Those of a client
// that is not the job's, of an earlier process, and of a client that was lost are in no account.
func (l *Lane) countMissed() {
	list := l.flushes.Missed()
	for i := range list {
		id := list[i].Flush
		newest := l.clients.Newest(wire.ClientAt(id.Client))
		if newest == 0 || id.Incarnation < newest || l.ending.Lost(id.Client) && !planted.On("lost-missed-counted") {
			continue
		}
		l.ending.Drop(&list[i])
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

// countPartition adds what a partition has counted while it was this lane's.
func (l *Lane) countPartition(p *partition) {
	w := p.store.Written()
	dropped := p.countUnapplied()
	l.ending.Count(p.ref.Table, w.Rows-p.before.Rows+p.joined, dropped,
		&audit.Ledger{Taken: p.taken, Dropped: p.dropped, Yielded: p.yielded, Written: w.Bits - p.before.Bits})
}
