package verbs

import (
	"time"

	"github.com/spf13/cobra"
)

// evalReport is what `eval --json` prints.
type evalReport struct {
	Model   string             `json:"model"`
	App     string             `json:"app"`
	Data    []string           `json:"data"`
	Rows    int                `json:"rows"`
	Metrics map[string]float64 `json:"metrics"`
	Seconds float64            `json:"seconds"` // of scoring, without reading
}

func (c *Tool) evalCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	return c.questionCommand(&cobra.Command{
		Use:     "eval MODEL DATA...",
		Short:   "Score a saved model on labelled data",
		Example: "eval " + one.model() + " " + one.labelled + "\neval " + other.model() + " " + other.labelled + " --json",
	}, false, c.eval)
}

func (c *Tool) eval(q *question) error {
	start := time.Now()
	metrics, err := q.predictor.Evaluate(q.set)
	if err != nil {
		return err
	}
	r := evalReport{q.name, q.model.App, q.files, q.set.Rows(), finiteMetrics(metrics), time.Since(start).Seconds()}
	for _, m := range metrics {
		c.Printf("%-12s %.4f\n", m.Name, m.Value)
	}
	return c.Object(r)
}
