package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/manual"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/verbs"
	"bellows/vec"

	"github.com/spf13/cobra"
)

// execute runs one command line and returns its exit code. A failed write to standard output is an error of every
// command that has no other.
func execute(c *screen.Console, apps ...app.Application) int {
	ctx, end := untilSignal(c)
	defer end()
	t, err := verbs.New(c, apps...)
	if err == nil {
		err = newRoot(t).ExecuteContext(ctx)
	}
	if err == nil {
		err = c.Lost()
	}
	if err != nil {
		c.JSON = c.JSON || line.Asked(c.Args, os.Environ(), "json") // where the words before it could not be parsed
		return c.Fail(advise(err))
	}
	return 0
}

// advise says what to do about a limit of the system, whatever ran into it.
func advise(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return bellows.Errorf(bellows.IO, "open files", "", "%w", err).Hinted("raise the limit with `ulimit -n 4096`, or give fewer --processes and --workers")
	}
	return err
}

// untilSignal returns a context that the first Ctrl-C, SIGTERM or SIGHUP cancels, so that a command ends at a safe
// point. The second one ends the process at once, except SIGHUP, since a closed terminal sends several. A program
// started with SIGHUP ignored, as by nohup, ignores it.
func untilSignal(c *screen.Console) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangups, syscall.SIGHUP) // until the process ends
	}
	go func() {
		var why error
		for waiting := true; waiting; {
			waiting = false
			select {
			case <-signals:
			case <-hangups:
				if hear := c.Hangup.Load(); hear != nil {
					(*hear)()
					waiting = true
				} else {
					why = screen.ErrHungUp
				}
			case <-ctx.Done():
				signal.Stop(signals)
				return
			}
		}
		signal.Stop(signals)
		cancel(why)
		if !c.Calm.Load() {
			c.Talk("stopping at a safe point; a second signal stops at once")
		}
	}()
	return ctx, func() { cancel(nil) }
}

// sink is standard output for package cobra, which would say itself what cannot be written: execute says it.
type sink struct{ *screen.Console }

func (s sink) Write(b []byte) (int, error) {
	_, _ = s.Console.Write(b)
	return len(b), nil
}

// newRoot builds the tree of commands.
func newRoot(t *verbs.Tool) *cobra.Command {
	root := &cobra.Command{
		Use:           t.Name,
		Short:         t.Name + " trains machine-learning models, in one process or in many",
		Example:       t.Examples(),
		SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true,
		PersistentPreRunE:  func(cmd *cobra.Command, _ []string) error { return prepare(t.Console, cmd) },
	}
	line.Choose(root, "command")
	version := root.Flags().BoolP("version", "v", false, "print the version, like the command version")
	choose := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version && len(args) == 0 {
			return t.Version()
		}
		return choose(cmd, args)
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&t.JSON, "json", false, "write JSON lines, described by '"+t.Name+" schema'")
	flags.String("config", "", "YAML `FILE` of flags; BELLOWS_* and the command line override it")
	flags.String("kernels", "auto", "kernel `SET`: auto, "+strings.Join(vec.Sets(), ", "))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetOut(sink{t.Console})
	root.SetErr(t.Err)
	root.SetIn(t.In)
	root.SetArgs(t.Args)
	root.AddCommand(t.Commands()...)
	root.AddCommand(line.ExitCodes(t.Name))
	line.Lay(root)
	manual.Install(root, t.Descriptions())
	return root
}

// prepare runs before every command: it takes flags from the environment and the file, and pins
// the kernels before any of them runs.
func prepare(c *screen.Console, cmd *cobra.Command) error {
	if err := line.Fill(cmd, os.Environ()); err != nil {
		return err
	}
	if child := cmd.Flag("child"); child == nil || !child.Changed {
		for _, word := range line.UnknownVariables(cmd.Root(), os.Environ()) {
			c.Talk("%s", word)
		}
	}
	if err := checkOutput(c, cmd); err != nil {
		return err
	}
	kernels := cmd.Flag("kernels").Value.String()
	if kernels == "auto" {
		return nil
	}
	if sets := vec.Sets(); !slices.Contains(sets, kernels) {
		return bellows.Errorf(bellows.Config, "set", "--kernels="+kernels, "this processor has auto, %s%s", strings.Join(sets, ", "), line.DidYouMean(kernels, sets)).
			Hinted("choose one of these")
	}
	if err := vec.Use(kernels); err != nil {
		return &bellows.Error{Kind: bellows.Config, Op: "set", Subject: "--kernels", Err: err}
	}
	return nil
}

// actions are the commands that do something beyond writing to standard output: they leave a model, a file or a cluster.
var actions = []string{"train", "demo", "submit", "serve-model", "report", "up", "down", "join", "scale", "drain"}

// checkOutput returns an error if standard output is closed and is the only place for the results of the command.
// A command that does something else warns and continues: a parent that discards its output, such as Python with
// subprocess.DEVNULL, looks the same (package descriptor).
func checkOutput(c *screen.Console, cmd *cobra.Command) error {
	if c.Out != closedStream {
		return nil
	}
	verb := cmd
	for verb.HasParent() && verb.Parent().HasParent() {
		verb = verb.Parent()
	}
	if !c.JSON && slices.Contains(actions, verb.Name()) {
		c.Out = io.Discard
		c.Talk("warning: standard output is closed: what %s prints there is lost", cmd.CommandPath())
		return nil
	}
	return bellows.Errorf(bellows.IO, "write", "standard output", "it is closed, or is /dev/null opened for reading and writing").
		Hinted("redirect it with `> FILE`, or with `> /dev/null` to discard it")
}
