package server

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/table"
)

// part is one partition at its lane: state, leases, and what waits to be applied.
//
// A recorded chunk is applied at once, or it is in later (its table has a barrier, and its clock is not complete), or in deferred (a lease is out, which sees one version). Entries of deferred
// keep their order, clock marks among them, and what is visible meanwhile is lag. An exclusive holder in this process works on the slab itself, one elsewhere on a copy.
//
// Invariants: later is empty of complete clocks unless a lease keeps them out (TestClocksThatALeaseKeepsOutCountAtTheEnd); an exclusive lease is the only one (TestLeases); requests are granted in their
// order, so that none starves (TestAnExclusiveRequestIsNotPassed); the sums of the ledgers grow where bits are taken, given and written, and nowhere else (TestTheAuditSeesLossesInside).
//
// Turned down: applying under shared leases and showing the holder a copy: a copy of the partition for each lease, in order to save a wait of one task.
type part struct {
	ref        bellows.PartitionRef
	generation bellows.Generation
	gone       bool                 // another lane owns it; what was recorded before is still applied, since its clients and the audit wait for it
	awaited    bool                 // it was given to this lane, and its state is not here yet: nobody is served
	applied    bellows.CommitNumber // the newest record that has something for it: its own, since it may move
	schema     *table.Schema
	store      *store.Partition
	keySeed    uint64
	additive   bool
	barrier    bool // BSP: the deltas of a clock become visible together

	later    []entry // barrier: recorded, of clocks that are not complete
	deferred []entry // recorded while a lease kept them out
	reached  bellows.Clock
	lag      wire.Need // while deferred is not empty: what is visible

	holders   int // leases out
	exclusive bool
	holder    wire.Address   // of the exclusive lease
	remote    bool           // the exclusive holder works on a copy
	ending    bool           // a held flush ends the exclusive lease
	shared    []wire.Address // holders of shared leases, once for each
	queue     []request

	subs         []subscription
	interestMost int      // keys to which a client may be subscribed
	writes       uint64   // how often something has changed since somebody subscribed
	all          uint64   // at which of these every row did
	changed      []uint64 // per row: at which it did last; nil: none has, on its own

	stamp uint64 // the last that Lane.mark or Lane.pairsOf gave it

	image   store.Image
	kept    bool
	sums    []wire.Chunk
	buffers []*delta.Buffer

	sample  audit.Sample
	taken   audit.Sum // ledger: chunks that were given to the store or taken into sums; slabs at the end of leases
	yielded audit.Sum // ledger: chunks and sums of them that were given to the store
	dropped audit.Sum // ledger: what never counted
	joined  int64     // rows that became part of others in sums
}

// entry is one chunk of a recorded flush, or one of the marks.
type entry struct {
	flush *flush
	chunk int
	clock bellows.Clock
}

// The marks: entries that are no chunk.
const (
	clockMark = -1 // the clocks up to this are complete
	keepMark  = -2 // an image is to be kept
)

type request struct {
	from    wire.Address
	acquire *wire.Acquire
}

// pair is the partition as the lane owns it.
func (p *part) pair() wire.Pair { return wire.Pair{Ref: p.ref, Generation: p.generation} }

// visible is what a read of the partition sees now.
func (p *part) visible(l *Lane) wire.Need {
	if len(p.deferred) > 0 {
		return p.lag
	}
	if p.barrier {
		return wire.Need{Commit: l.barrier, Clock: l.progress.Complete()}
	}
	return wire.Need{Commit: l.applied, Clock: l.progress.Complete()}
}

// take accepts a chunk of a recorded flush.
func (p *part) take(e entry, l *Lane, out *wire.Outbox) {
	switch {
	case p.barrier && !planted.On("visible-when-recorded"):
		p.later = append(p.later, e)
	case (p.holders > 0 || len(p.deferred) > 0) && !planted.On("commit-under-lease"):
		p.postpone(e, l)
	default:
		p.apply(e, l, out)
	}
}

// postpone puts an entry behind the leases that are out. What is visible stays as it was before
// this record.
func (p *part) postpone(e entry, l *Lane) {
	if len(p.deferred) == 0 {
		p.lag = wire.Need{Commit: l.applied - 1, Clock: p.reached}
	}
	p.deferred = append(p.deferred, e)
}

// reach makes the clocks up to c visible.
func (p *part) reach(c bellows.Clock, l *Lane, out *wire.Outbox) {
	if p.barrier && (p.holders > 0 || len(p.deferred) > 0) {
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

// applyClocks applies the recorded deltas of the clocks up to c, clock by clock, each summed along
// the tree and given to the rule once.
func (p *part) applyClocks(c bellows.Clock, l *Lane, out *wire.Outbox) {
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

func (p *part) applyClock(clock bellows.Clock, l *Lane, out *wire.Outbox) {
	p.sums = p.sums[:0]
	for _, e := range p.later {
		if e.clock == clock {
			p.sums = append(p.sums, e.flush.push.Chunks[e.chunk])
		}
	}
	if len(p.sums) == 1 {
		p.give(&p.sums[0], clock)
	} else {
		begin := p.begin
		if !p.sample.Has(clock) {
			begin = func(*delta.Buffer) {}
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

// give writes one chunk of a clock as it came.
func (p *part) give(c *wire.Chunk, clock bellows.Clock) {
	bits := p.bits(c, clock)
	p.taken += bits
	p.yielded += bits
	p.write(c.Rows, c.Values, clock)
}

// begin takes a chunk, in a buffer of its own, into a sum.
func (p *part) begin(b *delta.Buffer) { p.taken += p.store.Bits(b.Chunk()) }

// bits is the audit's sum over a chunk as its client made it: by keys where it has keys; 0 where the clock is not in the sample.
func (p *part) bits(c *wire.Chunk, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	if c.Keys != nil {
		return audit.Keys(p.ref.Partition, p.schema.Width, c.Keys, c.Values)
	}
	return audit.Rows(p.ref.Partition, p.schema.Width, c.Rows, c.Values)
}

// slabBits is the audit's sum over values of the whole partition; 0 where the clock is not in the sample.
func (p *part) slabBits(values []float32, clock bellows.Clock) audit.Sum {
	if !p.sample.Has(clock) {
		return 0
	}
	return p.store.Bits(nil, values)
}

// write gives deltas of a clock to the rule.
func (p *part) write(rows []uint32, deltas []float32, clock bellows.Clock) {
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
	p.wrote(rows)
}

func (p *part) apply(e entry, l *Lane, out *wire.Outbox) {
	switch e.chunk {
	case clockMark:
		p.applyClocks(e.clock, l, out)
		return
	case keepMark:
		p.store.Save(&p.image)
		p.kept = true
		return
	}
	p.give(&e.flush.push.Chunks[e.chunk], e.clock)
	l.finish(e.flush)
}

// catchUp applies what leases had kept out.
func (p *part) catchUp(l *Lane, out *wire.Outbox) {
	for _, e := range p.deferred {
		p.apply(e, l, out)
	}
	p.deferred = p.deferred[:0]
}

// takeAcquire queues a request for a lease.
func (l *Lane) takeAcquire(from wire.Address, m *wire.Acquire, out *wire.Outbox) {
	p, err := l.part(m.Pair)
	if err != nil {
		l.refuse(from, m.Request, err, out)
		wire.Free(m)
		return
	}
	if len(p.queue) == l.cfg.Limits.Parked {
		l.breach(from, out, "%d requests for leases on %v wait already", l.cfg.Limits.Parked, p.ref)
		return
	}
	p.queue = append(p.queue, request{from, m})
}

// grant serves the queue of leases, in order: a request that must wait makes those behind it wait,
// except where the gate alone holds it back.
func (p *part) grant(l *Lane, out *wire.Outbox) {
	rest := p.queue[:0]
	blocked := false
	for _, r := range p.queue {
		v := p.visible(l)
		switch {
		case !gate.Admits(r.acquire.Need, v.Commit, v.Clock) || l.choked(r.from.Node):
			rest = append(rest, r)
		case blocked || !p.free(r.acquire.Mode):
			blocked = true
			rest = append(rest, r)
		default:
			p.hand(r, l, out)
		}
	}
	p.queue = rest
}

func (p *part) free(m wire.Mode) bool {
	if len(p.deferred) > 0 {
		return false
	}
	if planted.On("lease-shared") {
		return true
	}
	return p.holders == 0 || (m == wire.Shared && !p.exclusive)
}

func (p *part) hand(r request, l *Lane, out *wire.Outbox) {
	p.holders++
	if p.exclusive = r.acquire.Mode == wire.Exclusive; !p.exclusive {
		p.shared = append(p.shared, r.from)
	}
	p.remote = r.from.Node != l.cfg.Self.Node
	p.holder = r.from
	g := wire.New[wire.Granted]()
	v := p.visible(l)
	g.Request, g.Pair, g.Mode, g.Commit, g.Complete = r.acquire.Request, p.pair(), r.acquire.Mode, v.Commit, v.Clock
	if p.remote {
		g.Copy(p.store.Values())
	} else {
		g.Values = p.store.Values()
	}
	n := len(g.Values)
	out.Send(l.cfg.Self, r.from, g)
	l.charge(r.from, n, out)
	wire.Free(r.acquire)
}

// release ends a shared lease.
func (p *part) release(from wire.Address, l *Lane, out *wire.Outbox) {
	i := slices.Index(p.shared, from)
	if i < 0 {
		l.breach(from, out, "it releases a lease on %v that it does not have", p.ref)
		return
	}
	p.shared = slices.Delete(p.shared, i, i+1)
	if p.holders--; p.holders == 0 {
		p.catchUp(l, out)
	}
}

// endExclusive ends an exclusive lease with the commit of its flush.
func (p *part) endExclusive(f *flush, lease int, l *Lane, out *wire.Outbox) {
	if !p.remote || !planted.On("copy-forgotten") {
		p.store.Adopt(f.push.Leases[lease].Values)
	}
	if planted.On("slab-changed") && !p.remote && p.store.Rows() > 0 {
		p.store.Values()[0]++
	}
	p.taken += p.slabBits(p.store.Values(), f.push.Clock)
	p.wrote(nil)
	p.holders--
	p.exclusive, p.ending = p.exclusive && p.holders > 0, false
	l.finish(f)
	if p.holders == 0 {
		p.catchUp(l, out)
	}
}

// keep saves an image of the state. What a lease still keeps out belongs in it: its release may be under
// way when the controller, which knows that no task is out, asks.
func (p *part) keep() {
	if len(p.deferred) > 0 && !planted.On("keep-at-once") {
		p.deferred = append(p.deferred, entry{chunk: keepMark})
		return
	}
	p.store.Save(&p.image)
	p.kept = true
	if planted.On("kept-without-slots") {
		p.image.Slots = nil
	}
}

// torn reports whether the partition's values are neither before nor after a lease: its holder works on
// the slab itself.
func (p *part) torn() bool { return p.exclusive && !p.remote }

// drop counts, when the job is over, what waits here and is not written: deltas of clocks that will not complete, and those
// that leases keep out. Leases are out at the end of jobs that failed, and of no others: nobody asks for the state of such
// a job, which would have what leases kept out (applyDeferred).
func (p *part) drop() (rows int64) {
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

// applyDeferred applies what leases kept out of a job that is over. It is done when the state is asked for and
// not at the job's end, when a task of this node may still look at the slab.
func (p *part) applyDeferred(l *Lane) {
	if planted.On("leased-out-dropped") {
		return
	}
	var nobody wire.Outbox
	p.catchUp(l, &nobody)
}
