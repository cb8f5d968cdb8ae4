package server

import (
	"math"
	"slices"

	"bellows"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The second phase: the controller has decided. takeRecord is read downwards. Progress comes first,
// so that what is applied knows which clocks are complete; then the flush's parts are applied, or
// wait, in its partitions; then a clock that this record completes is made visible, in all
// partitions at once; and the client is told the number (note, tell).
//
// A recorded chunk is applied in one of three ways: at once; with its whole clock, where the table
// has a barrier (reach, applyClocks); or behind the leases that are out (postpone, catchUp). In
// each it is counted when it is written and not before, and its flush is closed with the last of
// them (finish).

// takeRecord applies one record: it makes a flush count, whose deltas become visible at once, or with their whole clock where the table has a barrier. A record
// out of order, or of units that no split can have done, is a breach: numbers have no gaps, and links are in order.
func (l *Lane) takeRecord(from wire.Address, r *wire.Record, out *wire.Outbox) {
	if r.Number != l.applied+1 {
		l.breach(from, out, "record %d after %d", r.Number, l.applied)
		return
	}
	l.applied = r.Number
	if r.Control.Kind != bellows.NoControl {
		l.takeControl(from, &r.Control, out)
		return
	}
	l.flushes.Count(r.Flush) // every lane learns of every flush, so that gaps close
	before := l.progress.Complete()
	for i := range r.Results {
		u := r.Results[i].Unit
		if err := l.progress.Check(u); err != nil {
			l.breach(from, out, "record %d: %v", r.Number, err)
			return
		}
		l.progress.Commit(u)
	}
	held := l.flushes.Take(r.Flush)
	for i := range held {
		l.numbered = append(l.numbered, l.opened(&held[i]))
	}
	for _, f := range l.numbered {
		f.number = r.Number
		if l.mayShow(f) {
			l.owe(&subscriber{f.from, r.Flush.Incarnation}, noBarrier)
		}
		l.applyFlush(f, out)
	}
	if len(l.numbered) > 0 {
		l.flushes.Admit(out)
	}
	if c := l.progress.Complete(); c > before {
		l.barrier = r.Number
		for _, p := range l.owned {
			p.reach(c, l, out)
		}
		if !planted.On("relay-forgotten") {
			l.owe(nil, hasBarrier)
		}
	}
	for _, f := range l.numbered {
		if f.push != nil && l.mayShow(f) && !planted.On("number-when-visible") {
			l.note(f, true)
		}
	}
	clear(l.numbered)
	l.numbered = l.numbered[:0]
}

// applyFlush gives the chunks of a recorded flush to their partitions, and ends its leases. One
// without either is closed at once: it is a flush of nothing, which completes a clock all the same.
func (l *Lane) applyFlush(f *flush, out *wire.Outbox) {
	if f.open == 0 {
		l.closeFlush(f)
		return
	}
	// The last application closes the flush, after which it may not be looked at.
	m := f.push
	leases := len(m.Leases)
	for i, n := 0, len(m.Chunks); i < n; i++ {
		c := &m.Chunks[i]
		p := l.at(c.Ref)
		p.applied = l.applied
		p.accept(entry{flush: f, chunk: i, clock: m.Clock}, l, out)
	}
	for i := range leases {
		e := &m.Leases[i]
		p := l.at(e.Ref)
		p.applied = l.applied
		p.endExclusive(f, i, l, out)
	}
}

// entry is one chunk of a recorded flush, or one of the marks.
type entry struct {
	flush  *flush
	chunk  int
	clock  bellows.Clock
	passed bool // where its partition is copied, the other lane has it
}

// The marks: entries that are no chunk.
const (
	clockMark = -1 // the clocks up to this are complete
	keepMark  = -2 // an image is to be kept
	cutMark   = -4 // a cut
)

// accept takes in a chunk of a recorded flush. With a barrier all of it waits for its clock, leased
// or not: the sum along the tree needs every chunk of the clock, and the rule runs once.
func (p *partition) accept(e entry, l *Lane, out *wire.Outbox) {
	switch {
	case p.barrier && !planted.On("visible-when-recorded"):
		p.later = append(p.later, e)
	case (p.leases.Out() || len(p.deferred) > 0) && !planted.On("commit-under-lease"):
		p.postpone(e, l)
	default:
		p.apply(e, l, out)
	}
}

// postpone puts an entry behind the leases that are out. What is visible stays as it was before this record.
func (p *partition) postpone(e entry, l *Lane) {
	if len(p.deferred) == 0 {
		p.lag = wire.Need{Commit: l.applied - 1, Clock: p.reached}
	}
	p.deferred = append(p.deferred, e)
}

// apply makes an entry part of the state, now that nothing keeps it out.
func (p *partition) apply(e entry, l *Lane, out *wire.Outbox) {
	switch e.chunk {
	case clockMark:
		p.applyClocks(e.clock, l, out)
		return
	case keepMark:
		p.keepNow(l, out)
		return
	case cutMark:
		p.cutNow(l)
		return
	}
	p.pass(e, l, out)
	p.give(&e.flush.push.Chunks[e.chunk], e.clock)
	l.finish(e.flush)
}

// give writes one chunk of a clock as it came.
func (p *partition) give(c *wire.Chunk, clock bellows.Clock) {
	bits := p.bits(c, clock)
	p.taken += bits
	p.yielded += bits
	p.write(c.Rows, c.Values, clock)
}

// write gives deltas of a clock to the rule.
func (p *partition) write(rows []uint32, deltas []float32, clock bellows.Clock) {
	if !planted.On("cut-copied-late") {
		p.cut.Write(rows)
	}
	apply := p.store.Apply
	if p.sample.Has(clock) {
		apply = p.store.ApplySummed
	}
	if p.reached&1 == 0 || !planted.On("write-dropped") {
		apply(rows, deltas)
	}
	if p.reached&1 == 0 && planted.On("write-doubled") {
		apply(rows, deltas)
	}
	if planted.On("cut-copied-late") {
		p.cut.Write(rows)
	}
	p.wrote(rows)
}

// reach makes the clocks up to c visible. Where a lease keeps them out of a table with a barrier, a mark among the deferred entries does so later: catchUp goes
// through these in the order of their records.
func (p *partition) reach(c bellows.Clock, l *Lane, out *wire.Outbox) {
	if p.awaited {
		p.marks = append(p.marks, mark{entry: entry{chunk: clockMark, clock: c}})
		return
	}
	if p.barrier && (p.leases.Out() || len(p.deferred) > 0) {
		if !planted.On("clock-mark-lost") {
			p.postpone(entry{chunk: clockMark, clock: c}, l)
		}
		p.reached = c
		return
	}
	p.reached = c
	if p.barrier {
		p.applyClocks(c, l, out)
	}
}

// applyClocks applies the recorded deltas of the clocks up to c, clock by clock, each summed along the tree and given to the rule once. Several are there where a
// lease has kept them out, or where the table's consistency has changed (setStaleness).
func (p *partition) applyClocks(c bellows.Clock, l *Lane, out *wire.Outbox) {
	if p.streams() && len(p.later) > 0 && !planted.On("handoff-clocks-lost") {
		p.passWaiting(c, l, out)
		l.say(p, p.out.Clocks(c), out)
	}
	for len(p.later) > 0 && !l.broken {
		clock := p.later[0].clock
		for _, e := range p.later[1:] {
			clock = min(clock, e.clock)
		}
		if clock > c {
			return
		}
		p.applyClock(clock, l, out)
	}
}

// applyClock sums the chunks of a clock along the binary tree over split ids and writes the root: the same bits in whichever order the chunks came and by
// whichever nodes they were sent (P7). A chunk that is alone is written as it came. Two that are of one split are nobody's correct sum: a breach.
func (p *partition) applyClock(clock bellows.Clock, l *Lane, out *wire.Outbox) {
	p.sums = p.sums[:0]
	for _, e := range p.later {
		if e.clock == clock {
			p.sums = append(p.sums, e.flush.push.Chunks[e.chunk])
		}
	}
	if len(p.sums) == 1 {
		p.give(&p.sums[0], clock)
	} else {
		var begin func(*delta.Buffer)
		if p.sample.Has(clock) {
			begin = p.audited
		}
		sum, twice := delta.Sum(p.sums, p.buffer, p.giveBuffer, begin)
		if twice != nil {
			from := wire.ClientAt(l.cfg.Route.Node(twice.Split))
			l.breach(from, out, "for clock %d of %v %v", clock, p.ref, twice)
			return
		}
		p.joined += int64(sum.Joined())
		rows, values := sum.Chunk()
		if p.sample.Has(clock) {
			p.yielded += p.store.Bits(rows, values)
		}
		p.write(rows, values, clock)
		p.giveBuffer(sum)
	}
	rest := p.later[:0]
	for _, e := range p.later {
		if e.clock != clock {
			rest = append(rest, e)
			continue
		}
		l.finish(e.flush)
	}
	p.later = rest
}

// audited adds a chunk, in a buffer of its own, to the ledger before it becomes part of a sum.
func (p *partition) audited(b *delta.Buffer) { p.taken += p.store.Bits(b.Chunk()) }

// catchUp applies what leases had kept out.
func (p *partition) catchUp(l *Lane, out *wire.Outbox) {
	for _, e := range p.deferred {
		p.apply(e, l, out)
	}
	p.deferred = p.deferred[:0]
}

// finish ends one chunk or lease end of a flush: it is part of the state. With the last the flush is closed, and may not be looked at any more.
func (l *Lane) finish(f *flush) {
	if f.open--; f.open == 0 {
		l.closeFlush(f)
	}
}

// closeFlush gives the chunks' memory back: to the client by wire.Committed, and the push to its
// pool. Until here the lane looks into that memory, which in one process is the client's own.
func (l *Lane) closeFlush(f *flush) {
	if f.moved != nil { // the lane that had it has told its client
		wire.Free(f.moved)
	} else {
		l.note(f, false)
	}
	wire.Free(f.push)
	if cap(f.rows) > 0 {
		l.spareRows = append(l.spareRows, f.rows[:0])
	}
	*f = flush{}
	l.spare = append(l.spare, f)
}

// mayShow reports whether reads may see some of a recorded flush before all of it is visible.
func (l *Lane) mayShow(f *flush) bool {
	for i := range f.push.Chunks {
		if !l.at(f.push.Chunks[i].Ref).barrier {
			return true
		}
	}
	return false
}

// news is flushes of one client that count now.
type news struct {
	to        wire.Address
	committed *wire.Committed
}

// note keeps for tell that a flush counts: when all of it is visible, or, waiting, when reads may see some of it before. The client must know the number by then,
// to lay its own deltas over rows that lack them, and over no others (P2).
func (l *Lane) note(f *flush, waiting bool) {
	one := wire.Commitment{Flush: f.push.Flush, Commit: f.number, Waiting: waiting}
	if f.named && !planted.On("pairs-unnamed") {
		one.Pairs = l.flushes.PairsOf(f.push)
	}
	i := slices.IndexFunc(l.news, func(n news) bool {
		return n.to == f.from && len(n.committed.List) < l.cfg.Limits.Commitments && n.committed.HasRoom(len(one.Pairs))
	})
	if i < 0 {
		i = len(l.news)
		l.news = append(l.news, news{f.from, wire.New[wire.Committed]()})
	}
	l.news[i].committed.Append(one)
}

// tell sends clients what has been noted, before rows that may show it.
func (l *Lane) tell(out *wire.Outbox) {
	for _, n := range l.news {
		out.Send(l.cfg.Self, n.to, n.committed)
	}
	clear(l.news)
	l.news = l.news[:0]
}

// takeControl applies a control record, between those of the flushes before and after it.
func (l *Lane) takeControl(from wire.Address, c *bellows.Control, out *wire.Outbox) {
	switch c.Kind {
	case bellows.KeepTables:
		if planted.On("keep-lost") {
			return
		}
		for _, p := range l.owned {
			p.applied = l.applied
			if !p.gone {
				p.keep(l, out)
			}
		}
	case bellows.CutTables:
		l.cuts.Cut(l.applied)
		for _, p := range l.owned {
			p.cutAt(l)
		}
	case bellows.SetStaleness:
		l.setStaleness(c.Table, c.Clocks, out)
	case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane, bellows.RemoveClient, bellows.LoseClient:
		l.reroute(from, c, out)
	}
}

// setStaleness changes a table's consistency. No task is out, so that nothing waits for a clock; what is visible never goes back.
func (l *Lane) setStaleness(t bellows.TableID, clocks int32, out *wire.Outbox) {
	l.cfg.SetStaleness(t, clocks)
	l.barrier = l.applied
	for _, p := range l.owned {
		if p.ref.Table == t {
			p.applied = l.applied
			if p.awaited {
				p.marks = append(p.marks, mark{entry{chunk: barrierMark, clock: math.MaxInt32}, l.cfg.Barrier(t)})
				continue
			}
			p.barrier = l.cfg.Barrier(t)
			p.applyClocks(math.MaxInt32, l, out)
		}
	}
	l.owe(nil, func(p *partition) bool { return p.ref.Table == t })
}

// keep saves an image of the state. What a lease still keeps out belongs in it: its release may be under
// way when the controller, which knows that no task is out, asks.
func (p *partition) keep(l *Lane, out *wire.Outbox) {
	switch {
	case p.awaited:
		p.marks = append(p.marks, mark{entry: entry{chunk: keepMark}})
	case len(p.deferred) > 0 && !planted.On("keep-at-once"):
		p.deferred = append(p.deferred, entry{chunk: keepMark})
	default:
		p.keepNow(l, out)
	}
}

// keepNow saves the image, and has a lane to which the partition is copied do so.
func (p *partition) keepNow(l *Lane, out *wire.Outbox) {
	p.save()
	if p.streams() {
		l.say(p, p.out.Keep(p.store), out)
	}
}

func (p *partition) save() {
	p.cut.Keep(&p.image)
	p.store.Save(&p.image)
	p.kept = true
	if planted.On("kept-without-slots") {
		p.image.Slots = nil
	}
}

// streams reports whether what changes is passed on.
func (p *partition) streams() bool { return p.out != nil && p.out.Begun() && !p.gone }

// pass passes a chunk on that becomes part of the state now, if the partition is copied.
func (p *partition) pass(e entry, l *Lane, out *wire.Outbox) {
	if p.streams() && !planted.On("handoff-chunk-lost") {
		for m := range p.out.Chunk(p.store, &e.flush.push.Chunks[e.chunk], e.clock, false) {
			l.say(p, m, out)
		}
	}
}

// passWaiting passes on what waits for clocks up to c and was not passed on. That is as late as may be, when they become part of the state or when all rows are copied, since the rows
// that are copied meanwhile need nothing of it.
func (p *partition) passWaiting(c bellows.Clock, l *Lane, out *wire.Outbox) {
	for i := range p.later {
		e := &p.later[i]
		if e.passed || e.clock > c {
			continue
		}
		if e.passed = true; c == math.MaxInt32 && planted.On("handoff-later-forgotten") {
			continue
		}
		for m := range p.out.Chunk(p.store, &e.flush.push.Chunks[e.chunk], e.clock, true) {
			l.say(p, m, out)
		}
	}
}
