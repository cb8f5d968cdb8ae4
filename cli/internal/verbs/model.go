package verbs

import (
	"bellows/cli/internal/models"

	"github.com/spf13/cobra"
)

// modelCommand looks at saved models.
func (c *Tool) modelCommand() *cobra.Command {
	return models.Command(c.Console, c.sample(0).model(), c.application)
}
