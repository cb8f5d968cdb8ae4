package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/timing"
	"bellows/cluster/lead"
	"bellows/cluster/recovery"
	"bellows/figures"
	"bellows/model"
	"bellows/node"
	"bellows/node/machine"
	"bellows/node/memory"
	"bellows/progress"
	"bellows/run"
	"bellows/run/event"
)

// result is the last line of `train --json`. Its figures are not all of one span:
//   - Seconds, Epochs, Examples and the audit are of the whole run, its interrupted parts included: they are added up in the run's folder.
//   - LoadSeconds, Wall, Stages, Bytes and Members are of this command alone. Stages are all of the time: what else Seconds and LoadSeconds count
//     is in one of them.
//   - train_ metrics are those of the last epoch; test_ metrics are those of the model that was saved, which may be that of an earlier epoch,
//     so that eval says the same of it (train.txtar).
type result struct {
	App               string             `json:"app"`
	Seconds           float64            `json:"seconds"` // of training alone
	LoadSeconds       float64            `json:"load_seconds"`
	timing.Timing                        // of this command
	Epochs            int                `json:"epochs"`
	Examples          int64              `json:"examples"` // items visited in training
	ExamplesPerSecond float64            `json:"examples_per_second"`
	Metrics           map[string]float64 `json:"metrics"`
	Objective         objective          `json:"objective"`
	Baseline          *objective         `json:"baseline,omitempty"`
	Members           processes.Counts   `json:"members"`
	Bytes             traffic            `json:"bytes"`
	Memory            *memory.Use        `json:"memory,omitempty"` // nil where it is unknown
	Audit             run.Audit          `json:"audit"`
	Reconfigurations  []any              `json:"reconfigurations"`
	Recoveries        []recovery.Restart `json:"recoveries"`
	Missing           int                `json:"missing"`  // values of DATA that are missing
	Warnings          []string           `json:"warnings"` // what may be wrong with the model or with its figures
	Interrupted       bool               `json:"interrupted"`
	Model             string             `json:"model"`
}

type objective struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// traffic is bytes on the wire: none within one process.
type traffic struct {
	Pushed int64 `json:"pushed"`
	Pulled int64 `json:"pulled"`
}

// conclude saves the model, and the image of an interrupted run, from which it resumes. The order matters if power
// fails between two steps: the image before the model, since it cannot be made again; the model before the run is done,
// since done drops the image. A run that was interrupted before an epoch ended has an image and no model.
func (t *training) conclude(res *node.Result, moved traffic) error {
	t.stages.Enter(timing.Saving)
	so := t.progress(res)
	checked := run.Judge(res, so)
	if res.Image != nil {
		so.Stages = t.stages.Named()
		if err := t.store(func() error { return t.interrupt(res, so) }); err != nil {
			return err
		}
	}
	if res.Image != nil && t.epochs.last.Number == 0 {
		if err := checked.Verdict(); err != nil {
			return err
		}
		return t.interrupted("before the end of an epoch, so no model was saved;")
	}
	t.inputs.collect()
	m, err := t.made.Model(res.Tables)
	switch {
	case err != nil && t.stages.Meter.Err() != nil:
		return t.interrupted("while the model was made;")
	case err != nil:
		return err
	}
	res.Tables = nil
	if t.made.Doubts != nil && len(t.files) > 0 { // a demonstration is as long as it is meant to be
		for _, text := range t.made.Doubts() {
			t.doubt("%s", text)
		}
	}
	t.inputs.collect()
	if err := t.inputs.describe(m); err != nil {
		return err
	}
	r, err := t.result(m, res, so, checked, moved)
	if err != nil {
		return err
	}
	r.Interrupted = res.Image != nil
	m.Metrics, m.Versions = r.Metrics, machine.CurrentBuild().Manifest()
	save := func() error {
		if err := t.folder.CheckHeld(); err != nil {
			return err
		}
		return model.SaveWith(t.folder.Dir, m, t.stages.Meter)
	}
	if res.Image != nil {
		if err := save(); err != nil { // the image is saved
			t.Talk("%v", err)
			return t.interrupted(fmt.Sprintf("after epoch %d; its model could not be saved, but", t.epochs.last.Number))
		}
		t.lastLine(r)
		r.Timing = t.stages.Timing()
		err := checked.Verdict()
		if err == nil {
			err = screen.Told{Err: t.interrupted(fmt.Sprintf("after epoch %d; the model so far is in %s,", t.epochs.last.Number, t.folder.Dir))}
		}
		if lost := t.Object(r); lost != nil {
			return lost
		}
		return err
	}
	if err := t.store(save); err != nil {
		return err
	}
	so.Stages, r.Timing = t.stages.Named(), t.stages.Timing()
	last, err := json.Marshal(r)
	if err != nil {
		return bellows.Errorf(bellows.Bug, "write", "JSON", "%w", err)
	}
	var finished event.Event
	if err := t.store(func() error {
		finished = event.Event{Kind: event.Finished, Node: event.Leader, Model: t.folder.Dir, Sentence: fmt.Sprintf("finished after %s: %s", figures.Plural(t.epochs.last.Number, "epoch"), t.folder.Dir)}
		return t.folder.Done(so, run.End{Event: finished, Last: last})
	}); err != nil {
		return err
	}
	t.journal.announce(finished)
	t.lastLine(r)
	t.next()
	r.Timing = t.stages.Timing()
	if err := t.Object(r); err != nil {
		return err
	}
	if err := r.Audit.Verdict(); err != nil || t.unstored == nil {
		return err
	}
	return screen.Told{Err: t.movedError()}
}

// finish reports the rest about a run that had finished before its leading process was lost.
func (c *Tool) finish(l *lead.Lead) error {
	c.Talk("job %d had finished before its leading process was lost: its model is in %s", l.Job, l.Run)
	finished, last, err := run.Finish(l.Run)
	if err != nil || last == nil {
		return err
	}
	var r result
	if err := json.Unmarshal(last, &r); err != nil {
		return bellows.Errorf(bellows.BadData, "finish run", l.Run, "the last line in its record: %w", err)
	}
	if finished.Seq > l.Shown {
		err = c.Object(finished)
	}
	if err == nil && l.Shown < math.MaxUint64 {
		err = c.Object(last)
	}
	if err != nil {
		return err
	}
	return r.Audit.Verdict()
}

// interrupt keeps the image from which an interrupted run resumes, and reports its progress; not if no command could
// resume it.
func (t *training) interrupt(res *node.Result, so run.Progress) error {
	im := res.Image
	if !t.repeatable() {
		im = nil
	} else {
		t.stages.Meter.Begin(progress.Part{Doing: "saving what is needed to resume", Unit: "bytes", Total: im.Bytes()})
	}
	return t.folder.Interrupted(context.Background(), im, res.Commits, so, func(n int64) { _ = t.stages.Meter.Add(n) })
}

// interrupted records the interruption and returns the error with the command to resume, if possible: input from a pipe
// is gone.
func (t *training) interrupted(what string) error {
	sentence := "interrupted " + what + " nothing is lost"
	hint := "resume with the same command: "
	if t.opt.fresh {
		hint = "resume with the same command without --fresh: "
	}
	var out []string
	if t.unstored != nil {
		out = []string{"--out", t.folder.Dir}
		t.Talk("%v", t.unstored)
	}
	hint += t.Again(t.opt.fresh && line.Beneath(t.Args, os.Environ(), "fresh"), out...)
	if !t.repeatable() {
		sentence = "interrupted " + strings.TrimRight(what, ",;")
		hint = "its data cannot be read again, so that no command can resume it; train from files to be able to"
	}
	t.journal.announce(event.Event{Kind: event.Interrupted, Model: t.folder.Dir, Epoch: new(t.epochs.last.Number), Sentence: sentence})
	return &bellows.Error{Kind: bellows.Interrupted, Op: "interrupted", Hint: hint}
}

// repeatable reports whether the same command would read the same data.
func (t *training) repeatable() bool { return run.Repeatable(slices.Concat(t.files, t.opt.test)) }

// progress returns what the run has cost, earlier parts included.
func (t *training) progress(res *node.Result) run.Progress {
	return run.Progress{Seconds: t.folder.Before.Seconds + res.Trained.Seconds(), Account: t.folder.Before.Plus(&res.Audit.Account)}
}

// result returns the figures of a run that made the model.
func (t *training) result(m *model.Model, res *node.Result, so run.Progress, checked run.Audit, moved traffic) (*result, error) {
	last := &t.epochs.last
	r := &result{
		App: m.App, Seconds: so.Seconds, LoadSeconds: t.inputs.seconds, Epochs: last.Number, Examples: last.Items,
		Metrics: finiteMetrics(last.Metrics), Members: processes.Count(t.members), Bytes: moved,
		Audit:            checked,
		Reconfigurations: []any{}, Recoveries: t.recoveries(), Model: t.folder.Dir, Memory: t.memory.Use(),
	}
	if so.Seconds > 0 {
		r.ExamplesPerSecond = float64(r.Examples) / so.Seconds
	}
	maps.Copy(r.Metrics, m.Metrics) // the model may be that of an earlier epoch
	if err := t.score(m, r, res.Image != nil); err != nil {
		return nil, err
	}
	t.strange()
	r.Objective = objective{t.made.Objective, r.Metrics[t.made.Objective]}
	if b := t.made.Baseline; b != nil {
		r.Baseline = &objective{b.Name, b.Value}
		t.compare(r)
	}
	r.Missing, r.Warnings = t.inputs.set.Detected.Missing, append([]string{}, t.warnings...)
	return r, nil
}

// score adds the test figures of the saved model to the result. An interrupted command does not compute them. There are
// also none if the test rows cannot be scored: the model is saved all the same, with a warning.
func (t *training) score(m *model.Model, r *result, interrupted bool) error {
	drop := func() {
		maps.DeleteFunc(r.Metrics, func(name string, _ float64) bool { return strings.HasPrefix(name, "test_") })
	}
	if interrupted {
		drop()
		return nil
	}
	t.stages.Enter(timing.Scoring)
	defer t.stages.Enter(timing.Saving)
	err := t.inputs.score(t.app, m, t.opt.seed, r.Metrics, t.stages.Meter)
	if err != nil && t.stages.Meter.Err() != nil {
		drop()
		return nil
	}
	if bellows.KindOf(err) == bellows.BadData {
		drop()
		t.unscored(err)
		return nil
	}
	return err
}

// lastLine sums up the run for people: its figure, its cost, its model, its audit.
func (t *training) lastLine(r *result) {
	var parts []string
	for _, name := range t.about.Metrics {
		if v, ok := r.Metrics[name]; ok && strings.HasPrefix(name, "test_") {
			parts = append(parts, figures.Metric(name)+" "+figures.Number(v))
		}
	}
	if r.Baseline != nil && len(parts) > 0 {
		parts[0] += fmt.Sprintf(" (%s %s)", r.Baseline.Name, figures.Number(r.Baseline.Value))
	}
	sign := "="
	if len(r.Audit.Disagreements) > 0 {
		sign = "≠"
	}
	updates := fmt.Sprintf("updates sent %s %s applied %s", figures.Grouped(r.Audit.Sent), sign, figures.Grouped(r.Audit.Applied))
	if r.Audit.Dropped > 0 {
		updates += fmt.Sprintf(" + dropped %s", figures.Grouped(r.Audit.Dropped))
	}
	parts = append(parts, figures.Duration(r.Seconds)+" s", "model "+r.Model, updates)
	t.Printf("%s\n", screen.Fold(strings.Join(parts, " · "), t.Width()))
}

// next prints what can be done with the model, as commands that work as printed.
func (t *training) next() {
	if t.JSON {
		return
	}
	show := t.Program() + " model show " + screen.ShellWord(t.folder.Dir)
	if len(t.files) == 0 {
		t.Talk("next:  %s  ·  %s train %s --help", show, t.Program(), t.about.Name)
		return
	}
	if !run.Repeatable(t.files[:1]) {
		t.Talk("next:  %s", show)
		return
	}
	t.Talk("next:  %s predict %s %s  ·  %s", t.Program(), screen.ShellWord(filepath.Clean(t.folder.Dir)), screen.ShellWord(t.files[0]), show)
}
