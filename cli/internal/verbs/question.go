package verbs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/timing"
	"bellows/data"
	"bellows/figures"
	"bellows/model"
	"bellows/run"

	"github.com/spf13/cobra"
)

// question is what eval and predict are called with: a saved model, and data to be read as it needs them.
type question struct {
	name      string   // of the model, as the command has it
	files     []string // of the data
	model     *model.Model
	predictor app.Predictor
	kind      data.Kind
	opt       data.Options    // how the data is read
	set       *data.Set       // nil where it is read as it is answered
	ctx       context.Context // of the command
	stages    *timing.Stages
	unknown   map[string]int64 // what in the data the model does not know, by what it is; without zeros
	missing   int              // values of the data that are missing
}

// questionCommand gives a command its arguments, the flags that say how DATA is read, and what it does with a model that is open. The
// rows may lack what is predicted where unlabelled is set.
func (c *Tool) questionCommand(cmd *cobra.Command, unlabelled bool, last timing.Stage, answer func(*question) error) *cobra.Command {
	var flags readOptions
	flags.register(cmd.Flags(), 0)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) >= 2 {
			return nil
		}
		return line.Exactly("MODEL", "DATA")(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := &question{name: args[0], files: args[1:], ctx: cmd.Context(), stages: timing.New(cmd.Context(), c.Console, timing.Starting, timing.Reading, last)}
		defer q.stages.Live.Stop()
		if err := c.openModel(q, flags); err != nil {
			return err
		}
		q.opt.Unlabelled = q.opt.Unlabelled || unlabelled
		return answer(q)
	}
	return cmd
}

// openModel opens the model and settles how its data is read.
func (c *Tool) openModel(q *question, flags readOptions) (err error) {
	if q.model, err = model.Open(q.name); err != nil {
		return err
	}
	a := c.application(q.model.App)
	if a == nil {
		return bellows.Errorf(bellows.BadData, "open model", q.name,
			"it is of the application %q, and this version has %s", q.model.App, strings.Join(c.names(), ", "))
	}
	if q.predictor, err = a.Open(q.model); err != nil {
		return err
	}
	kind, opt := q.predictor.Read()
	if err := flags.check(kind); err != nil {
		return err
	}
	if opt.As, err = readingOf(q.model); err != nil {
		return err
	}
	if opt.As != nil && opt.As.IndexBase == nil {
		opt.IndexBase = "" // of rows with indices, only --base says where they count from
	}
	if opt, err = flags.apply(opt); err != nil {
		return err
	}
	opt.Stdin, opt.Stores, opt.Meter = c.In, run.Stores, q.stages.Meter
	q.kind, q.opt = kind, opt
	return nil
}

// read reads the data completely; the caller closes it.
func (c *Tool) read(q *question) (err error) {
	q.stages.Enter(timing.Reading)
	if q.set, err = data.Read(q.ctx, q.files, q.kind, q.opt); err != nil {
		return interruptedWhile(q.ctx, "reading", err)
	}
	q.showDetected(c, &q.set.Detected)
	c.count(q)
	return nil
}

// showDetected shows how the data was understood.
func (q *question) showDetected(c *Tool, d *data.Detection) {
	if p, ok := q.predictor.(app.Numeric); ok {
		d.Numbers = p.Numbers()
	}
	c.Talk("%s: %s", strings.Join(q.files, " "), d)
}

// count counts the values in labelled data that the model does not know. Rows that were left out while reading are
// reported already.
func (c *Tool) count(q *question) {
	q.unknown = map[string]int64{}
	if stranger, ok := q.predictor.(app.Stranger); ok {
		maps.Copy(q.unknown, stranger.Unknown(q.set, true))
	}
	c.tellUnknown(q, &q.set.Detected)
}

// tellUnknown says what the model does not know, and adds what was left out as the data was read.
func (c *Tool) tellUnknown(q *question, d *data.Detection) {
	var told []string
	for _, what := range slices.Sorted(maps.Keys(q.unknown)) {
		if n := q.unknown[what]; n > 0 {
			told = append(told, fmt.Sprintf("%s of %s", figures.Grouped(n), what))
		}
	}
	if len(told) > 0 {
		c.Talk("unknown to the model: %s", strings.Join(told, ", "))
	}
	dropped := "features"
	if q.kind == data.Documents {
		dropped = "words"
	}
	q.missing = d.Missing
	q.unknown[dropped] += d.Dropped
	q.unknown["categories"] += d.Unknown
	maps.DeleteFunc(q.unknown, func(_ string, n int64) bool { return n == 0 })
}

// readingOf returns how the model's data was read, nil when the model does not say.
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

// interruptedWhile turns the error of a cancelled step into one that names the step.
func interruptedWhile(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return bellows.Errorf(bellows.Interrupted, "interrupted", "while "+doing, "nothing was written")
}
