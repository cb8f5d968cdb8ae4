package measure

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/core/rule"
	"bellows/core/visits"
	"bellows/policy/advise"
	"bellows/policy/gauge"
	"bellows/table"
	"bellows/train"
)

// Whole is a job as its controller knows it, without measuring.
type Whole struct {
	Job      *train.Job
	Route    *route.Route
	Complete bellows.Clock
	Leads    bellows.NodeID
	Nodes    []gauge.Node // that take part, with what they can run, in the order of their numbers
}

// epochOf returns figures with the items and the clocks of an epoch.
func epochOf(job *train.Job) (f gauge.Figures, err error) {
	opens, clocks := 0, 0
	if c, ok := job.Driver.(visits.Cycler); ok {
		opens, clocks = c.Cycle()
	}
	if clocks < 1 {
		return f, bellows.Errorf(bellows.Config, "look at the job's figures", "",
			"its application does not say which clocks make an epoch")
	}
	f.Clocks.Epoch = clocks
	for s := range bellows.SplitID(job.Splits) {
		for c := range clocks {
			f.Items += int64(job.Items(s, bellows.Clock(opens+c)).Len())
		}
	}
	return f, nil
}

// Figures returns the figures of a job. An error of kind Unavailable says how many clocks it takes more; one of kind
// Config, why the job will have no figures.
func (f *Feed) Figures(w *Whole) (*gauge.Figures, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.meter == nil {
		return nil, bellows.Errorf(bellows.Unavailable, "look at the job's figures", "", "the job has not begun")
	}
	found, err := f.meter.Figures(*f.Known(w))
	if err != nil {
		return nil, bellows.Errorf(bellows.Unavailable, "look at the job's figures", "", "%w", err)
	}
	return found, nil
}

// Moment returns the figures with the measured time of an epoch in the present shape. Errors are those of Figures.
func (f *Feed) Moment(w *Whole) (m advise.Moment, err error) {
	if m.Figures, err = f.Figures(w); err == nil {
		m.Epoch, m.Clocks = f.meter.Epoch(f.base.Clocks.Epoch)
	}
	return m, err
}

// Known returns the figures that are known without measuring.
func (f *Feed) Known(w *Whole) *gauge.Figures {
	known := f.base
	to := &known
	to.Clocks.Passed = int(w.Complete) + 1
	if e := &f.epoch; e.Expected > e.Number {
		left := (e.Expected-e.Number)*to.Clocks.Epoch - int(w.Complete-f.at)
		to.Clocks.Expected = max(1, left)
	}
	to.Stays, to.Leads, to.Nodes = w.Job.Stays, w.Leads, slices.Clone(w.Nodes)
	at := func(n bellows.NodeID) *gauge.Node {
		i := slices.IndexFunc(to.Nodes, func(o gauge.Node) bool { return o.ID == n })
		if i < 0 { // it has left, and this controller follows and has not heard where its parts are
			return &gauge.Node{}
		}
		return &to.Nodes[i]
	}
	for s := range bellows.SplitID(w.Job.Splits) {
		n := w.Route.Node(s)
		to.Splits = append(to.Splits, gauge.Split{Node: n})
		at(n).Works = true
	}
	to.Tables = make([]int, len(w.Job.Tables))
	for ref := range w.Route.Each() {
		lane, t := w.Route.Owner(ref).Lane, &w.Job.Tables[ref.Table]
		p := gauge.Partition{Node: lane.Node, Lane: int(lane.Index)}
		p.Bytes = PartitionBytes(t, w.Route.Cut(ref.Table), ref.Partition)
		if split := int(ref.Partition); t.BySplit && split < w.Job.Splits {
			p.Near = &split
		}
		to.Tables[ref.Table]++
		to.Partitions = append(to.Partitions, p)
		at(lane.Node).Serves = true
	}
	return to
}

// PartitionBytes returns the size of a partition with the state of its rule; 1 for a sparse table: its rows are not
// counted.
func PartitionBytes(t *table.Schema, c table.Cut, p bellows.PartitionID) int64 {
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
