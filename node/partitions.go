package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/node/measure"
	"bellows/train"
)

// shifting is a partition that is to move.
type shifting struct {
	ref    bellows.PartitionRef
	to     wire.Address
	since  time.Time
	answer chan<- error     // has room
	meter  measure.Readings // of its copy
}

// MovePartition moves a partition to another node, to the lane there that holds the fewest values, and returns when the
// controller has accepted the move. The partition is copied while it is used. moved receives the outcome; it need not
// be read. Another move of the partition replaces one that is not complete. A move yields to the job's work: most of
// the time nothing of it is in progress.
func (c *Commands) MovePartition(ctx context.Context, ref bellows.PartitionRef, to bellows.NodeID) (moved <-chan error, err error) {
	return c.movePartition(ctx, ref, to, false)
}

// HurryPartition moves a partition like MovePartition, but as fast as possible, at the cost of the job's clocks: for a
// node that will end soon.
func (c *Commands) HurryPartition(ctx context.Context, ref bellows.PartitionRef, to bellows.NodeID) (moved <-chan error, err error) {
	return c.movePartition(ctx, ref, to, true)
}

func (c *Commands) movePartition(ctx context.Context, ref bellows.PartitionRef, to bellows.NodeID, urgent bool) (moved <-chan error, err error) {
	told := make(chan error, 1)
	return told, c.ask(ctx, "move a partition", func(l *lead) error {
		if l.finished {
			return errOver("move a partition")
		}
		lane, some := leastLane(l.route, l.job, to)
		if !some {
			return bellows.Errorf(bellows.Config, "move a partition", ref.String(), "node %d has no lane", to)
		}
		if l.route.Contains(ref) && l.route.Owner(ref).Lane.Node == to {
			lane = l.route.Owner(ref).Lane
		}
		if err := l.shell.MovePartition(ref, lane, urgent, &l.fx); err != nil {
			return bellows.Errorf(bellows.Config, "move a partition", ref.String(), "%w", err)
		}
		l.shifts = slices.DeleteFunc(l.shifts, func(s shifting) bool {
			if s.ref == ref {
				s.answer <- bellows.Errorf(bellows.Interrupted, "move a partition", ref.String(), "a later command sends it elsewhere")
			}
			return s.ref == ref
		})
		if l.route.Owner(ref).Lane == lane {
			told <- nil
			return nil
		}
		s := shifting{ref: ref, to: lane, since: time.Now(), answer: told}
		// it continues if the same move was requested before
		s.meter = measure.Readings{{Millis: l.millis(), Bytes: int64(copyOf(&s, l.shell.Moving()).Copied)}}
		l.shifts = append(l.shifts, s)
		return nil
	})
}

// valuesOf returns the number of values that the rows of a partition have, or may have.
func valuesOf(r *route.Route, job *train.Job, ref bellows.PartitionRef) int {
	cut := r.Cut(ref.Table)
	if job.Tables[ref.Table].Sparse {
		return cut.Most() * job.Tables[ref.Table].Width
	}
	first, end := cut.Rows(ref.Partition)
	return int(end-first) * job.Tables[ref.Table].Width
}

// leastLane returns the lane of a node that holds the fewest values; false if it has none.
func leastLane(r *route.Route, job *train.Job, n bellows.NodeID) (least wire.Address, some bool) {
	held := map[wire.Address]int{} // for look-ups only
	for ref := range r.Each() {
		held[r.Owner(ref).Lane] += valuesOf(r, job, ref)
	}
	for _, a := range r.Lanes() {
		if a.Node == n && (!some || held[a] < held[least]) {
			least, some = a, true
		}
	}
	return least, some
}

// settleShifts answers, at the end of a step, the requests to move a partition that are complete, and reports the moves
// that were made.
func (l *lead) settleShifts() {
	for _, m := range l.fx.Moves {
		l.shifted(m)
	}
	if l.fx.Outcome == nil {
		return
	}
	for _, s := range l.shifts {
		s.answer <- errOver("move a partition")
	}
	l.shifts = nil
}

func (l *lead) shifted(m coord.Moved) {
	i := slices.IndexFunc(l.shifts, func(s shifting) bool { return s.ref == m.Ref && s.to == m.To })
	if i < 0 {
		return
	}
	s := l.shifts[i]
	l.shifts = slices.Delete(l.shifts, i, i+1)
	if m.Reason != "" {
		s.answer <- bellows.Errorf(bellows.Unavailable, "move a partition", m.Ref.String(), "%v gave it up: %s", m.From, m.Reason)
		return
	}
	s.answer <- nil
	seconds := time.Since(s.since).Seconds()
	l.change(Change{Kind: Moved, Node: m.To.Node, From: m.From.Node, Partitions: []bellows.PartitionRef{m.Ref}, Bytes: int64(m.Copied), Seconds: seconds,
		Sentence: fmt.Sprintf("partition %v went from node %d to node %d, with %.1f MiB, %.1f s after the command", m.Ref, m.From.Node, m.To.Node, float64(m.Copied)/(1<<20), seconds)})
}
