package verbs

import (
	"os"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/splits"
	"bellows/cli/internal/watch"
	"bellows/figures"
	"bellows/node/machine"

	"github.com/spf13/cobra"
)

func (c *Tool) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine: CPU, kernels, memory, limits, folders, clock",
		Annotations: line.Details("Each check prints one line: ok, warn (it works, but not as well as it could) or fail. A line that is not ok says what " +
			"to do. The exit code is 78 if a check fails."),
		Example: "doctor\ndoctor --json",
		Args:    line.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			r := machine.Examine(
				machine.Folder{Name: "temp folder", Dir: os.TempDir(), ToDo: "set TMPDIR to a writable folder with space"},
				machine.Folder{Name: "cache folder", Dir: splits.Home(), ToDo: "give --cache a writable folder with space, or --cache off to parse inputs each time"},
				machine.Folder{Name: "state folder", Dir: watch.StateFolder(), ToDo: "give --state a writable folder, or be without " + c.Name + " status", Spare: true},
				machine.Folder{Name: "run folder", Dir: "runs", ToDo: "work in a writable folder with space, or give --out one"})
			for _, k := range r.Checks {
				c.Printf("%-5s %-14s %s\n", k.Status, k.Name, k.Found)
				if k.ToDo != "" {
					c.Printf("%-20s → %s\n", "", k.ToDo)
				}
			}
			if err := c.Object(r); err != nil {
				return err
			}
			if r.Fails > 0 {
				return bellows.Errorf(bellows.Config, "doctor", "", "%s failed", figures.Plural(r.Fails, "check"))
			}
			return nil
		},
	}
}
