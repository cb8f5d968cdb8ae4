package server

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/delta"
	"bellows/core/handoff"
	"bellows/core/lease"
	"bellows/core/store"
	"bellows/link/wire"
)

// partition is one partition at its lane: state, leases, and what waits to be applied.
//
// A recorded chunk is applied at once, or it is in later (its table has a barrier, and its clock is
// not complete), or in deferred (a lease is out, which sees one version). Entries of deferred keep
// their order, clock marks among them, and what is visible meanwhile is lag. An exclusive holder in
// this process works on the slab itself, one elsewhere on a copy.
//
// It is awaited from the record that gives it to this lane until its state is loaded, and gone from
// the record that gives it to another: what was recorded before is still applied, since its clients
// wait for that, and the audit.
//
// Invariants:
//
//   - later is empty of complete clocks unless a lease keeps them out
//     (TestClocksThatALeaseKeepsOutCountAtTheEnd).
//   - While a lease is out nothing is written but by its holder: it sees one version (TestLeases).
//   - Requests are granted in their order, so that none starves (TestAnExclusiveRequestIsNotPassed).
//   - The sums of the ledgers grow where bits are taken, given and written, and nowhere else
//     (TestTheAuditSeesLossesInside).
//
// Turned down: applying under shared leases and showing the holder a copy: a copy of the partition
// for each lease, in order to save a wait of one task.
type partition struct {
	ref        bellows.PartitionRef
	generation bellows.Generation
	gone       bool                 // another lane owns it; what was recorded before is still applied, since its clients and the audit wait for it
	awaited    bool                 // it was given to this lane, and its state is not here yet: nobody is served
	applied    bellows.CommitNumber // the newest record that has something for it: its own, since it may move
	width      int
	newBuffer  func() *delta.Buffer
	store      *store.Partition
	barrier    bool // BSP: the deltas of a clock become visible together

	later    []entry // barrier: recorded, of clocks that are not complete
	deferred []entry // recorded while a lease kept them out
	reached  bellows.Clock
	lag      wire.Need // while deferred is not empty: what is visible

	// To another lane, and from one.
	out      *handoff.Source // nil: it is not copied
	held     bool            // nobody gets a lease any more: all that is out has ended
	prepared bool            // the controller was told that it may go
	due      *wire.Handoff   // it is awaited, and to be copied on then
	in       *handoff.Target // nil: it was not copied here
	gained   bellows.CommitNumber
	adopted  bool
	forsaken string        // why its state will not come; empty: it may
	marks    []mark        // while it is awaited: what records ask for
	before   store.Written // by the copy, before it was served: it counts elsewhere

	leases lease.Holders
	ended  bellows.CommitNumber // the record that ended the last exclusive lease: what its holder changed shows from there on, with a barrier too
	remote bool                 // the exclusive holder works on a copy
	queue  []request

	subs           []subscription
	subscribedMost int           // keys to which a client may be subscribed
	changes        store.Changes // of a dense table, since somebody subscribed

	cut     checkpoint.Mark
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

// pair is the partition as the lane owns it.
func (p *partition) pair() wire.Pair { return wire.Pair{Ref: p.ref, Generation: p.generation} }

// visible is what a read of the partition sees now: with a barrier the last complete clock and the
// record that completed it, or a later one that ended an exclusive lease
// (TestALeaseEndsInANewVersion); without one every record that the lane has taken, whether or not it has
// something for this partition; behind a lease what was visible before the first deferred entry.
func (p *partition) visible(l *Lane) wire.Need {
	if len(p.deferred) > 0 {
		return p.lag
	}
	if p.barrier {
		return wire.Need{Commit: max(l.barrier, p.ended), Clock: l.progress.Complete()}
	}
	return wire.Need{Commit: l.applied, Clock: l.progress.Complete()}
}

// buffer makes an empty buffer for sums over a partition, of memory that earlier sums have given
// back.
func (p *partition) buffer() *delta.Buffer {
	if n := len(p.buffers); n > 0 {
		b := p.buffers[n-1]
		p.buffers = p.buffers[:n-1]
		return b
	}
	return p.newBuffer()
}

func (p *partition) giveBuffer(b *delta.Buffer) {
	b.Reset()
	p.buffers = append(p.buffers, b)
}
