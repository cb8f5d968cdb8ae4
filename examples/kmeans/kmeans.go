package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/table"
	"bellows/train"
)

// kmeans looks for centres that points lie close to. The points are the rows of the data; their labels say nothing.
//
// There are two tables. Row k of sums is the sum of cluster k's points and their number. Every clock each split assigns its
// points to the nearest centre and pushes how its own sums have changed; what they were is in mine, the split's lasting state.
type kmeans struct{}

const (
	sums train.Table = iota
	mine             // rows of split s: clusters*s and on
)

// Describe implements app.Application.
func (kmeans) Describe() app.Description {
	return app.Description{
		Name: "kmeans", Title: "k-means clustering", Unit: "points", Data: data.Examples,
		Settings: []app.Setting{
			{Name: "clusters", Default: "8", Reason: "how many centres to look for"},
			{Name: "splits", Default: "8", Reason: "parts of the data, one executor each"},
		},
		Metrics: []string{"train_distance", "test_distance"}, // root of the mean squared one to the nearest centre
	}
}

// problem is what a run works on.
type problem struct {
	app.Values
	clusters, splits, epochs int
	goal                     *app.Goal
	features                 int
	points, held             [][]float32
	first                    [][]float32 // centres of clusters that are still empty
}

// NewRun implements app.Application.
func (k kmeans) NewRun(in app.Input) (*app.Run, error) {
	v, err := app.Resolve(k.Describe(), in.Settings)
	if err != nil {
		return nil, err
	}
	p := &problem{Values: v, clusters: v.Int("clusters", 1, 1<<12), splits: v.Int("splits", 1, 1<<10), epochs: in.Epochs, goal: in.Goal}
	if err := v.Err(); err != nil {
		return nil, err
	}
	if in.Staleness != nil && *in.Staleness != 0 {
		return nil, bellows.Errorf(bellows.Config, "train", "kmeans", "its clocks are rounds: staleness must be 0")
	}
	p.features = in.Data.Examples.Features
	p.divide(in)
	if len(p.points) < p.clusters {
		return nil, bellows.Errorf(bellows.BadData, "train", "kmeans", "%d points are too few for %d clusters", len(p.points), p.clusters)
	}
	p.spread()
	return &app.Run{
		Job: train.Job{
			Tables: []table.Schema{
				{Name: "sums", Rows: p.clusters, Width: p.features + 1},
				{Name: "mine", Rows: p.splits * p.clusters, Width: p.features + 1, Partitions: p.splits},
			},
			Splits: p.splits,
			Items: func(s bellows.SplitID, _ bellows.Clock) bellows.Range {
				return bellows.Range{End: len(app.Part(p.points, int(s), p.splits))}
			},
			Driver:      &train.Rounds{Splits: p.splits, Each: p.epoch},
			NewExecutor: func(s bellows.SplitID) (train.Executor, error) { return p, nil },
		},
		Settings: v.Map(), Headline: fmt.Sprintf("%d clusters", p.clusters), Items: int64(len(p.points)), Objective: "train_distance",
		Model: p.model,
	}, nil
}

// divide makes points of the rows to train on, and of those that are held out where no others are given.
func (p *problem) divide(in app.Input) {
	if in.Test != nil {
		p.points, p.held = dense(in.Data), dense(in.Test)
		return
	}
	training, held := data.HoldOut(in.Seed, in.Data.Rows(), data.HeldAlone)
	p.points, p.held = dense(in.Data.Select(training)), dense(in.Data.Select(held))
}

// dense returns rows side by side, whatever form they have.
func dense(from *data.Set) [][]float32 {
	set := from.Examples
	rows := make([][]float32, set.Rows())
	for r := range rows {
		if !set.Sparse() {
			rows[r] = set.Dense[r*set.Features : (r+1)*set.Features]
			continue
		}
		rows[r] = make([]float32, set.Features)
		for i := set.Offset[r]; i < set.Offset[r+1]; i++ {
			rows[r][set.Index[i]] = set.Value[i]
		}
	}
	return rows
}

// spread chooses the first centres: each is the point that is furthest from those before it.
func (p *problem) spread() {
	away := make([]float64, len(p.points))
	for i := range away {
		away[i] = math.Inf(1)
	}
	for next := 0; len(p.first) < p.clusters; {
		centre := p.points[next]
		p.first = append(p.first, centre)
		for i, x := range p.points {
			away[i] = min(away[i], squared(x, centre))
			if away[i] > away[next] {
				next = i
			}
		}
	}
}

func squared(x, y []float32) (sum float64) {
	for j := range x {
		d := float64(x[j] - y[j])
		sum += d * d
	}
	return sum
}

func nearest(centres [][]float32, x []float32) (best int, least float64) {
	least = math.Inf(1)
	for k, c := range centres {
		if d := squared(x, c); d < least {
			best, least = k, d
		}
	}
	return best, least
}

// centres returns the means of the clusters, of rows of sums.
func (p *problem) centres(rows []float32) [][]float32 {
	list := make([][]float32, p.clusters)
	for k := range list {
		row := rows[k*(p.features+1) : (k+1)*(p.features+1)]
		if row[p.features] == 0 {
			list[k] = p.first[k]
			continue
		}
		for _, v := range row[:p.features] {
			list[k] = append(list[k], v/row[p.features])
		}
	}
	return list
}

// RunTask implements train.Executor: a clock of one split. The result is what the points cost, what the held-out ones cost,
// and how many points have come to a cluster or left one.
func (p *problem) RunTask(t *train.Task) error {
	centres := p.centres(t.PullRange(sums, 0, bellows.RowID(p.clusters)))
	home := bellows.RowID(int(t.Split()) * p.clusters)
	last := t.PullRange(mine, home, home+bellows.RowID(p.clusters))
	change := make([]float32, len(last))
	cost, held, moved := 0.0, 0.0, 0.0
	for _, x := range app.Part(p.points, int(t.Split()), p.splits) {
		k, d := nearest(centres, x)
		row := change[k*(p.features+1):]
		for j, v := range x {
			row[j] += v
		}
		row[p.features]++
		cost += d
	}
	for _, x := range app.Part(p.held, int(t.Split()), p.splits) {
		_, d := nearest(centres, x)
		held += d
	}
	for i := range change {
		if change[i] -= last[i]; i%(p.features+1) == p.features {
			moved += math.Abs(float64(change[i]))
		}
	}
	t.PushRange(sums, 0, change)
	t.PushRange(mine, home, change)
	t.SignalTaskCompletion(cost, held, moved)
	return nil
}

// epoch reports a round, and reports whether there is another: not if one point in 1,000 moves or fewer, unless a
// number of epochs was set. It keeps no state, so that another process can continue.
func (p *problem) epoch(round int, results [][]float64, to *train.Dispatcher) bool {
	var cost, held, moved float64
	for _, r := range results {
		cost, held, moved = cost+r[0], held+r[1], moved+r[2]
	}
	e := train.Epoch{Number: round + 1, Items: int64(round+1) * int64(len(p.points)), Metrics: []train.Metric{
		{Name: "train_distance", Value: math.Sqrt(cost / float64(len(p.points)))}}}
	if len(p.held) > 0 {
		e.Metrics = append(e.Metrics, train.Metric{Name: "test_distance", Value: math.Sqrt(held / float64(len(p.held)))})
	}
	to.ShowEpoch(e)
	if p.goal.Reached(e.Metrics) {
		return false
	}
	if p.epochs > 0 {
		return e.Number < p.epochs
	}
	return moved*1000 > float64(len(p.points))
}

// model returns the centres, and how many points each has.
func (p *problem) model(tables [][]float32) (*model.Model, error) {
	centres := model.Tensor{Name: "centres", Shape: []int{p.clusters, p.features}}
	points := model.Tensor{Name: "points", Shape: []int{p.clusters}}
	for k, c := range p.centres(tables[sums]) {
		centres.Floats = append(centres.Floats, c...)
		points.Counts = append(points.Counts, int32(tables[sums][(k+1)*(p.features+1)-1]))
	}
	return &model.Model{App: "kmeans", Settings: p.Map(), Tensors: []model.Tensor{centres, points}}, nil
}

// clusters is a model that answers.
type clusters struct {
	features int
	centres  [][]float32
	points   []int32
}

// Open implements app.Application.
func (kmeans) Open(m *model.Model) (app.Predictor, error) { return open(m) }

func open(m *model.Model) (*clusters, error) {
	r := m.Reader("kmeans")
	c := &clusters{points: r.Counts("points", model.Any)}
	centres := r.Floats("centres", len(c.points), model.Any)
	for k := range c.points {
		c.features = len(centres) / len(c.points)
		c.centres = append(c.centres, centres[k*c.features:(k+1)*c.features])
	}
	return c, r.Err()
}

// Read implements app.Predictor.
func (c *clusters) Read() (data.Kind, data.Options) {
	return data.Examples, data.Options{Features: c.features}
}

// Evaluate implements app.Predictor.
func (c *clusters) Evaluate(set *data.Set) ([]train.Metric, error) {
	sum := 0.0
	for _, x := range dense(set) {
		_, d := nearest(c.centres, x)
		sum += d
	}
	return []train.Metric{{Name: "distance", Value: math.Sqrt(sum / float64(set.Rows()))}}, nil
}

// Predict implements app.Predictor: the number of the nearest centre, and how far it is.
func (c *clusters) Predict(set *data.Set, out io.Writer) error {
	points := dense(set)
	return app.WriteLines(out, len(points), func(line []byte, r int) []byte {
		k, d := nearest(c.centres, points[r])
		return fmt.Appendf(line, "%d\t%.4g", k, math.Sqrt(d))
	})
}

// Verbs implements app.Asker.
func (kmeans) Verbs() []app.Verb {
	return []app.Verb{{
		Name: "centres", Short: "Print the centres of a model, and how many points each has",
		Columns: []string{"cluster", "points", "centre"},
		Answer: func(q *app.Question) (rows [][]any, err error) {
			c, err := open(q.Model)
			if err != nil {
				return nil, err
			}
			for k, n := range c.points {
				rows = append(rows, []any{k, n, strings.Trim(fmt.Sprintf("%.4g", c.centres[k]), "[]")})
			}
			return rows, nil
		},
	}}
}
