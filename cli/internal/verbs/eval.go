package verbs

import (
	"cmp"
	"runtime"
	"strings"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/scores"
	"bellows/cli/internal/timing"
	"bellows/data"
	"bellows/figures"

	"github.com/spf13/cobra"
)

// evalReport is what `eval --json` prints.
type evalReport struct {
	Model   string             `json:"model"`
	App     string             `json:"app"`
	Data    []string           `json:"data"`
	Rows    int64              `json:"rows"`
	Metrics map[string]float64 `json:"metrics"`
	Unknown map[string]int64   `json:"unknown"` // what the model does not know, by what it is: "labels"
	Missing int                `json:"missing"` // values that are missing
	// Of models that name one of several classes.
	Classes   []scores.Class `json:"classes,omitempty"`
	Confusion [][]int64      `json:"confusion,omitempty"` // by the class of rows, then by the class that they are said to be of
	Seconds   float64        `json:"seconds"`             // of reading and scoring, which go together; of scoring alone where all rows are read first
	timing.Timing
}

// metricWidth is that of the names, unless one is longer.
const metricWidth = 12

func (c *Tool) evalCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	var metrics string
	cmd := c.questionCommand(&cobra.Command{
		Use:   "eval MODEL DATA...",
		Short: "Score a saved model on labelled data",
		Annotations: line.Details("Rows are scored while others are read, so DATA may be of any size. Ranking metrics, such as ndcg@10, need all ratings " +
			"of a user, and therefore all rows in memory."),
		Example: "eval " + one.model() + " " + one.labelled + "\neval " + other.model() + " " + other.labelled + " --json",
	}, false, timing.Scoring, func(q *question) error { return c.eval(q, metrics) })
	cmd.Flags().StringVar(&metrics, "metrics", "", "`NAMES` of metrics: a,b (default: those that suit the model)")
	return cmd
}

func (c *Tool) eval(q *question, metrics string) error {
	flow, err := scores.Begin(q.predictor, metrics, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	r := evalReport{Model: q.name, App: q.model.App, Data: q.files}
	var found *app.Examination
	if flow != nil {
		found, err = c.evalFlowing(q, flow, &r)
	} else {
		found, err = c.evalWhole(q, metrics, &r)
	}
	if err != nil {
		return err
	}
	r.Metrics, r.Unknown, r.Missing, r.Timing = finiteMetrics(found.Metrics), q.unknown, q.missing, q.stages.Timing()
	r.Classes, r.Confusion = scores.Classes(found.Classes), found.Confusion
	width := metricWidth
	for _, m := range found.Metrics {
		width = max(width, len(m.Name))
	}
	for _, m := range found.Metrics {
		c.Printf("%-*s %s\n", width, m.Name, figures.Value(m.Name, m.Value))
	}
	scores.Print(c.Console, r.Classes, r.Confusion)
	return c.Object(r)
}

// evalFlowing scores rows as they are read.
func (c *Tool) evalFlowing(q *question, flow *scores.Flow, r *evalReport) (*app.Examination, error) {
	start := time.Now()
	q.stages.Enter(timing.Scoring)
	q.stages.Live.Turn("Ctrl-C stops")
	about := c.application(q.model.App).Describe()
	detected, err := data.Stream(q.ctx, q.files, q.kind, q.opt, func(b *data.Block) error {
		if err := checkWeights(about, b.Set); err != nil {
			return err
		}
		return flow.Take(b)
	})
	if err != nil {
		return nil, interruptedWhile(q.ctx, "scoring", err)
	}
	q.showDetected(c, &detected)
	q.unknown = flow.Unknown()
	c.tellUnknown(q, &detected)
	if err := q.known(flow.Rows()); err != nil {
		return nil, err
	}
	found, err := flow.Examination()
	r.Rows, r.Seconds = flow.Rows(), time.Since(start).Seconds()
	return found, err
}

// evalWhole scores rows when all of them are there.
func (c *Tool) evalWhole(q *question, metrics string, r *evalReport) (*app.Examination, error) {
	if err := c.read(q); err != nil {
		return nil, err
	}
	defer q.set.Close()
	if err := checkWeights(c.application(q.model.App).Describe(), q.set); err != nil {
		return nil, err
	}
	r.Rows = int64(q.set.Rows())
	if err := q.known(r.Rows); err != nil {
		return nil, err
	}
	start := time.Now()
	q.stages.Enter(timing.Scoring)
	pace(q.predictor, q.stages.Meter)
	found, err := scores.Examine(q.predictor, q.set, metrics)
	if err = cmp.Or(q.ctx.Err(), err); err != nil {
		return nil, interruptedWhile(q.ctx, "scoring", err)
	}
	r.Seconds = time.Since(start).Seconds()
	return found, nil
}

// known refuses rows if the model knows the label of none.
func (q *question) known(rows int64) error {
	if rows > 0 && q.unknown["labels"] == rows {
		return bellows.Errorf(bellows.BadData, "score", strings.Join(q.files, " "), "none of the labels is one of the model's").
			Hinted("its labels are in labels.txt of " + q.name + "; name the column of the labels with --label, or give rows of its classes")
	}
	return nil
}
