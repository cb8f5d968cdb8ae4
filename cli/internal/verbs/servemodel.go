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
		Short: "Answer questions for predictions over HTTP",
		Long: "Answer questions for the predictions of a saved model over HTTP: POST /predict with rows as JSON or as lines of a\n" +
			"file, GET /model, GET /health, and GET /metrics for Prometheus. When the files in MODEL change, or at SIGHUP, the\n" +
			"model is opened again: the one from before answers until the new one has been found whole. Ctrl-C and SIGTERM\n" +
			"end it when what is under way has been answered.",
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
	f.StringVar(&listen, "listen", listen, "`address` to answer at: HOST:PORT, where port 0 is any free one, or unix:PATH")
	f.Int64Var(&limits.Body, "max-body", limits.Body, "refuse questions of more than so many `bytes`")
	f.IntVar(&limits.Rows, "max-rows", limits.Rows, "refuse questions of more than so many `rows`")
	f.IntVar(&limits.Requests, "max-requests", limits.Requests, "answer so many questions at once; those beyond are told to ask again")
	f.IntVar(&limits.Connections, "max-connections", limits.Connections, "keep so many connections open at once; those beyond wait")
	f.DurationVar(&limits.Timeout, "timeout", limits.Timeout, "how `long` a question may take to come")
	f.DurationVar(&limits.Drain, "drain", limits.Drain, "how `long` at the end to wait for what is under way")
	f.DurationVar(&limits.Look, "look", limits.Look, "how `often` to look whether the files of MODEL have changed; 0 is never but at SIGHUP")
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
		c.Talk("whoever reaches %s may ask the model", serve.Address(l))
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
