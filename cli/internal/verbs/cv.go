package verbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/api"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/timing"
	"bellows/core/audit"
	"bellows/core/visits"
	"bellows/data/folds"
	"bellows/figures"
	"bellows/node"
	"bellows/run"
	"bellows/run/event"
	"bellows/serve/oov"
	"bellows/train"
)

// validation is one command with --cv K. It deals the rows of DATA to K folds, and for each in turn trains a model on
// all rows outside the fold, which the rows of the fold score. Like cross-validation in other programs it leaves no
// model and no folder: none of the K models has seen all rows, and the figures describe the way of training, not a
// model. The embedded training has the order, the stages, all data and the warnings given so far; each fold is a
// training of its own, which reads nothing, claims no folder and keeps no log.
//
// Invariants: each row scores one model, which has not seen it (TestRowsAreDealtEvenly, TestDivideForgetsStrangers);
// the rows of a fold decide nothing (app.Input.Test); the same command gives the same figures (cv.txtar).
//
// Rejected: folds in parallel, which would share the slots that one of them can use alone, and keep K models in memory;
// and a last model of all rows, which no figure would describe. The command without --cv trains it, and is printed.
type validation struct {
	*training
	folds.Deal
	table   *screen.FoldTable
	chain   event.Chain
	done    []folds.Result
	account audit.Account
	unknown map[string]int64
}

// validated is the last line of `train --cv K --json`: like that of a run, with the differences noted below.
type validated struct {
	App         string             `json:"app"`
	Folds       []folds.Result     `json:"folds"`
	Stratified  bool               `json:"stratified"`
	Metrics     map[string]float64 `json:"metrics"`    // the mean of those that all folds have
	Deviations  map[string]float64 `json:"deviations"` // and its sample standard deviation
	Objective   objective          `json:"objective"`  // a mean
	Baseline    *folds.Measure     `json:"baseline,omitempty"`
	Seconds     float64            `json:"seconds"` // of all folds
	LoadSeconds float64            `json:"load_seconds"`
	timing.Timing
	Examples          int64            `json:"examples"` // of all folds
	ExamplesPerSecond float64          `json:"examples_per_second"`
	Members           processes.Counts `json:"members"`
	Audit             run.Audit        `json:"audit"` // of all folds
	Warnings          []string         `json:"warnings"`
	Interrupted       bool             `json:"interrupted"`
}

// errStopped is that the user has ended a fold.
var errStopped = errors.New("stopped")

// validate carries out one training command with --cv.
func (c *Tool) validate(ctx context.Context, a app.Application, files []string, opt *trainOptions) error {
	v := &validation{unknown: map[string]int64{},
		training: &training{Console: c.Console, began: time.Now(), stages: timing.New(ctx, c.Console, timing.Starting, timing.Reading, timing.Preparing, timing.Learning, timing.Scoring)}}
	v.stages.Lost = true
	defer v.stages.Live.Stop()
	count, err := opt.folds()
	if err == nil {
		err = opt.checkFolds()
	}
	if err == nil {
		v.order, err = newOrder(a, files, opt)
	}
	if err != nil {
		return err
	}
	v.warn()
	v.table = screen.NewFoldTable(c.Console, v.stages.Live, v.about, c.Width())
	defer v.table.Close()
	defer v.close()
	v.table.Begin(v.about.Title + " · " + v.data() + ": ")
	v.stages.Enter(timing.Reading)
	if err := v.inputs.read(ctx, v.order, c.In, v.stages.Meter); err != nil {
		return err
	}
	v.tellCache()
	v.stages.Enter(timing.Preparing)
	if count > v.inputs.rows {
		return line.BadFlag("cv", opt.cv, "DATA has %s, so that the number of folds must be from 2 to that", figures.Plural(v.inputs.rows, "row"))
	}
	if v.Deal, err = folds.New(opt.seed, count, v.inputs.set, v.stages.Meter); err != nil {
		return interruptedWhile(ctx, "preparing", err)
	}
	for n := range v.Folds {
		v.stages.Live.Within(fmt.Sprintf("fold %d of %d: ", n+1, v.Folds))
		err := v.one(ctx, n)
		switch {
		case err == nil: // if the user wants to stop, the next one does
		case errors.Is(err, errStopped), ctx.Err() != nil:
			return v.stopped(n)
		default:
			return v.settingsHint(err)
		}
	}
	v.stages.Live.Within("")
	return v.conclude()
}

// one trains and scores the model of a fold.
func (v *validation) one(ctx context.Context, n int) error {
	v.stages.Enter(timing.Preparing)
	t := &training{Console: v.Console, order: v.order, stages: v.stages}
	training, held := v.Divide(n)
	var err error
	if t.inputs.set, t.inputs.test, err = v.inputs.set.Divide(training, held, v.stages.Meter); err != nil {
		return err
	}
	t.inputs.fill(t.opt.seed, true)
	t.inputs.rows = t.inputs.set.Rows()
	f := folds.Result{Fold: n + 1, TrainRows: t.inputs.rows, TestRows: t.inputs.test.Rows()}
	if t.made, err = t.job(&t.inputs, t.stages.Meter); err != nil {
		return err
	}
	if err := t.checkMemory(); err != nil {
		return err
	}
	v.begin(t, n)
	v.tellOf(n, event.OfJob(&t.made.Job, t.made.Job.Driver, nil))
	t.counted = timing.NewDriver(t.made.Job.Driver, t.stages.Meter)
	t.made.Job.Driver = t.counted
	t.epochs = &epochs{training: t, members: processes.Count(t.members).String(), wait: math.NaN()}
	res, err := node.Train(ctx, t.made.Job, node.Options{Slots: t.slots,
		OnStart: func([]api.Node) {
			t.stages.Enter(timing.Learning)
			t.epochs.follow()
		},
		OnStop:   t.epochs.stop,
		OnVisits: func(b visits.Batch) { v.tellOf(n, event.OfVisits(b)) },
		OnEpoch:  func(e train.Epoch, so node.Spent) { v.heard(t.epochs, n, e, so) }})
	if err != nil {
		return err
	}
	if res.Image != nil {
		return errStopped
	}
	checked := run.Judge(res, run.Progress{Account: res.Audit.Account})
	if err := checked.Verdict(); err != nil {
		return err
	}
	v.account = v.account.Plus(&res.Audit.Account)
	last := &t.epochs.last
	f.Epochs, f.Examples, f.Seconds, f.Metrics = last.Number, last.Items, res.Trained.Seconds(), finiteMetrics(last.Metrics)
	if b := t.made.Baseline; b != nil {
		f.Baseline = &folds.Measure{Name: b.Name, Value: b.Value}
	}
	t.stages.Enter(timing.Scoring)
	m, err := t.made.Model(res.Tables)
	if err != nil {
		return err
	}
	if err := t.inputs.score(t.app, m, t.opt.seed, f.Metrics, t.stages.Meter); err != nil {
		return err
	}
	for what, n := range t.inputs.unknown {
		v.unknown[what] += n
	}
	v.scored(t, f)
	return nil
}

// begin completes the headline with the first fold's parts, and gives warnings that were not given before.
func (v *validation) begin(t *training, n int) {
	if n == 0 {
		v.made = t.made
		v.inputs.detected(t.made.Numbers)
		if t.made.Metrics != nil {
			v.about.Metrics = t.made.Metrics
			v.table.Measure(v.about)
		}
		dealt := fmt.Sprintf("%d folds", v.Folds)
		if v.Stratified {
			dealt += " with as many of each class"
		}
		v.table.Headline(fmt.Sprintf("%s · %s (seed %d) · of the first: %s", v.inputs.set.Detected, dealt, v.opt.seed, t.made.Headline), processes.Count(v.members).Place())
		for _, w := range v.inputs.set.Detected.Warnings() {
			v.doubt("%s", w)
		}
		if v.Stratified && v.Least < v.Folds {
			v.doubt("the rarest class has %s, less than one for each of %d folds: in some it is not scored, or not trained on; give more rows of it, or fewer folds", figures.Plural(v.Least, "row"), v.Folds)
		}
		t.examine()
	}
	for _, w := range slices.Concat(t.warnings, t.made.Warnings) {
		switch {
		case slices.Contains(v.warnings, w):
		case slices.Contains(t.warnings, w): // it was said
			v.warnings = append(v.warnings, w)
		default:
			v.doubt("%s", w)
		}
	}
}

// heard tells of an epoch of a fold.
func (v *validation) heard(p *epochs, n int, e train.Epoch, so node.Spent) {
	_, told := p.hear(e, so)
	v.tellOf(n, told)
}

// tellOf tells of a fold.
func (v *validation) tellOf(n int, e event.Event) {
	e.Fold, e.Sentence = n+1, fmt.Sprintf("fold %d of %d: %s", n+1, v.Folds, e.Sentence)
	v.announce(e)
}

// announce writes an event as a JSON line. There is no folder to keep it in.
func (v *validation) announce(e event.Event) {
	e.Node = event.Leader
	if e, _, err := v.chain.Link(e, time.Now().UTC()); err == nil {
		_ = v.Object(e) // the command ends with what could not be written
	}
}

// scored tells what a fold came to.
func (v *validation) scored(t *training, f folds.Result) {
	v.done = append(v.done, f)
	v.table.Line(fmt.Sprint(f.Fold), f.Metrics, figures.Grouped(int64(f.TestRows)), fmt.Sprint(f.Epochs), figures.Duration(f.Seconds)+"s")
	v.announce(event.Event{Kind: event.Fold, Fold: f.Fold,
		Figures:  &event.Figures{Metrics: f.Metrics, Seconds: f.Seconds, Examples: f.Examples, Phases: api.Phases(&t.epochs.spent.Slots)},
		Scored:   &event.Scored{Folds: v.Folds, TrainRows: f.TrainRows, TestRows: f.TestRows, Epochs: f.Epochs},
		Sentence: fmt.Sprintf("fold %d of %d: %s", f.Fold, v.Folds, strings.Join(v.testFigures(f.Metrics, nil), ", "))})
}

// testFigures returns the test metrics of the table in words, with what they deviate by where that is known.
func (v *validation) testFigures(metrics, deviations map[string]float64) (parts []string) {
	for _, name := range v.about.Metrics {
		x, ok := metrics[name]
		if !ok || !strings.HasPrefix(name, "test_") {
			continue
		}
		part := figures.Metric(name) + " " + figures.Number(x)
		if d, ok := deviations[name]; ok {
			part += " ± " + figures.Number(d)
		}
		parts = append(parts, part)
	}
	return parts
}

// result returns the figures of the folds that are done.
func (v *validation) result() *validated {
	r := &validated{App: v.about.Name, Folds: v.done, Stratified: v.Stratified, LoadSeconds: v.inputs.seconds, Members: processes.Count(v.members),
		Audit: run.Audit{Account: v.account, Disagreements: []string{}}}
	r.Metrics, r.Deviations = folds.Spread(v.done)
	r.Baseline = folds.Baseline(v.done)
	for _, f := range v.done {
		r.Seconds, r.Examples = r.Seconds+f.Seconds, r.Examples+f.Examples
	}
	if r.Seconds > 0 {
		r.ExamplesPerSecond = float64(r.Examples) / r.Seconds
	}
	r.Objective = objective{v.made.Objective, r.Metrics[v.made.Objective]}
	return r
}

// conclude says what all folds came to.
func (v *validation) conclude() error {
	r := v.result()
	v.table.Line("mean", r.Metrics)
	v.table.Line("±", r.Deviations)
	if parts := oov.Describe(v.unknown); len(parts) > 0 {
		v.doubt("unknown to the models that had to answer for them, in all folds: %s", strings.Join(parts, ", "))
	}
	if r.Baseline != nil {
		v.compare(&result{Metrics: r.Metrics, Baseline: (*objective)(r.Baseline)})
	}
	parts := v.testFigures(r.Metrics, r.Deviations)
	if r.Baseline != nil && len(parts) > 0 {
		parts[0] += fmt.Sprintf(" (%s %s)", r.Baseline.Name, figures.Number(r.Baseline.Value))
	}
	parts = append(parts, fmt.Sprintf("%d folds", v.Folds), figures.Duration(r.Seconds)+" s", "no model is kept")
	v.Printf("%s\n", screen.Fold(strings.Join(parts, " · "), v.Width()))
	if !v.JSON && v.repeatable() && !line.Beneath(v.Args, os.Environ(), "cv") {
		v.Talk("next:  %s  # trains a model", v.WithoutFlag("cv"))
	}
	r.Warnings, r.Timing = append([]string{}, v.warnings...), v.stages.Timing()
	return v.Object(r)
}

// stopped reports the progress. The training of the interrupted fold is lost, and the figures of the others are shown.
func (v *validation) stopped(n int) error {
	err := &bellows.Error{Kind: bellows.Interrupted, Op: "interrupted", Subject: fmt.Sprintf("in fold %d of %d", n+1, v.Folds),
		Err: errors.New("nothing is kept"), Hint: "start over with the same command: " + v.Again(false)}
	if n == 0 {
		return err
	}
	r := v.result()
	r.Interrupted, r.Warnings, r.Timing = true, append([]string{}, v.warnings...), v.stages.Timing()
	if lost := v.Object(r); lost != nil {
		return lost
	}
	if v.JSON {
		return screen.Told{Err: err}
	}
	return err
}
