package verbs

import (
	"fmt"
	"slices"
	"strings"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/manual"
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
		Example: withRemarks(1, lines...) + "\ntrain " + one.Name + " " + one.glob + one.setting() + one.until(),
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

// trainApplication returns the command `train APP`.
func (c *Tool) trainApplication(a app.Application) *cobra.Command {
	s := sampleOf(a.Describe())
	call := "train " + s.Name + " " + s.file
	var opt trainOptions
	cmd := &cobra.Command{
		Use:         s.Name + " DATA...",
		Short:       capital(s.Title),
		Annotations: line.Details(manual.TrainingData(s.holds, s.Data == data.Ratings)),
		Example:     strings.Join(slices.Compact([]string{call, call + " --epochs 5 --json | tail -n 1", call + s.setting()}), "\n"),
		Args:        line.AtLeastOne("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.train(cmd.Context(), a, args, &opt)
		},
	}
	opt.register(cmd.Flags())
	opt.registerReading(cmd.Flags(), s.Data)
	cmd.Long = manual.QuickStart(capital(s.Title), s.holds, c.Name+" "+call, s.model(), cmd.Flags())
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
