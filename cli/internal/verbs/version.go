package verbs

import (
	"bellows/cli/internal/line"
	"bellows/node/machine"

	"github.com/spf13/cobra"
)

func (c *Tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of bellows, of Go, and the kernels in use",
		Example: "version\nversion --json",
		Args:    line.Exactly(),
		RunE:    func(*cobra.Command, []string) error { return c.Version() },
	}
}

// Version prints the version of the program.
func (c *Tool) Version() error {
	v := machine.CurrentBuild()
	c.Printf("bellows %s\n", v.Bellows)
	if v.Revision != "" {
		changes := ""
		if v.Modified {
			changes = ", with changes"
		}
		c.Printf("revision %s%s\n", v.Revision, changes)
	}
	c.Printf("%s %s\nkernels %s\n", v.Go, v.Platform, v.Kernels)
	return c.Object(v)
}
