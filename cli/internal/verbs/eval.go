package verbs

import (
	"cmp"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/scores"
	"bellows/cli/internal/stage"

	"github.com/spf13/cobra"
)

// evalReport is what `eval --json` prints.
type evalReport struct {
	Model   string             `json:"model"`
	App     string             `json:"app"`
	Data    []string           `json:"data"`
	Rows    int                `json:"rows"`
	Metrics map[string]float64 `json:"metrics"`
	Unknown map[string]int64   `json:"unknown"` // what the model does not know, by what it is: "labels"
	// Of models that name one of several classes.
	Classes   []scores.Class `json:"classes,omitempty"`
	Confusion [][]int64      `json:"confusion,omitempty"` // by the class of rows, then by the class that they are said to be of
	Seconds   float64        `json:"seconds"`             // of scoring, without reading
	stage.Timing
}

// metricWidth is that of the names, unless one is longer.
const metricWidth = 12

func (c *Tool) evalCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	var metrics string
	cmd := c.questionCommand(&cobra.Command{
		Use:     "eval MODEL DATA...",
		Short:   "Score a saved model on labelled data",
		Example: "eval " + one.model() + " " + one.labelled + "\neval " + other.model() + " " + other.labelled + " --json",
	}, false, stage.Scoring, func(q *question) error { return c.eval(q, metrics) })
	cmd.Flags().StringVar(&metrics, "metrics", "", "`names` of metrics, separated by commas (default: those that fit the model); a name that is not known lists them")
	return cmd
}

func (c *Tool) eval(q *question, metrics string) error {
	if err := c.read(q); err != nil {
		return err
	}
	defer q.set.Close()
	if rows := q.set.Rows(); rows > 0 && q.unknown["labels"] == int64(rows) {
		return bellows.Errorf(bellows.BadData, "score", strings.Join(q.files, " "), "none of the labels is one of the model's").
			Hinted("its labels are in labels.txt of " + q.name + "; name the column of the labels with --label, or give rows of its classes")
	}
	start := time.Now()
	q.stages.Enter(stage.Scoring)
	pace(q.predictor, q.stages.Meter)
	found, err := scores.Examine(q.predictor, q.set, metrics)
	if err = cmp.Or(q.ctx.Err(), err); err != nil {
		return interruptedWhile(q.ctx, "scoring", err)
	}
	r := evalReport{Model: q.name, App: q.model.App, Data: q.files, Rows: q.set.Rows(), Metrics: finiteMetrics(found.Metrics), Unknown: q.unknown,
		Classes: scores.Classes(found.Classes), Confusion: found.Confusion, Seconds: time.Since(start).Seconds(), Timing: q.stages.Timing()}
	width := metricWidth
	for _, m := range found.Metrics {
		width = max(width, len(m.Name))
	}
	for _, m := range found.Metrics {
		c.Printf("%-*s %s\n", width, m.Name, figures.Number(m.Value))
	}
	scores.Print(c.Console, r.Classes, r.Confusion)
	return c.Object(r)
}
