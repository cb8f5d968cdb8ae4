package node

import (
	"fmt"
	"slices"
	"time"

	"bellows/api"
	"bellows/core/coord"
	"bellows/node/measure"
)

// The moves shown are node 0's own account of requested and incomplete moves, with the reports of partitions' owners
// about their copies (wire.Prepared). The controller ignores messages about an abandoned move, and an account ends with
// its move: so nothing of an earlier move of a partition appears in a later one (TestMoveInProgressIsShown).
//
// Rejected: copies in the reports of nodes. They would arrive a quarter of a second late, and would have to be
// distinguished from those of an earlier move and of an earlier owner.

// copyOf returns what is known about the copy of a move; zeros if nothing is.
func copyOf(s *shifting, known []coord.Moving) (m coord.Moving) {
	if i := slices.IndexFunc(known, func(m coord.Moving) bool { return m.Ref == s.ref && m.To == s.to }); i >= 0 {
		m = known[i]
	}
	return m
}

// meterCopies reads how far copies are, at each tick.
func (l *lead) meterCopies() {
	if len(l.shifts) == 0 {
		return
	}
	now, known := l.millis(), l.shell.Moving()
	for i := range l.shifts {
		s := &l.shifts[i]
		s.meter = s.meter.Enter(measure.Reading{Millis: now, Bytes: int64(copyOf(s, known).Copied)})
	}
}

// underWay returns the requested moves that are not complete: partitions, then splits.
func (l *lead) underWay() []api.Move {
	list := []api.Move{}
	now, known := l.millis(), l.shell.Moving()
	for i := range l.shifts {
		s := &l.shifts[i]
		t := &l.job.Tables[s.ref.Table]
		c := copyOf(s, known)
		m := api.Move{What: fmt.Sprintf("partition %d of %s", s.ref.Partition, t.Name), From: nodeName(l.route.Owner(s.ref).Lane.Node), To: nodeName(s.to.Node), Bytes: int64(c.Of), Copied: int64(c.Copied),
			Seconds: time.Since(s.since).Seconds(), Rate: s.meter.Rate(measure.Reading{Millis: now, Bytes: int64(c.Copied)})}
		if c.Of == 0 && !t.Sparse { // its owner has said nothing yet
			m.Bytes = measure.PartitionBytes(t, l.route.Cut(s.ref.Table), s.ref.Partition)
		}
		list = append(list, m)
	}
	for _, m := range l.moves {
		list = append(list, api.Move{What: fmt.Sprintf("split %d", m.split), From: nodeName(m.from), To: nodeName(m.to), Seconds: time.Since(m.since).Seconds()})
	}
	return list
}
