package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/splits"
	"bellows/data"
	"bellows/data/demo"
	"bellows/model"
	"bellows/progress"
	"bellows/run"
)

// inputs is the data of a run. The sets may lie in files of the cache that are mapped into memory: they are closed when nothing reads
// them any more, which is after the last line, since it scores the model.
type inputs struct {
	set, test *data.Set        // test is nil without --test
	rows      int              // of the set, also when its columns are given back
	same      bool             // the test has the rows of the set
	unknown   map[string]int64 // what in the test rows the model does not know, by what it is
	choice    string           // which rows of the set are the test; "" where they have a file of their own
	held      *data.Set        // the rows of the set that were held out, once its columns are given back
	seconds   float64          // of reading
}

// read reads the data that the command names.
func (in *inputs) read(ctx context.Context, o *order, stdin io.Reader, m *progress.Meter) error {
	start := time.Now()
	defer func() {
		in.seconds = time.Since(start).Seconds()
		if in.set != nil {
			in.rows = in.set.Rows()
			in.collect()
		}
	}()
	var err error
	if len(o.files) == 0 {
		if in.set, err = demo.Named(o.about.Data, o.about.Demo, o.opt.seed); err != nil {
			return bellows.Errorf(bellows.Bug, "make demo", o.about.Name, "%w", err)
		}
		return nil
	}
	opt, err := o.reading(data.Options{Stdin: stdin, Stores: run.Stores, Cache: splits.Folder(o.opt.cache), Meter: m})
	if err != nil {
		return err
	}
	opt.Unlabelled, opt.Mapped = o.about.Bare, o.shared()
	opt.Timed, opt.Time, opt.TimeKept = o.opt.holdout == holdoutTime, o.opt.time, o.opt.timeKept
	if in.set, err = data.Read(ctx, o.files, o.about.Data, opt); err != nil {
		return interruptedWhile(ctx, "reading", err)
	}
	if len(o.opt.test) == 0 {
		if err := interruptedWhile(ctx, "reading", in.holdOut(o.opt, m)); err != nil {
			return err
		}
		in.fill(o.opt.seed, in.test != nil)
		return nil
	}
	in.fill(o.opt.seed, true)
	if in.test, err = data.Read(ctx, o.opt.test, o.about.Data, opt.ForTest(in.set)); err != nil {
		return interruptedWhile(ctx, "reading", err)
	}
	return nil
}

// detected notes what labels are, which reading alone does not know.
func (in *inputs) detected(numbers bool) {
	for _, set := range []*data.Set{in.set, in.test} {
		if set != nil {
			set.Detected.Numbers = numbers
		}
	}
}

// fill makes values that are missing the mean of their column over rows that are trained on: those that are held out, for stopping too, say nothing.
func (in *inputs) fill(seed uint64, tested bool) {
	percent := data.HeldPercent(tested, true)
	in.set.FillBy(func(row int) bool { return !data.HeldOut(seed, int64(row), percent) })
	if in.test != nil {
		in.test.FillAs(in.set)
	}
}

// describe tells the model how its data was read.
func (in *inputs) describe(m *model.Model) (err error) {
	reading := in.set.Described()
	if reading == nil { // of a demonstration
		return nil
	}
	if m.Input, err = json.Marshal(reading); err != nil {
		return bellows.Errorf(bellows.Bug, "describe", "the input", "%w", err)
	}
	return nil
}

// settle gives back the columns of the set when the run has taken what it needs of them, but for the rows that are scored in the end.
func (in *inputs) settle(made *app.Run, seed uint64) error {
	if !made.Copied {
		return nil
	}
	if in.held = made.Held; in.held == nil || in.test != nil {
		in.held = in.heldOut(seed)
	}
	if err := in.set.Release(); err != nil {
		return err
	}
	in.collect()
	return nil
}

// large is so many rows that what is left of them is worth a collection.
const large = 1 << 20

// collect gives back what reading, preparing or training has left. After large columns the next collection would come only when as much memory
// again is taken.
func (in *inputs) collect() {
	if in.rows >= large {
		runtime.GC()
	}
}

// idle gives back what the application has looked at of columns that it leaves where they are, and what it has left behind.
func (in *inputs) idle() {
	for _, set := range []*data.Set{in.set, in.test} {
		if set != nil {
			set.Idle()
		}
	}
	if in.rows >= large {
		debug.FreeOSMemory()
	}
}

// heldOut returns the rows that the model is scored by.
func (in *inputs) heldOut(seed uint64) *data.Set {
	switch {
	case in.test != nil:
		return in.test
	case in.held != nil:
		return in.held
	}
	return in.set.Select(data.HeldRows(seed, in.set.Rows(), data.HeldAlone))
}

// score replaces the test figures of the last epoch by those of the model that is saved, which may
// be that of an earlier epoch: what the last line says is what eval would say of the same rows.
func (in *inputs) score(a app.Application, m *model.Model, seed uint64, metrics map[string]float64, meter *progress.Meter) error {
	held := in.heldOut(seed)
	if held.Rows() == 0 {
		return nil
	}
	p, err := a.Open(m)
	if err != nil {
		return err
	}
	pace(p, meter)
	if counter, ok := p.(interface {
		Unknown(set *data.Set, labelled bool) map[string]int64
	}); ok && in.test != nil {
		in.unknown = counter.Unknown(held, true)
	}
	scores, err := p.Evaluate(held)
	if err = cmp.Or(meter.Err(), err); err != nil {
		return err
	}
	for name, v := range finiteMetrics(scores) {
		metrics["test_"+name] = v
	}
	return nil
}

// pace lets a predictor that can report it report how far it is with some rows.
func pace(p app.Predictor, m *progress.Meter) {
	if paced, ok := p.(app.Paced); ok {
		paced.Pace(m)
	}
}

// close releases the data.
func (in *inputs) close() error {
	var failed error
	for _, set := range []*data.Set{in.set, in.test} {
		if set != nil {
			failed = errors.Join(failed, set.Close())
		}
	}
	return failed
}
