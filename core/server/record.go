package server

import (
	"errors"
	"slices"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The second phase: the controller has decided. takeRecord is read downwards. Progress comes first,
// so that what is applied knows which clocks are complete; then the flush's parts are applied, or
// wait, in its partitions; then a clock that this record completes is made visible, in all
// partitions at once; and the client is told the number (note, tell).
//
// When a recorded chunk is applied is its partition's matter (package partition); its flush is closed
// with the last of its chunks (finish).

// takeRecord applies one record: it makes a flush count, whose deltas become visible at once, or with their whole clock where the table has a barrier. A record
// out of order, or of units that no split can have done, is a breach: numbers have no gaps, and links are in order.
func (l *Lane) takeRecord(from wire.Address, r *wire.Record, out *wire.Outbox) {
	if r.Number != l.shard.Applied()+1 {
		l.breach(from, out, "record %d after %d", r.Number, l.shard.Applied())
		return
	}
	l.shard.Number(r.Number)
	if r.Control.Kind != bellows.NoControl {
		l.takeControl(from, &r.Control, out)
		return
	}
	l.flushes.Count(r.Flush) // every lane learns of every flush, so that gaps close
	completed, err := l.shard.CountUnits(r.Results)
	if err != nil {
		l.breach(from, out, "record %d: %v", r.Number, err)
		return
	}
	held := l.flushes.Take(r.Flush)
	for i := range held {
		l.numbered = append(l.numbered, l.opened(&held[i]))
	}
	for _, f := range l.numbered {
		f.number = r.Number
		if l.mayShow(f) {
			l.reads.Owe(l.shard, &partition.Subscriber{Address: f.from, Incarnation: r.Flush.Incarnation}, noBarrier)
		}
		l.applyFlush(f, out)
	}
	if len(l.numbered) > 0 {
		l.flushes.Admit(out)
	}
	if completed {
		l.carry(from, l.shard.Reach(&l.fx), out)
		if !planted.On("relay-forgotten") {
			l.reads.Owe(l.shard, nil, (*partition.Partition).Barrier)
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
	m := f.push
	for i := range m.Chunks {
		c := &m.Chunks[i]
		l.shard.Lookup(c.Ref).Accept(partition.Entry{Flush: f, Chunk: c, Clock: m.Clock, Number: l.shard.Applied()}, &l.fx)
	}
	var err error
	for i := range m.Leases {
		e := &m.Leases[i]
		if err = l.shard.Lookup(e.Ref).EndExclusive(f, e.Values, m.Clock, f.number, &l.fx); err != nil {
			break
		}
	}
	l.carry(f.from, err, out) // which perhaps closes the flush
}

func noBarrier(p *partition.Partition) bool { return !p.Barrier() }

// carry carries out what partitions have asked for. An error is a breach by a peer: by the
// client of the split, if chunks overlap.
func (l *Lane) carry(from wire.Address, err error, out *wire.Outbox) {
	for _, s := range l.fx.Sends {
		out.Send(l.cfg.Self, s.To, s.Message)
	}
	for _, f := range l.fx.Applied {
		l.finish(f.(*flush))
	}
	l.fx.Reset()
	if err == nil {
		return
	}
	if o := (*partition.OverlapError)(nil); errors.As(err, &o) {
		from = wire.ClientAt(l.shard.Route().Node(o.Split))
	}
	l.breach(from, out, "%v", err)
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
	l.note(f, false)
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
		if !l.shard.Lookup(f.push.Chunks[i].Ref).Barrier() {
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
		l.shard.Keep(&l.fx)
		l.carry(from, nil, out)
	case bellows.CutTables:
		l.shard.Cut()
	case bellows.SetStaleness:
		l.carry(from, l.shard.SetStaleness(c.Table, c.Clocks, &l.fx), out)
		l.reads.Owe(l.shard, nil, func(p *partition.Partition) bool { return p.Ref.Table == c.Table })
	case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane, bellows.RemoveClient, bellows.LoseClient:
		l.reroute(from, c, out)
	}
}
