// Package models has the commands `model show`, `model diff` and `model export`, which look at saved models.
//
// The caller puts Command below the root of the program, and says which application a model is of. A command opens models as all others do, every byte
// checked, and has the application check its parts before it believes them.
//
// The package trains and predicts nothing. What a file of another program has to hold is package export's.
package models

import (
	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/model"

	"github.com/spf13/cobra"
)

// tool is where the commands write, and what they know of the program.
type tool struct {
	*screen.Console
	sample string                            // a model's folder, for examples
	find   func(name string) app.Application // nil where there is none of the name
}

// Command returns the command `model`. sample is the name of a model's folder, for examples; find returns the
// application of a name, or nil.
func Command(c *screen.Console, sample string, find func(name string) app.Application) *cobra.Command {
	t := &tool{c, sample, find}
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Show, compare and export saved models",
		Example: "model show " + sample + "\nmodel diff " + sample + " " + sample + "b\nmodel export " + sample + " --format onnx",
	}
	line.Choose(cmd, "model command")
	cmd.AddCommand(t.showCommand(), t.diffCommand(), t.exportCommand())
	return cmd
}

// open opens a model and has its application, where the program has it, check its parts against each other.
func (t *tool) open(dir string) (*model.Model, app.Application, error) {
	m, err := model.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	a := t.find(m.App)
	if a == nil {
		return m, nil, nil
	}
	if _, err := a.Open(m); err != nil {
		return nil, nil, err
	}
	return m, a, nil
}

// refuse returns an error about a model.
func refuse(kind bellows.Kind, op, dir, format string, args ...any) *bellows.Error {
	return bellows.Errorf(kind, op, dir, format, args...)
}
