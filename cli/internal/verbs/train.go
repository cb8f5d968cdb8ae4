package verbs

import (
	"fmt"
	"slices"
	"strings"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"

	"github.com/spf13/cobra"
)

func (c *Tool) trainCommand() *cobra.Command {
	var lines [][2]string
	for _, a := range c.apps {
		s := sampleOf(a.Describe())
		lines = append(lines, [2]string{"train " + s.Name + " " + s.train, s.says})
	}
	one := c.sample(0)
	cmd := &cobra.Command{
		Use:     "train",
		Short:   "Train a model on your data and save it",
		Example: beside(1, lines...) + "\ntrain " + one.Name + " " + one.glob + one.setting() + one.until(),
	}
	line.Choose(cmd, "application")
	for _, a := range c.apps {
		cmd.AddCommand(c.trainApplication(a))
		for _, short := range a.Describe().Short {
			cmd.AddCommand(line.Short(c.trainApplication(a), a.Describe().Name, short))
		}
	}
	return cmd
}

// trainApplication is `train APP`.
func (c *Tool) trainApplication(a app.Application) *cobra.Command {
	s := sampleOf(a.Describe())
	call := "train " + s.Name + " " + s.file
	var opt trainOptions
	cmd := &cobra.Command{
		Use:   s.Name + " DATA...",
		Short: capital(s.Title),
		Long: fmt.Sprintf("Train by %s. DATA is files, globs, URIs such as s3://bucket/name, or \"-\" for standard input (%s).\n"+
			"The table goes to standard output. The same command again goes on with a run that was interrupted.%s%s",
			s.Title, s.holds, foldsHelp, columnsHelp(s.Data)+line.SettingsHelp(s.Description)),
		Example: strings.Join(slices.Compact([]string{call, call + " --epochs 5 --json | tail -n 1", call + s.setting()}), "\n"),
		Args:    line.AtLeastOne("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.train(cmd.Context(), a, args, &opt)
		},
	}
	opt.register(cmd.Flags())
	opt.registerReading(cmd.Flags(), s.Data)
	return cmd
}

func (c *Tool) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Train on data that is generated from a seed: no file needed",
		Example: "demo " + c.sample(0).Name + "\ndemo " + c.sample(1).Name + " --workers 1",
	}
	line.Choose(cmd, "demo")
	for _, a := range c.apps {
		d := a.Describe()
		var opt trainOptions
		sub := &cobra.Command{
			Use:     d.Name,
			Short:   capital(d.Title),
			Long:    fmt.Sprintf("Train by %s on data generated from --seed.%s", d.Title, line.SettingsHelp(d)),
			Example: fmt.Sprintf("demo %[1]s\ndemo %[1]s --seed 2 --json", d.Name),
			Args:    line.Exactly(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return c.train(cmd.Context(), a, nil, &opt)
			},
		}
		opt.register(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

// capital begins a title with a capital.
func capital(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

// foldsHelp says what --cv does, as a paragraph of its own.
const foldsHelp = "\n\n--cv K deals the rows to K folds by --seed (of rows with classes as many of each), and trains K models in turn, each on the rows of\n" +
	"the other folds, which its own fold scores; 5 % of the others say when it ends. It prints the metrics of each, their mean and their sample\n" +
	"standard deviation, and leaves no model and no folder: the same command without --cv trains the model."

// columnsHelp says how the columns of ratings are found, as a paragraph of its own.
func columnsHelp(kind data.Kind) string {
	if kind != data.Ratings {
		return ""
	}
	user, item, rating := data.RatingColumns()
	times := data.TimeColumns()
	return fmt.Sprintf("\n\nColumns stand in the order user, item, rating, or where a header has their names; letter case, blanks, - and _ in names do not matter:"+
		"\n  %-8s %s\n  %-8s %s\n  %-8s %s\n  %-8s %s (used by --holdout time alone)\nOther columns are not used.",
		"user", strings.Join(user, " "), "item", strings.Join(item, " "), "rating", strings.Join(rating, " "), "time", strings.Join(times, " "))
}
