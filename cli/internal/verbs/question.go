package verbs

import (
	"context"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"

	"github.com/spf13/cobra"
)

// question is what eval and predict are called with: a saved model, and data that were read as it needs them.
type question struct {
	name      string   // of the model, as the command has it
	files     []string // of the data
	model     *model.Model
	predictor app.Predictor
	set       *data.Set
}

// questionCommand gives a command its arguments, the flags that say how DATA is read, and what it does with the two. The
// rows may lack what is predicted where unlabelled is set.
func (c *Tool) questionCommand(cmd *cobra.Command, unlabelled bool, answer func(*question) error) *cobra.Command {
	var reading readOptions
	reading.register(cmd.Flags(), 0)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) >= 2 {
			return nil
		}
		return line.Exactly("MODEL", "DATA")(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := c.question(cmd.Context(), args[0], args[1:], reading, unlabelled)
		if err != nil {
			return err
		}
		defer q.set.Close()
		return answer(q)
	}
	return cmd
}

// question opens the model and reads the data.
func (c *Tool) question(ctx context.Context, name string, files []string, reading readOptions, unlabelled bool) (*question, error) {
	m, err := model.Open(name)
	if err != nil {
		return nil, err
	}
	a := c.application(m.App)
	if a == nil {
		return nil, bellows.Errorf(bellows.BadData, "open model", name,
			"it is of the application %q, and this version has %s", m.App, strings.Join(c.names(), ", "))
	}
	p, err := a.Open(m)
	if err != nil {
		return nil, err
	}
	kind, opt := p.Read()
	if err := reading.check(kind); err != nil {
		return nil, err
	}
	if opt.As, err = readingOf(m); err != nil {
		return nil, err
	}
	if opt, err = reading.apply(opt); err != nil {
		return nil, err
	}
	opt.Unlabelled, opt.Stdin = unlabelled, c.In
	set, err := data.Read(ctx, files, kind, opt)
	if err != nil {
		return nil, interruptedWhile(ctx, "reading", err)
	}
	c.Talk("%s: %s", strings.Join(files, " "), set.Detected)
	return &question{name, files, m, p, set}, nil
}

// readingOf is how the model's data was read, nil when the model does not say.
func readingOf(m *model.Model) (*data.Reading, error) {
	if len(m.Input) == 0 {
		return nil, nil
	}
	r, err := data.ParseReading(m.Input)
	if err != nil {
		return nil, bellows.Errorf(bellows.BadData, "open model", "manifest.json", "its input is not one that this version reads: %w", err)
	}
	return r, nil
}

// interruptedWhile turns the error of a cancelled step into one that says so.
func interruptedWhile(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return bellows.Errorf(bellows.Interrupted, "interrupted", "while "+doing, "nothing was written")
}
