package verbs

import (
	"runtime"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/timing"
	"bellows/data"
	"bellows/figures"
	"bellows/serve/predictions"

	"github.com/spf13/cobra"
)

// predictReport is the last line of `predict --json`; before it comes a line per row, see package predictions.
type predictReport struct {
	Model   string           `json:"model"`
	App     string           `json:"app"`
	Rows    int64            `json:"rows"`
	Unknown map[string]int64 `json:"unknown"` // what the model does not know, by what it is: "users"
	Missing int              `json:"missing"` // values that are missing
	Out     string           `json:"out,omitempty"`
	Seconds float64          `json:"seconds"` // of reading and predicting, which go together
	timing.Timing
}

func (c *Tool) predictCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	var names bool
	var out string
	cmd := c.questionCommand(&cobra.Command{
		Use:   "predict MODEL DATA...",
		Short: "Predict each row of DATA with a saved model",
		Annotations: line.Details("It prints one line for each row, in the order of DATA. The rows need not have what is predicted: ratings may have two " +
			"fields, tables no label. Rows are written while others are read, so DATA may be of any size. A row that cannot be read ends the " +
			"command; the predictions of the rows before it are written."),
		Example: "predict " + one.model() + " " + one.asked + " > " + one.answer + "\npredict " + other.model() + " - < " + other.asked,
	}, true, timing.Answering, func(q *question) error { return c.predict(q, names, out) })
	cmd.Flags().BoolVar(&names, "names", false, "print a first line with the names of the fields")
	cmd.Flags().StringVar(&out, "out", "", "write the lines to this `FILE` (default: standard output)")
	return cmd
}

func (c *Tool) predict(q *question, names bool, out string) error {
	start := time.Now()
	q.stages.Enter(timing.Answering)
	to, err := c.outlet(q, out)
	if err != nil {
		return err
	}
	defer to.Close()
	run := predictions.NewWriter(q.predictor, to, c.JSON, runtime.GOMAXPROCS(0))
	if names && !c.JSON {
		if err := run.Names(q.model.App); err != nil {
			return err
		}
	}
	detected, err := data.Stream(q.ctx, q.files, q.kind, q.opt, run.Take)
	if kept := to.Kept(); err != nil && kept != "" {
		c.Talk("the first %s rows are in %s", figures.Grouped(run.Rows()), kept)
	}
	if err != nil && q.ctx.Err() != nil {
		return bellows.Errorf(bellows.Interrupted, "interrupted", "while predicting", "what was written is of the first rows")
	}
	if err != nil {
		return err
	}
	if err := to.Done(); err != nil {
		return err
	}
	q.showDetected(c, &detected)
	q.unknown = run.Unknown()
	c.tellUnknown(q, &detected)
	return c.Object(predictReport{q.name, q.model.App, run.Rows(), q.unknown, q.missing, out, time.Since(start).Seconds(), q.stages.Timing()})
}

// outlet returns where predictions go.
func (c *Tool) outlet(q *question, out string) (*predictions.Outlet, error) {
	if out == "" {
		q.stages.Live.Yield()
		return predictions.NewOutlet(c.Console), nil
	}
	return predictions.Create(out, q.files)
}
