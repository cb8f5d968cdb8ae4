package verbs

import (
	"cmp"

	"bellows/cli/internal/line"
	"bellows/cli/internal/timing"
	"bellows/serve"

	"github.com/spf13/cobra"
)

func (c *Tool) serveModelCommand() *cobra.Command {
	one := c.sample(0)
	var flags readOptions
	limits, listen := serve.Default(), "127.0.0.1:8080"
	cmd := &cobra.Command{
		Use:   "serve-model MODEL",
		Short: "Serve the predictions of a saved model over HTTP",
		Annotations: line.Details("POST /predict takes rows as JSON or as lines of a file; GET /model, GET /health, and GET /metrics for Prometheus take " +
			"nothing. When the files in MODEL change, or at SIGHUP, the model is loaded anew: the old one answers until the new one is complete " +
			"and checked. Ctrl-C and SIGTERM end the server after it has answered open requests."),
		Example: "serve-model " + one.model() + "\nserve-model " + one.model() + " --listen 127.0.0.1:0 --look 0",
		Args:    line.Exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := limits.Check(); f != nil {
				return line.BadFlag(f.Flag, f.Value, "%s", f.Why)
			}
			return c.serveModel(cmd, args[0], flags, limits, listen)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", listen, "`ADDR`: HOST:PORT or unix:PATH")
	f.Int64Var(&limits.Body, "max-body", limits.Body, "refuse requests of more than this many `BYTES`")
	f.IntVar(&limits.Rows, "max-rows", limits.Rows, "refuse requests of more than this many `ROWS`")
	f.IntVar(&limits.Requests, "max-requests", limits.Requests, "largest `NUMBER` of requests at once")
	f.IntVar(&limits.Connections, "max-connections", limits.Connections, "largest `NUMBER` of open connections")
	f.DurationVar(&limits.Timeout, "timeout", limits.Timeout, "longest `DURATION` for a request to arrive")
	f.DurationVar(&limits.Drain, "drain", limits.Drain, "longest `DURATION` to finish requests at the end")
	f.DurationVar(&limits.Look, "look", limits.Look, "`INTERVAL` of checks for a new model; 0: none")
	flags.register(f, 0)
	return cmd
}

func (c *Tool) serveModel(cmd *cobra.Command, name string, flags readOptions, limits serve.Limits, listen string) error {
	open := func() (*serve.Opened, error) {
		q := &question{name: name, ctx: cmd.Context(), stages: &timing.Stages{}}
		if err := c.openModel(q, flags); err != nil {
			return nil, err
		}
		return &serve.Opened{Model: q.model, Predictor: q.predictor, Kind: q.kind, Options: q.opt}, nil
	}
	l, near, err := serve.Listen(listen)
	if err != nil {
		return err
	}
	defer l.Close()
	if !near {
		c.Talk("anyone with access to %s can query the model", serve.Address(l))
	}
	var lost error
	server, err := serve.New(name, limits, near, open, func(e serve.Event) {
		c.Talk("%s", e.Sentence)
		lost = cmp.Or(lost, c.Object(e))
	})
	if err != nil {
		return err
	}
	c.Calm.Store(true)
	hear := server.Reload
	c.Hangup.Store(&hear)
	defer c.Hangup.Store(nil)
	return cmp.Or(server.Serve(cmd.Context(), l), lost)
}
