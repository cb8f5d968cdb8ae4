package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"bellows"
	"bellows/cmd/bellows/internal/figures"
	"bellows/cmd/bellows/internal/watch"
	"bellows/vec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute carries out one command line and returns its exit code.
func execute(c *console, args []string) int {
	c.args = args
	ctx, end := untilSignal(c)
	defer end()
	root := newRoot(c)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return c.fail(err)
	}
	return 0
}

// untilSignal is a context that the first Ctrl-C or SIGTERM cancels, so that a command ends at a
// safe point; the second one ends the process at once.
func untilSignal(c *console) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			cancel()
			if !c.calm.Load() {
				c.talk("stopping at a safe point; once more stops at once")
			}
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, cancel
}

// newRoot builds the tree of commands.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "bellows",
		Short: "bellows trains machine-learning models, on machines that come and go",
		Example: `  bellows demo mf                      # a recommender, trained on generated ratings
  bellows train mf ratings.tsv         # on your own file: user, item, rating
  bellows predict runs/mf-1 pairs.tsv  # what would they rate?`,
		SilenceErrors: true, SilenceUsage: true,
		DisableSuggestions: true,
		PersistentPreRunE:  func(cmd *cobra.Command, _ []string) error { return c.prepare(cmd) },
	}
	choose(root, "command")
	flags := root.PersistentFlags()
	flags.BoolVar(&c.json, "json", false, "write JSON lines to standard output, as 'bellows schema' describes them")
	flags.String("config", "", "read flags from this YAML `file`; the command line and BELLOWS_* come first")
	flags.String("kernels", "auto", "pin the kernel `set`: auto, "+strings.Join(vec.Sets(), ", "))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(flagError)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetIn(c.in)
	root.AddCommand(
		trainCommand(c), evalCommand(c), predictCommand(c), modelCommand(c), demoCommand(c),
		benchCommand(c), doctorCommand(c), versionCommand(c), schemaCommand(c), exitCodesTopic(),
	)
	root.AddCommand(watch.Commands(watch.Console{Out: c.out, JSON: func() bool { return c.json }, Calm: func() { c.calm.Store(true) }})...)
	return root
}

// prepare runs before every command: it takes flags from the environment and the file, and pins
// the kernels before any of them runs.
func (c *console) prepare(cmd *cobra.Command) error {
	if err := fillFlags(cmd, os.Environ()); err != nil {
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

// choose makes a command that only has subcommands: alone it shows its help, and a word that names
// none of them is an error with the nearest that does.
func choose(cmd *cobra.Command, noun string) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				known = append(known, sub.Name())
			}
		}
		return unknown(cmd, noun, args[0], known)
	}
}

// unknown is the error for a word that names nothing, with the nearest that does.
func unknown(cmd *cobra.Command, noun, word string, known []string) error {
	err := bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "there is no %s %q", noun, word)
	if near := nearest(word, known); near != "" {
		err.Hint = "did you mean " + near + "?"
	} else {
		err.Hint = "there are " + strings.Join(known, ", ")
	}
	return err
}

// flagError is the error for a flag that cannot be parsed.
func flagError(cmd *cobra.Command, cause error) error {
	err := &bellows.Error{Kind: bellows.Usage, Op: cmd.CommandPath(), Subject: "", Err: cause}
	err.Hint = "see " + cmd.CommandPath() + " --help"
	word, isUnknown := strings.CutPrefix(cause.Error(), "unknown flag: --")
	if !isUnknown {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := nearest(word, known); near != "" {
		err.Hint = "did you mean --" + near + "?"
	}
	return err
}

// exactly wants that many arguments and says what they are.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "it takes no argument, and %d was given", len(args))
		}
		err := bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "%s wanted, and %d given",
			figures.Plural(len(names), "argument"), len(args))
		err.Hint = "call it as " + cmd.CommandPath() + " " + strings.Join(names, " ")
		return err
	}
}

// Help leads with examples, then says how to call the command and what there is.
const (
	helpTemplate  = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}` + "\n"
	usageTemplate = `{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .Runnable}}

Usage:
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

More help:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  bellows help {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}`
)
