// Package trial trains an application on a set within a benchmark's process, and counts items, tasks, allocations, wall
// time and processor time.
//
// The caller's duties: fill in a Setup, call Train for one run or Side for turns of a comparison. An error ends the command, as in
// package pair.
//
// The package refuses to measure what comes before the first epochs: a Side counts from the end of one epoch to the end
// of another, so that reading, laying out and warming up are outside, and says nothing of their cost.
package trial

import (
	"context"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bellows/app"
	"bellows/bench/internal/pair"
	"bellows/data"
	"bellows/model"
	"bellows/node"
	"bellows/train"
)

// Setup is one way to train.
type Setup struct {
	App      app.Application
	Data     *data.Set
	Test     *data.Set // nil: none
	Epochs   int       // 0: the application's choice
	Slots    int       // compute slots
	Seed     uint64    // 0: 1
	Stale    *int      // staleness; nil: the application's choice
	Goal     *app.Goal
	Settings map[string]string
}

// mark is where a run stood at the end of an epoch.
type mark struct {
	items        int64
	wall         time.Time
	trained, cpu time.Duration
	tasks        int
	mallocs      uint64
}

// Outcome is what a run came to.
type Outcome struct {
	Epochs   []train.Epoch // as reported, in order
	Trained  time.Duration // while tasks that visit items were out
	Total    time.Duration // of the training job, scoring and all
	Settings map[string]string
	Audit    node.Audit
	began    time.Duration // CPU time of the process before the run was made
	marks    []mark
	app      app.Application
	finished func() *model.Model
}

// counter is a driver that counts completed tasks, while others look.
type counter struct {
	train.Driver
	tasks atomic.Int64
}

func (c *counter) HandleTaskCompletion(done train.Completion, to *train.Dispatcher) {
	c.tasks.Add(1)
	c.Driver.HandleTaskCompletion(done, to)
}

// Train runs the setup to its end.
func (s Setup) Train() *Outcome {
	began := pair.CPUTime()
	run := pair.Must(s.App.NewRun(app.Input{Data: s.Data, Test: s.Test, Seed: max(1, s.Seed), Epochs: s.Epochs, Staleness: s.Stale, Goal: s.Goal, Slots: s.Slots, Settings: s.Settings}))
	out := &Outcome{Settings: run.Settings, began: began}
	count := &counter{Driver: run.Job.Driver}
	run.Job.Driver = count
	result := pair.Must(node.Train(context.Background(), run.Job, node.Options{Slots: s.Slots, OnEpoch: func(e train.Epoch, so node.Spent) {
		out.Epochs = append(out.Epochs, e)
		out.marks = append(out.marks, mark{items: e.Items, wall: time.Now(), trained: so.Trained, cpu: pair.CPUTime(), tasks: int(count.tasks.Load()), mallocs: mallocs()})
	}}))
	if list := result.Audit.Disagreements(true); list != nil {
		pair.Check(fmt.Errorf("trial: the audit does not agree: %s", strings.Join(list, "; ")))
	}
	out.Trained, out.Total, out.Audit = result.Trained, result.Total, result.Audit
	out.app, out.finished = s.App, func() *model.Model { return pair.Must(run.Model(result.Tables)) }
	return out
}

// Times says how long it took.
func (o *Outcome) Times() string {
	return fmt.Sprintf("%.2f s of training, %.2f s with scoring", o.Trained.Seconds(), o.Total.Seconds())
}

// mallocs counts the allocations so far, without stopping the world.
func mallocs() uint64 {
	samples := [...]metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// Metric returns a metric as it was last known by the end of an epoch, counted from 1.
func (o *Outcome) Metric(metric string, epoch int) (value float64, ok bool) {
	for _, e := range o.Epochs[:min(epoch, len(o.Epochs))] {
		for _, m := range e.Metrics {
			if m.Name == metric {
				value, ok = m.Value, true
			}
		}
	}
	return value, ok
}

// First returns the first epoch after which a metric was at least so much, and how much; the last epoch where it never
// was.
func (o *Outcome) First(metric string, least float64) (value float64, epoch int) {
	for _, e := range o.Epochs {
		var ok bool
		if value, ok = o.Metric(metric, e.Number); ok && value >= least {
			return value, e.Number
		}
	}
	return value, len(o.Epochs)
}

// Model returns the model that the run kept.
func (o *Outcome) Model() *model.Model { return o.finished() }

// Score returns a metric of the model that the run kept, on labelled data.
func (o *Outcome) Score(set *data.Set, metric string) float64 {
	metrics := pair.Must(pair.Must(o.app.Open(o.finished())).Evaluate(set))
	at := slices.IndexFunc(metrics, func(m train.Metric) bool { return strings.TrimPrefix(m.Name, "test_") == metric })
	if at < 0 {
		pair.Check(fmt.Errorf("trial: the model has no metric %q among %v", metric, metrics))
	}
	return metrics[at].Value
}

// mark returns the end of an epoch, counted from 1.
func (o *Outcome) mark(epoch int) mark {
	if epoch < 1 || epoch > len(o.marks) {
		pair.Check(fmt.Errorf("trial: epoch %d of a run of %d", epoch, len(o.marks)))
	}
	return o.marks[epoch-1]
}

// Whole returns the epochs after from up to to, as one turn: all that the job does, scoring and all.
func (o *Outcome) Whole(from, to int) pair.Turn {
	a, b := o.mark(from), o.mark(to)
	return pair.Turn{Work: float64(b.items - a.items), Wall: b.wall.Sub(a.wall), CPU: b.cpu - a.cpu}
}

// Visiting returns Whole without the scoring between epochs, by wall time; CPU time cannot be separated.
func (o *Outcome) Visiting(from, to int) pair.Turn {
	a, b := o.mark(from), o.mark(to)
	return pair.Turn{Work: float64(b.items - a.items), Wall: b.trained - a.trained}
}

// Until returns the sums to the end of an epoch, counted from 1: the items visited, the time while tasks that visit
// items were out, and the CPU time of all, from laying out the data to scoring.
func (o *Outcome) Until(epoch int) pair.Turn {
	m := o.mark(epoch)
	return pair.Turn{Work: float64(m.items), Wall: m.trained, CPU: m.cpu - o.began}
}

// PerTask returns the allocations for a task between the ends of two epochs.
func (o *Outcome) PerTask(from, to int) (mallocs float64, tasks int) {
	a, b := o.mark(from), o.mark(to)
	tasks = b.tasks - a.tasks
	return float64(b.mallocs-a.mallocs) / float64(tasks), tasks
}

// Warm is the epochs that a Side runs before it counts.
const Warm = 2

// Sides makes two views of the same runs of a setup: each turn of the first trains Warm + epochs epochs and is the span
// Whole; the second gives the span Visiting of the run that the first has just made.
func (s Setup) Sides(name string, epochs int) (whole, visiting pair.Side) {
	s.Epochs = Warm + epochs
	var last *Outcome
	whole = pair.Side{Name: name, Run: func() pair.Turn {
		last = s.Train()
		return last.Whole(Warm, Warm+epochs)
	}}
	visiting = pair.Side{Name: name, Run: func() pair.Turn { return last.Visiting(Warm, Warm+epochs) }}
	return whole, visiting
}

// Race adds two rows: the visits alone, as a peer's iterations are, and the whole job, which has no target. A peer that is not there
// leaves what row says of it. It returns the second.
func (s Setup) Race(b *pair.Bench, row pair.Row, epochs int, visits, all string, peer ...pair.Side) pair.Row {
	whole, visiting := s.Sides("bellows", epochs)
	series := b.Interleave(append([]pair.Side{whole, visiting}, peer...)...)
	if len(peer) > 0 {
		row.Peer = series[2]
	}
	row.Clock, row.Figure, row.Ours, row.Target = pair.Wall, visits, series[1], 1
	b.Add(row)
	row.Figure, row.Ours, row.Target = all, series[0], 0
	b.Add(row)
	return row
}
