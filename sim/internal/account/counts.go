package account

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// Lossy compares the counts of a job that has lost nodes with what all its clients have sent, lost ones included.
func (l *Ledger) Lossy(c *wire.Counts) error {
	sent := int64(0)
	for _, n := range l.SentRows { // in any order: it is a sum
		sent += n
	}
	for _, n := range l.carried {
		sent += n
	}
	if c.Sent > sent || c.Applied+c.Dropped > sent {
		return fmt.Errorf("audit: clients have sent %d row deltas; %d are said to be sent, %d applied, %d dropped", sent, c.Sent, c.Applied, c.Dropped)
	}
	return nil
}

// Staleness compares the staleness of a job's reads with its clocks and tasks: each task has read at least once.
func Staleness(c *wire.Counts, clocks, tasks int) error {
	reads := int64(0)
	for behind, n := range c.Staleness {
		reads += n
		if n < 0 || n > 0 && behind > clocks {
			return fmt.Errorf("staleness: %d reads were %d clocks behind in a job of %d", n, behind, clocks)
		}
	}
	if reads < int64(tasks) {
		return fmt.Errorf("staleness: %d reads were counted in %d tasks of at least one", reads, tasks)
	}
	return nil
}

// Closed compares an actor's closing counts with what it was seen to do, and with the counts that it adopted from
// others. Rows that came late may be in them or not. count returns the least and the most row deltas of a lane that
// count.
func (l *Ledger) Closed(from wire.Address, m *wire.Counts, adopted []bellows.Control, moved bool, count func() (least, most int64)) error {
	l.left[from] = *m
	if from.Role == wire.Client {
		if sent := l.SentRows[from.Node]; m.Sent != sent {
			return fmt.Errorf("audit: node %d says that it sent %d row deltas; it sent %d", from.Node, m.Sent, sent)
		}
		return nil
	}
	if moved { // what is sent to several lanes counts at one of them: the audit of all sees to that
		return nil
	}
	came, late := l.LaneRows[from], l.LateRows[from]
	own := *m
	m = &own
	for _, c := range adopted {
		a, _ := l.route.Removed(c)
		rows := l.left[a]
		own.Applied, own.Dropped, own.Sent = own.Applied-rows.Applied, own.Dropped-rows.Dropped, own.Sent-rows.Sent
	}
	l.left[from] = own
	carried := l.carried[from]
	if own.Sent != carried {
		return fmt.Errorf("audit: the clients with the successor %v sent %d row deltas less than it counts", from, own.Sent-carried)
	}
	if came += carried; m.Applied+m.Dropped < came || m.Applied+m.Dropped > came+late {
		return fmt.Errorf("audit: %d row deltas came to %v; it applied %d and dropped %d", came, from, m.Applied, m.Dropped)
	}
	if least, most := count(); m.Applied < least || m.Applied > most+carried {
		return fmt.Errorf("audit: of what came to %v, %d to %d row deltas count; it says that it applied %d", from, least, most, m.Applied)
	}
	return nil
}

// Holding compares a lane's report of the newest record of each of its partitions with the record that touched the
// partition last.
func Holding(from wire.Address, m *wire.Holding, touched func(bellows.PartitionRef) bellows.CommitNumber) error {
	for _, p := range m.Owned {
		if want := touched(p.Ref); p.Newest != want {
			return fmt.Errorf("%v says that record %d is the newest for %v; record %d is", from, p.Newest, p.Ref, want)
		}
	}
	return nil
}

// SeveralLanes reports whether parts of a push's flush are for other lanes as well: then its lane answers for its own
// part.
func (l *Ledger) SeveralLanes(m *wire.Push, owner func(wire.Pair) (wire.Address, bool)) bool {
	return m.Again || slices.ContainsFunc(m.Pairs, func(p wire.Pair) bool {
		of, _ := owner(p)
		first, _ := owner(m.Pairs[0])
		return of != first
	})
}
