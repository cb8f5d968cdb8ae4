package node

import (
	"context"
	"slices"
	"time"

	"bellows"
	"bellows/api"
	"bellows/node/measure"
)

// A Layout is a job's nodes and their work.
type Layout struct {
	Version    bellows.RouteVersion // grows with each change
	Members    []Member             // that take part, by number
	Splits     []bellows.NodeID     // where each is active
	Partitions []Holding            // of the first table, then of the second
	Tables     []string             // their names
	Stays      string               // why splits cannot move (train.Job); empty: they can
}

// A Holding is a partition and its holder.
type Holding struct {
	bellows.PartitionRef
	Node  bellows.NodeID
	Bytes int64 // of its rows and of their rule's state; 1 for a sparse table: its rows are not counted
}

// Layout returns the current state of the job.
func (c *Commands) Layout(ctx context.Context) (Layout, error) {
	var found Layout
	err := c.ask(ctx, "look at the job's layout", func(l *lead) error {
		if l.finished {
			return errOver("look at the job's layout")
		}
		if !l.shell.Begun() {
			return bellows.Errorf(bellows.Unavailable, "look at the job's layout", "", "the job has not begun")
		}
		found = l.layout()
		return nil
	})
	return found, err
}

// layout returns the job's state. It runs in a step of the controller.
func (l *lead) layout() Layout {
	found := Layout{Version: l.route.Version(), Stays: l.job.Stays, Splits: make([]bellows.NodeID, l.job.Splits)}
	found.Members = l.present()
	for s := range found.Splits {
		found.Splits[s] = l.route.Node(bellows.SplitID(s))
	}
	for i := range l.job.Tables {
		found.Tables = append(found.Tables, l.job.Tables[i].Name)
	}
	for ref := range l.route.Each() {
		found.Partitions = append(found.Partitions, Holding{ref, l.route.Owner(ref).Lane.Node, measure.PartitionBytes(&l.job.Tables[ref.Table], l.route.Cut(ref.Table), ref.Partition)})
	}
	return found
}

// present returns the members that take part, by number.
func (l *lead) present() (list []Member) {
	for _, m := range l.members {
		if !l.shell.Gone(m.Node) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return int(a.Node) - int(b.Node) })
	return list
}

// StaySplit cancels the move of a split that has not moved yet. The waiting caller of the move is notified.
func (c *Commands) StaySplit(ctx context.Context, s bellows.SplitID) error {
	return c.ask(ctx, "keep a split", func(l *lead) error {
		if l.finished {
			return errOver("keep a split")
		}
		if int(s) >= l.job.Splits {
			return bellows.Errorf(bellows.Config, "keep a split", "", "there is no split %d", s)
		}
		if err := l.shell.MoveSplit(s, l.route.Node(s), &l.fx); err != nil {
			return bellows.Errorf(bellows.Config, "keep a split", "", "%w", err)
		}
		l.supersede(s)
		return nil
	})
}

// StayPartition cancels the move of a partition that has not moved yet. The waiting caller of the move is notified.
func (c *Commands) StayPartition(ctx context.Context, ref bellows.PartitionRef) error {
	return c.ask(ctx, "keep a partition", func(l *lead) error {
		if l.finished {
			return errOver("keep a partition")
		}
		l.shell.CancelMove(ref, &l.fx)
		l.shifts = slices.DeleteFunc(l.shifts, func(s shifting) bool {
			if s.ref == ref {
				s.answer <- bellows.Errorf(bellows.Interrupted, "move a partition", ref.String(), "it was told to stay")
			}
			return s.ref == ref
		})
		return nil
	})
}

// planned returns the progress of a change of the job's shape, as of now.
func (l *lead) planned() *api.Plan {
	if l.plan == nil {
		return nil
	}
	p := *l.plan
	p.Seconds += time.Since(l.planAt).Seconds()
	return &p
}

// Planned shows the progress of a change of the job's shape, and what was decided about it. nil: none is in progress.
func (c *Commands) Planned(ctx context.Context, p *api.Plan, decided []Change) error {
	return c.ask(ctx, "tell of a plan", func(l *lead) error {
		l.plan, l.planAt = p, time.Now()
		for _, d := range decided {
			l.change(d)
		}
		return nil
	})
}
