package server

import (
	"bellows"
	"bellows/core/audit"
	"bellows/link/wire"
)

// What the audit is told: every row delta that clients send is applied or dropped at one lane, and
// so are the bits of its values (package audit; docs/decisions/0027). What is dropped is counted
// where it is given up: at the end of the job, behind a fence, refused for want of rows, or ahead
// of the route when no more records come. TestEndAccountsForEverything and
// TestTheAuditSeesLossesInside hold this, and the audit of every schedule.

// pushRows counts the row deltas of a push: the rows of its chunks, and every row of an exclusive lease.
func pushRows(m *wire.Push, l *Lane) int64 {
	n := 0
	for i := range m.Chunks {
		c := &m.Chunks[i]
		n += len(c.Values) / l.cfg.Tables[c.Ref.Table].Width
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		n += len(e.Values) / l.cfg.Tables[e.Ref.Table].Width
	}
	return int64(n)
}

// bits is what a push would add to the ledgers if it never counted, but for partitions that have not come here.
func (l *Lane) bits(m *wire.Push) []audit.Ledger {
	list := make([]audit.Ledger, len(l.cfg.Tables))
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if p := l.at(c.Ref); p != nil {
			list[c.Ref.Table].Dropped += p.bits(c, m.Clock)
		}
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		if p := l.at(e.Ref); p != nil {
			list[e.Ref.Table].Dropped += p.slabBits(e.Values, m.Clock)
		}
	}
	return list
}

// bits is the audit's sum over a chunk as its client made it: by keys where it has keys, so that it
// does not depend on the numbers that rows have here; 0 where the clock is not in the sample.
func (p *partition) bits(c *wire.Chunk, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	if c.Keys != nil {
		return audit.Keys(p.ref.Partition, p.schema.Width, c.Keys, c.Values)
	}
	return audit.Rows(p.ref.Partition, p.schema.Width, c.Rows, c.Values)
}

// slabBits is the audit's sum over values of the whole partition; 0 where the clock is not in the sample.
func (p *partition) slabBits(values []float32, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	return p.store.Bits(nil, values)
}

// countDropped counts a push that never counts, once: who drops it forgets it, or notes that it was
// (forgo).
func (l *Lane) countDropped(rows int64, bits []audit.Ledger) {
	l.counts.Dropped += rows
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, bits)
}

// countUnapplied counts, when the job is over, what waits here and is not written: deltas of clocks
// that will not complete, and those that leases keep out. Leases are out at the end of jobs that
// failed, and of no others: nobody asks for the state of such a job, which would have what leases
// kept out (applyDeferred).
func (p *partition) countUnapplied() (rows int64) {
	for _, list := range [][]entry{p.later, p.deferred} {
		for _, e := range list {
			if e.chunk >= 0 {
				c := &e.flush.push.Chunks[e.chunk]
				rows += int64(len(c.Values) / p.schema.Width)
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
		w := p.store.Written()
		l.counts.Applied += w.Rows + p.joined
		l.counts.Dropped += p.countUnapplied()
		l.counts.Ledgers[p.ref.Table].Add(&audit.Ledger{Taken: p.taken, Dropped: p.dropped, Yielded: p.yielded, Written: w.Bits})
	}
}
