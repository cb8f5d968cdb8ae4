package main

import (
	"context"
	"fmt"
	"strings"

	"bellows/app"
	"bellows/data"

	"github.com/spf13/cobra"
)

func trainCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model on your data and save it",
		Example: `  bellows train mf ratings.tsv                      # user, item, rating
  bellows train mlr digits.libsvm.gz --test held.gz # any label, any features
  bellows train lda docword.news.txt.gz             # UCI bag of words, or plain text
  bellows train mf 'ratings-*.csv' --set rank=64 --until 'test_rmse<=0.91'`,
	}
	choose(cmd, "application")
	for _, a := range applications {
		cmd.AddCommand(trainApplication(c, a))
	}
	return cmd
}

// dataExamples shows what DATA may be, by kind.
var dataExamples = map[data.Kind][2]string{
	data.Ratings:   {"ratings.tsv", "user, item, rating"},
	data.Examples:  {"rows.libsvm.gz", "a label and its features"},
	data.Documents: {"docword.news.txt.gz", "a bag of words, or text, one document a line"},
}

// trainApplication is `train APP`.
func trainApplication(c *console, a app.Application) *cobra.Command {
	d := a.Describe()
	file := dataExamples[d.Data]
	var opt trainOptions
	cmd := &cobra.Command{
		Use:   d.Name + " DATA...",
		Short: strings.ToUpper(d.Title[:1]) + d.Title[1:],
		Long: fmt.Sprintf("Train by %s. DATA is files, globs or \"-\" for standard input (%s).\n"+
			"The table goes to standard output. The same command again goes on with an unfinished run.\n\n%s",
			d.Title, file[1], settingsHelp(d)),
		Example: fmt.Sprintf("  bellows train %[1]s %[2]s\n  bellows train %[1]s %[2]s --epochs 5 --json | tail -n 1\n"+
			"  bellows train %[1]s %[2]s --set %[3]s=%[4]s", d.Name, file[0], d.Settings[0].Name, exampleValue(d.Settings[0])),
		Args: atLeastOne("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.train(cmd.Context(), job{app: a, files: args, opt: &opt})
		},
	}
	opt.register(cmd.Flags())
	opt.registerReading(cmd.Flags())
	return cmd
}

func demoCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Train on data that is generated from a seed: no file needed",
		Example: "  bellows demo mf\n  bellows demo mlr --workers 1",
	}
	choose(cmd, "demo")
	for _, a := range applications {
		d := a.Describe()
		var opt trainOptions
		sub := &cobra.Command{
			Use:     d.Name,
			Short:   strings.ToUpper(d.Title[:1]) + d.Title[1:],
			Long:    fmt.Sprintf("Train by %s on data generated from --seed.\n\n%s", d.Title, settingsHelp(d)),
			Example: fmt.Sprintf("  bellows demo %[1]s\n  bellows demo %[1]s --seed 2 --json", d.Name),
			Args:    exactly(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return c.train(cmd.Context(), job{app: a, opt: &opt})
			},
		}
		opt.register(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

// settingsHelp lists an application's hyperparameters with their reasons.
func settingsHelp(d app.Description) string {
	var b strings.Builder
	b.WriteString("Settings (--set NAME=VALUE), with defaults good enough that nobody needs them:\n")
	for _, s := range d.Settings {
		fmt.Fprintf(&b, "  %-28s %s\n", s.Name+"="+s.Default, s.Reason)
	}
	return strings.TrimRight(b.String(), "\n")
}

// exampleValue is a value to show in an example.
func exampleValue(s app.Setting) string {
	if s.Name == "rank" {
		return "64"
	}
	return s.Default
}

func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return exactly(name)(cmd, args)
	}
}

// train carries out one training command: it reads, trains, saves and reports.
func (c *console) train(ctx context.Context, j job) error {
	if j.opt.cluster.seat {
		t := &trainer{console: c, job: j}
		defer t.close()
		return t.sit(ctx)
	}
	s := newScreen(c, j.app.Describe())
	defer s.close()
	t := &trainer{console: c, job: j, screen: s}
	defer t.close()
	for _, step := range []func(context.Context) error{t.check, t.load, t.prepare, t.claim, t.run} {
		if err := step(ctx); err != nil {
			return t.explain(ctx, err)
		}
	}
	return nil
}
