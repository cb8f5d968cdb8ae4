package verbs

import (
	"fmt"
	"slices"
	"strings"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		Annotations: line.Details("DATA is one or more files, globs, URIs such as s3://bucket/name, or \"-\" for standard input. Each line has " + s.holds +
			". The table of epochs goes to standard output." + columnsHelp(s.Data)),
		Example: strings.Join(slices.Compact([]string{call, call + " --epochs 5 --json | tail -n 1", call + s.setting()}), "\n"),
		Args:    line.AtLeastOne("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.train(cmd.Context(), a, args, &opt)
		},
	}
	opt.register(cmd.Flags())
	opt.registerReading(cmd.Flags(), s.Data)
	cmd.Long = quickStart(c.Name, s, cmd.Flags())
	return cmd
}

func (c *Tool) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Train on generated data: no file needed",
		Example: "demo " + c.sample(0).Name + "\ndemo " + c.sample(1).Name + " --workers 1",
	}
	line.Choose(cmd, "demo")
	for _, a := range c.apps {
		d := a.Describe()
		var opt trainOptions
		sub := &cobra.Command{
			Use:     d.Name,
			Short:   capital(d.Title),
			Long:    fmt.Sprintf("Train %s on data that is generated from --seed.", d.Title),
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

// quickStart returns the first lines of the help of `train APP`: what a first run needs.
func quickStart(program string, s sample, flags *pflag.FlagSet) string {
	first := "label"
	if flags.Lookup("label") == nil || flags.Lookup("label").Hidden {
		first = "out"
	}
	lines := []string{capital(s.Title) + ". DATA is a file with " + s.holds + ".", "",
		"  " + program + " train " + s.Name + " " + s.file, "",
		"The model goes to the folder " + s.model() + ". The same command resumes an interrupted run.", ""}
	for _, name := range []string{first, "test", "set"} {
		heading, usage := line.Describe(flags.Lookup(name))
		lines = append(lines, fmt.Sprintf("  %-16s  %s", heading, usage))
	}
	return strings.Join(lines, "\n")
}

// columnsHelp returns how the columns of ratings are found, as a separate paragraph.
func columnsHelp(kind data.Kind) string {
	if kind != data.Ratings {
		return ""
	}
	user, item, rating := data.RatingColumns()
	times := data.TimeColumns()
	return fmt.Sprintf("\n\nThe columns are user, item and rating in this order, or as a header names them. Letter case, blanks, - and _ in names do not matter:"+
		"\n\n  %-8s %s\n  %-8s %s\n  %-8s %s\n  %-8s %s (only for --holdout time)\n\nOther columns are not used.",
		"user", strings.Join(user, " "), "item", strings.Join(item, " "), "rating", strings.Join(rating, " "), "time", strings.Join(times, " "))
}
