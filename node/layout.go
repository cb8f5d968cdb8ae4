package node

import (
	"context"
	"slices"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/rule"
	"bellows/table"
)

// Layout is a job's nodes, and who has what.
type Layout struct {
	Version    bellows.RouteVersion // grows with each change
	Members    []Member             // that take part, by number
	Splits     []bellows.NodeID     // where each is active
	Partitions []Holding            // of the first table, then of the second
	Tables     []string             // their names
	Stays      string               // why splits cannot move (train.Job); empty: they can
}

// Holding is a partition, and who has it.
type Holding struct {
	bellows.PartitionRef
	Node  bellows.NodeID
	Bytes int64 // of its rows and what their rule keeps beside them; of a sparse table, whose rows nobody counts, 1
}

// Layout is the job as it is now.
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

// layout is made in the controller's step.
func (l *lead) layout() Layout {
	found := Layout{Version: l.route.Version(), Stays: l.job.Stays, Splits: make([]bellows.NodeID, l.job.Splits)}
	for _, m := range l.members {
		if !l.shell.Gone(m.Node) {
			found.Members = append(found.Members, m)
		}
	}
	slices.SortFunc(found.Members, func(a, b Member) int { return int(a.Node) - int(b.Node) })
	for s := range found.Splits {
		found.Splits[s] = l.route.Node(bellows.SplitID(s))
	}
	for i := range l.job.Tables {
		found.Tables = append(found.Tables, l.job.Tables[i].Name)
	}
	for ref := range l.route.All() {
		found.Partitions = append(found.Partitions, Holding{ref, l.route.Owner(ref).Lane.Node, bytesOf(&l.job.Tables[ref.Table], l.route.Cut(ref.Table), ref.Partition)})
	}
	return found
}

// bytesOf is how large a partition is.
func bytesOf(t *table.Schema, c table.Cut, p bellows.PartitionID) int64 {
	if t.Sparse {
		return 1
	}
	width := t.Width
	if r, err := rule.For(t); err == nil {
		for _, slot := range r.Slots() {
			width += slot
		}
	}
	first, end := c.Rows(p)
	return max(1, 4*int64(end-first)*int64(width))
}

// StaySplit has a split stay where it is, if it was told to go elsewhere and has not gone: whoever waits for that is told.
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

// StayPartition has a partition stay where it is, if it was told to go elsewhere and has not gone: whoever waits for that is told.
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

// planned is how far a change of the job's shape is, by the time of now.
func (l *lead) planned() *api.Plan {
	if l.plan == nil {
		return nil
	}
	p := *l.plan
	p.Seconds += time.Since(l.planAt).Seconds()
	return &p
}

// Planned tells how far a change of the job's shape is, for who looks at the job, and what was decided about it. Nil: none is under way.
func (c *Commands) Planned(ctx context.Context, p *api.Plan, decided []Change) error {
	return c.ask(ctx, "tell of a plan", func(l *lead) error {
		l.plan, l.planAt = p, time.Now()
		for _, d := range decided {
			l.change(d)
		}
		return nil
	})
}
