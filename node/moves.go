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

// reading is how much of a copy was there at some time.
type reading struct{ millis, bytes int64 }

// meter is what was read of a copy at the ticks of about the last seconds: the first reading is of their beginning, or of that of the copy.
type meter []reading

// enter adds a reading, and drops those that are of no use any more.
func (m meter) enter(r reading) meter {
	m = append(m, r)
	return slices.Delete(m, 0, m.first(r.millis))
}

// first returns the last reading before the given period, or the first of all.
func (m meter) first(millis int64) (at int) {
	for at+1 < len(m) && m[at+1].millis <= millis-1000*api.RateSeconds {
		at++
	}
	return at
}

// rate returns the bytes per second over the last seconds, up to a current reading.
func (m meter) rate(now reading) float64 {
	first := m[m.first(now.millis)]
	if now.millis <= first.millis {
		return 0
	}
	return 1000 * float64(max(0, now.bytes-first.bytes)) / float64(now.millis-first.millis)
}

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
		s.meter = s.meter.enter(reading{now, int64(copyOf(s, known).Copied)})
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
			Seconds: time.Since(s.since).Seconds(), Rate: s.meter.rate(reading{now, int64(c.Copied)})}
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
