package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/verbs"
	"bellows/vec"

	"github.com/spf13/cobra"
)

// execute carries out one command line and returns its exit code.
func execute(c *screen.Console, apps ...app.Application) int {
	ctx, end := untilSignal(c)
	defer end()
	t, err := verbs.New(c, apps...)
	if err == nil {
		err = newRoot(t).ExecuteContext(ctx)
	}
	if err != nil {
		return c.Fail(err)
	}
	return 0
}

// untilSignal is a context that the first Ctrl-C or SIGTERM cancels, so that a command ends at a
// safe point; the second one ends the process at once.
func untilSignal(c *screen.Console) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			cancel()
			if !c.Calm.Load() {
				c.Talk("stopping at a safe point; once more stops at once")
			}
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, cancel
}

// newRoot builds the tree of commands.
func newRoot(t *verbs.Tool) *cobra.Command {
	root := &cobra.Command{
		Use:           t.Name,
		Short:         t.Name + " trains machine-learning models, on machines that come and go",
		Example:       t.Examples(),
		SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true,
		PersistentPreRunE:  prepare,
	}
	line.Choose(root, "command")
	flags := root.PersistentFlags()
	flags.BoolVar(&t.JSON, "json", false, "write JSON lines to standard output, as '"+t.Name+" schema' describes them")
	flags.String("config", "", "read flags from this YAML `file`; the command line and BELLOWS_* come first")
	flags.String("kernels", "auto", "pin the kernel `set`: auto, "+strings.Join(vec.Sets(), ", "))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetIn(t.In)
	root.SetArgs(t.Args)
	root.AddCommand(t.Commands()...)
	root.AddCommand(line.ExitCodes(t.Name))
	line.Lay(root)
	return root
}

// prepare runs before every command: it takes flags from the environment and the file, and pins
// the kernels before any of them runs.
func prepare(cmd *cobra.Command, _ []string) error {
	if err := line.Fill(cmd, os.Environ()); err != nil {
		return err
	}
	kernels := cmd.Flag("kernels").Value.String()
	if kernels == "auto" {
		return nil
	}
	if err := vec.Use(kernels); err != nil {
		return &bellows.Error{Kind: bellows.Config, Op: "set", Subject: "--kernels", Err: err}
	}
	return nil
}
