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
	var reading readOptions
	one, other := c.sample(0), c.sample(1)
	cmd := &cobra.Command{
		Use:     "eval MODEL DATA...",
		Short:   "Score a saved model on labelled data",
		Example: "eval " + one.model() + " " + one.labelled + "\neval " + other.model() + " " + other.labelled + " --json",
		Args:    modelAndData,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := c.question(cmd.Context(), args, reading, false)
			if err != nil {
				return err
			}
			defer ask.set.Close()
			start := time.Now()
			metrics, err := ask.predictor.Evaluate(ask.set)
			if err != nil {
				return err
			}
			r := evalReport{args[0], ask.model.App, args[1:], ask.set.Rows(), finiteMetrics(metrics), time.Since(start).Seconds()}
			for _, m := range metrics {
				c.Printf("%-12s %.4f\n", m.Name, m.Value)
			}
			return c.Object(r)
		},
	}
	reading.register(cmd.Flags())
	return cmd
}
