package server

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
)

// What the audit is told: every row delta that clients send is applied or dropped at one lane, and so are the bits of its values (package audit;
// docs/decisions/0027). What is dropped is counted where it is given up: at the end of the job, behind a fence, or refused for want of rows; of what has come
// several times, where it came first (missed). TestEndAccountsForEverything and TestTheAuditSeesLossesInside hold this, and the audit of every schedule.

// missed is a part of a flush as it came here first, and was not held, or is no more: refused, since its partition is another lane's, or without room. Where the
// flush never gets a number it is dropped here. What is sent again counts nowhere: so each part counts once, wherever it went (TestWhatIsSentAgainIsDroppedOnce).
type missed = wire.Missed

// parts are what a push has for each partition. What comes again has none.
func (l *Lane) parts(m *wire.Push) (list []missed) {
	if m.Again && !planted.On("again-counted") {
		return nil
	}
	add := func(ref bellows.PartitionRef, values int, bits audit.Sum) {
		i := slices.IndexFunc(list, func(o missed) bool { return o.Ref == ref })
		if i < 0 {
			i = len(list)
			list = append(list, missed{Flush: m.Flush, Ref: ref})
		}
		list[i].Rows += int64(values / l.cfg.Tables[ref.Table].Width)
		list[i].Bits += bits
	}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		add(c.Ref, len(c.Values), l.bits(c, m.Clock))
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		bits := audit.Sum(0)
		if l.sample(e.Ref).Has(m.Clock) {
			bits = audit.Rows(e.Ref.Partition, l.cfg.Tables[e.Ref.Table].Width, nil, e.Values)
		}
		add(e.Ref, len(e.Values), bits)
	}
	return list
}

// sample is the clocks in which a partition's bits are summed, though it never was here.
func (l *Lane) sample(ref bellows.PartitionRef) audit.Sample {
	if p := l.at(ref); p != nil {
		return p.sample
	}
	values := 0
	if s := &l.cfg.Tables[ref.Table]; !s.Sparse {
		first, end := l.cfg.Route.Cut(ref.Table).Rows(ref.Partition)
		values = int(end-first) * s.Width
	}
	return audit.SampleOf(ref, values)
}

// miss takes note of parts that are not held here and may come again elsewhere. Those that it knows it passes over. It reports whether there is room for so many.
func (l *Lane) miss(list []missed) bool {
	for _, one := range list {
		if !l.counted.Has(one.Flush) && !slices.ContainsFunc(l.missed, func(o missed) bool { return o.Flush == one.Flush && o.Ref == one.Ref }) {
			l.missed = append(l.missed, one)
		}
	}
	return len(l.missed) <= missedMost
}

// missedMost bounds what a client can have refused.
const missedMost = 1 << 20

// forgetMissed takes note that a flush has a number, so that nothing of it is dropped.
func (l *Lane) forgetMissed(id bellows.FlushID) {
	if len(l.missed) > 0 {
		l.missed = slices.DeleteFunc(l.missed, func(o missed) bool { return o.Flush == id })
	}
	if len(l.waiting) > 0 { // what waits of it has come elsewhere
		l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool { return w.flush == id })
	}
}

// drop takes note that a push never counts, unless the flush gets a number: once, however often it comes.
func (l *Lane) drop(m *wire.Push) { l.miss(l.parts(m)) }

// countMissed counts, when nothing more can come, what has never counted.
func (l *Lane) countMissed() {
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, make([]audit.Ledger, len(l.cfg.Tables)))
	for _, one := range l.missed {
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
func (l *Lane) bits(c *wire.Chunk, clock bellows.Clock) audit.Sum {
	if !l.sample(c.Ref).Has(clock) {
		return 0
	}
	return chunkBits(c, l.cfg.Tables[c.Ref.Table].Width)
}

// bits is that of a chunk for the partition.
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
