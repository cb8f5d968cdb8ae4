package server

import (
	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// takeRecord takes the second phase of a commit. A flush counts, and its deltas become visible at once, or with their
// whole clock where the table has a barrier. Progress comes first, so that what is applied knows which clocks are
// complete. Then the parts of the flush go to their partitions, and a clock that this record completes is made visible,
// in all partitions at once. A record out of order, or of units that no split can have done, is a breach: numbers have no
// gaps, and links are in order.
func (l *Lane) takeRecord(from wire.Address, r *wire.Record, out *wire.Outbox) {
	if r.Number != l.state.Applied()+1 {
		l.fault.breach(from, out, "record %d after %d", r.Number, l.state.Applied())
		return
	}
	l.state.Number(r.Number)
	if r.Control.Kind != bellows.NoControl {
		l.takeControl(from, &r.Control, out)
		return
	}
	l.flushes.Count(r.Flush) // every lane learns of every flush, so that gaps close
	completed, err := l.state.CountUnits(r.Results)
	if err != nil {
		l.fault.breach(from, out, "record %d: %v", r.Number, err)
		return
	}
	list := l.commits.Open(l.flushes.Take(r.Flush), r.Number)
	for _, f := range list {
		client := f.Client()
		if f.Shows(l.state) {
			who := partition.Subscriber{Address: client, Incarnation: r.Flush.Incarnation}
			l.reads.Owe(l.state, &who, noBarrier)
		}
		l.carry(client, l.commits.Apply(f, l.state, &l.fx), out) // which perhaps closes the flush
	}
	if len(list) > 0 {
		l.flushes.Admit(out)
	}
	if completed {
		l.carry(from, l.state.Reach(&l.fx), out)
		if !planted.On("relay-forgotten") {
			l.reads.Owe(l.state, nil, (*partition.Partition).Barrier)
		}
	}
	l.commits.NoteShown(l.state)
}

func noBarrier(p *partition.Partition) bool { return !p.Barrier() }

// takeControl applies a control record, between those of the flushes before and after it.
func (l *Lane) takeControl(from wire.Address, c *bellows.Control, out *wire.Outbox) {
	switch c.Kind {
	case bellows.KeepTables:
		if planted.On("keep-lost") {
			return
		}
		l.state.Keep(&l.fx)
		l.carry(from, nil, out)
	case bellows.CutTables:
		l.state.Cut()
	case bellows.SetStaleness:
		l.carry(from, l.state.SetStaleness(c.Table, c.Clocks, &l.fx), out)
		l.reads.Owe(l.state, nil, func(p *partition.Partition) bool { return p.Ref.Table == c.Table })
	case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit, bellows.RemoveLane,
		bellows.RemoveClient, bellows.LoseClient:
		l.reroute(from, c, out)
	}
}
