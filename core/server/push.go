package server

import (
	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/link/wire"
)

// The first phase of a commit: a push comes, and package prepare judges it and holds it until its record.
// The lane knows which partitions it owns, and which clients have leases on them. And it gives
// rows to the keys of a push before the vote, so that sums along the tree and rules work on rows as those
// of any table. That is when memory is taken, and refused: what is recorded later is irrevocable.

// flush is a flush that has a number, as it came in one push: parts for other partitions may have come in
// another. It is open until the last of its chunks is part of the state, and then memory for another.
type flush struct {
	push   *wire.Push
	from   wire.Address
	named  bool // messages about it name its pairs
	number bellows.CommitNumber
	open   int      // chunks and lease ends not applied yet
	rows   []uint32 // memory for the numbers of the rows that its keys name
}

// ID returns the name of the flush.
func (f *flush) ID() bellows.FlushID { return f.push.Flush }

// takePush holds the parts of a flush, or answers why not.
func (l *Lane) takePush(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if l.outlived(partition.Subscriber{Address: from, Incarnation: m.Flush.Incarnation}) && !planted.On("incarnation-ignored") {
		wire.Free(m)
		return
	}
	switch j := l.flushes.Judge(from, m, l.shard.Applied(), l.shard, out); j.Verdict {
	case prepare.Stale:
		if err := l.flushes.Refuse(from, m, out); err != nil {
			l.breach(from, out, "%v", err)
		}
		l.flushes.Admit(out)
	case prepare.Refused:
		out.Send(l.cfg.Self, from, refusal(m.Flush, j.Err))
	case prepare.Breach:
		l.breach(from, out, "%v", j.Err)
	case prepare.Fits:
		rows, err := l.reserve(m)
		if err != nil {
			l.flushes.Miss(m)
			out.Send(l.cfg.Self, from, refusal(m.Flush, err))
			return
		}
		l.shard.Hold(m)
		l.flushes.Hold(from, m, j, rows, out)
	}
}

// reserve gives a row to every key of a push, and its chunks the rows' numbers, in memory that is kept
// with the flush.
func (l *Lane) reserve(m *wire.Push) ([]uint32, error) {
	total := 0
	for i := range m.Chunks {
		total += len(m.Chunks[i].Keys)
	}
	if total == 0 {
		return nil, nil
	}
	list := l.rowsFor(total)
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if c.Keys == nil {
			continue
		}
		first := len(list)
		rows, err := l.shard.Lookup(c.Ref).State.Reserve(c.Keys, list)
		if err != nil {
			return nil, err
		}
		list, c.Rows = rows, rows[first:len(rows):len(rows)]
	}
	return list, nil
}

// opened returns a flush that a record has numbered, with all that is to be applied.
func (l *Lane) opened(h *prepare.Held) *flush {
	f := l.newFlush()
	*f = flush{push: h.Push, from: h.From, named: h.Named, rows: h.Rows, open: len(h.Push.Chunks) + len(h.Push.Leases)}
	return f
}

// newFlush returns an empty flush, in the memory of one that was closed if there is any.
func (l *Lane) newFlush() *flush {
	if n := len(l.spare); n > 0 {
		f := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return f
	}
	return new(flush)
}

// rowsFor returns memory for so many numbers of rows, of a flush that was closed if it suffices.
func (l *Lane) rowsFor(total int) []uint32 {
	if n := len(l.spareRows); n > 0 {
		rows := l.spareRows[n-1]
		l.spareRows = l.spareRows[:n-1]
		if cap(rows) >= total {
			return rows
		}
	}
	return make([]uint32, 0, total)
}
