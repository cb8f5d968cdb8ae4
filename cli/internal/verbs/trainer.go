package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/api"
	"bellows/app"
	"bellows/cmd/bellows/internal/figures"
	"bellows/cmd/bellows/internal/watch"
	"bellows/data"
	"bellows/demo"
	"bellows/node"
	"bellows/run"
	"bellows/tally"
	"bellows/train"
	"bellows/vec"
)

// job is what train or demo were asked to do.
type job struct {
	app   app.Application
	files []string // empty: the demo's data
	opt   *trainOptions
}

// trainer is one training command. Its steps run in the order check, load, prepare, claim, run.
type trainer struct {
	*console
	job
	screen *screen

	began     time.Time
	slots     int
	members   []node.Member
	goal      *app.Goal
	staleness *int

	set, test   *data.Set
	loadSeconds float64
	made        *app.Run
	folder      *run.Folder
	moved       traffic      // between nodes
	saved       []byte       // the image of an unfinished run, for other processes
	before      run.Progress // what led to the image that the run goes on from
	last        train.Epoch  // the last that was reported
	spent       node.Spent
	wait        float64 // share of the slots' time, as last known
	look        node.Watch
	board       *watch.Board
	itemsBefore int64

	events    sync.Mutex // epochs and notices come from different goroutines
	logFailed bool       // under events
}

// check reads the flags that need no data, so that a mistake shows before a long read.
func (t *trainer) check(context.Context) error {
	t.began, t.wait = time.Now(), math.NaN()
	var err error
	if t.slots, err = t.opt.slots(); err != nil {
		return err
	}
	if t.members, err = t.opt.cluster.members(t.slots); err != nil {
		return err
	}
	if len(t.members) > 1 && slices.Contains(append(slices.Clone(t.files), t.opt.test...), "-") {
		return badFlag("processes", fmt.Sprint(t.opt.cluster.processes), "every process reads the data, and standard input can be read once; write it to a file")
	}
	if t.goal, err = t.opt.goal(t.app.Describe()); err != nil {
		return err
	}
	if t.opt.metrics != "" {
		if err := watch.CheckAddress(t.opt.metrics); err != nil {
			return badFlag("metrics", t.opt.metrics, "%w", err)
		}
	}
	if t.opt.epochs < 0 {
		return badFlag("epochs", fmt.Sprint(t.opt.epochs), "it must be at least 1, or 0 for the application's choice")
	}
	t.staleness, err = t.opt.stale()
	return err
}

// name is what the headline calls the data.
func (t *trainer) name() string {
	if len(t.files) == 0 {
		return "demo"
	}
	short := make([]string, len(t.files))
	for i, f := range t.files {
		short[i] = filepath.Base(f)
		if f == "-" {
			short[i] = "standard input"
		}
	}
	return strings.Join(short, " ")
}

// load reads the data.
func (t *trainer) load(ctx context.Context) error {
	d := t.app.Describe()
	t.screen.begin(d.Title + " · " + t.name() + ": ")
	start := time.Now()
	defer func() { t.loadSeconds = time.Since(start).Seconds() }()
	var err error
	if len(t.files) == 0 {
		if t.set, err = demo.Make(d.Data, t.opt.seed); err != nil {
			return bellows.Errorf(bellows.Bug, "make demo", d.Name, "%w", err)
		}
		return nil
	}
	opt, err := t.opt.reading.apply(data.Options{Stdin: t.in, Cache: t.opt.cacheFolder()})
	if err != nil {
		return err
	}
	if t.set, err = data.Read(ctx, t.files, d.Data, opt); err != nil {
		return interruptedWhile(ctx, "reading", err)
	}
	if len(t.opt.test) == 0 {
		return nil
	}
	if t.test, err = data.Read(ctx, t.opt.test, d.Data, opt.Like(t.set)); err != nil {
		return interruptedWhile(ctx, "reading", err)
	}
	return nil
}

// cacheFolder is where parsed inputs are kept, "" for nowhere.
func (o *trainOptions) cacheFolder() string {
	switch o.cache {
	case "":
		return filepath.Join(cacheFolder(), "splits")
	case "off":
		return ""
	}
	return o.cache
}

// prepare lets the application make a training job of the data.
func (t *trainer) prepare(context.Context) error {
	var err error
	t.made, err = t.app.NewRun(app.Input{
		Data: t.set, Test: t.test, Seed: t.opt.seed, Epochs: t.opt.epochs, Goal: t.goal,
		Staleness: t.staleness, Slots: t.slots, Settings: t.opt.set,
	})
	if err == nil && t.opt.cluster.servers == "auto" {
		t.members = node.Place(t.members, t.made.Job.Tables)
	}
	return err
}

// config is the resolved configuration that run.json stores.
func (t *trainer) config() run.Config {
	return run.Config{
		App: t.app.Describe().Name, Data: t.files, Test: t.opt.test, Seed: t.opt.seed, Epochs: t.opt.epochs,
		Until: t.opt.until, Staleness: t.opt.staleness, Settings: t.made.Settings,
		Reading: t.opt.reading.given(), Kernels: vec.Kernels(),
		Inputs: run.Inputs(append(append([]string{}, t.files...), t.opt.test...)),
	}
}

// claim takes the run's folder and completes the headline.
func (t *trainer) claim(context.Context) error {
	var err error
	t.folder, err = run.Claim(run.Request{
		Config: t.config(), Out: t.opt.out, Fresh: t.opt.fresh, Versions: currentVersion().versions(),
	})
	if err != nil {
		return err
	}
	t.before = t.folder.Before
	whole, err := filepath.Abs(t.folder.Dir)
	if err != nil {
		return bellows.Errorf(bellows.IO, "find", t.folder.Dir, "%w", err)
	}
	t.board = watch.NewBoard(api.Status{Job: filepath.Base(whole), App: t.app.Describe().Name, PID: os.Getpid(),
		Model: t.folder.Dir, Started: t.began}, t.before.Seconds, t.look.Look)
	t.screen.headline(t.set.Detected.String()+" · "+t.made.Headline, membership(t.members).place())
	if t.folder.Resumed {
		t.event("resumed", t.resumedSentence(), map[string]any{"model": t.folder.Dir})
		return nil
	}
	t.event("started", fmt.Sprintf("%s: %s", t.name(), t.set.Detected), map[string]any{
		"app": t.app.Describe().Name, "data": t.files, "rows": t.set.Rows(), "items": t.made.Items, "settings": t.made.Settings,
		"load_seconds": t.loadSeconds, "workers": membership(t.members).Workers, "model": t.folder.Dir,
	})
	return nil
}

func (t *trainer) resumedSentence() string {
	if t.folder.Image == nil {
		return "an unfinished run of this command is in " + t.folder.Dir + ", but nothing to go on from; it starts over"
	}
	return fmt.Sprintf("going on with the unfinished run in %s after %s s of training; --fresh would start over", t.folder.Dir, figures.Duration(t.before.Seconds))
}

// localNode names the one node of this process in events.
const localNode = "node-0"

// shownOtherwise are the events that people read elsewhere on the screen.
var shownOtherwise = []string{"started", "joined", "epoch", "finished", "failed", "lost"}

// event records something that happened and shows it: as a JSON line, and to people as a sentence
// unless the table shows it already.
func (t *trainer) event(kind, sentence string, fields map[string]any) {
	t.events.Lock()
	defer t.events.Unlock()
	e, err := t.folder.Log.Append(run.Event{Kind: kind, Node: localNode, Sentence: sentence, Fields: fields})
	if err != nil && !t.logFailed {
		t.logFailed = true
		t.screen.sentence(err.Error())
	}
	if err := errors.Join(t.board.Event(e), t.object(e)); err != nil {
		t.screen.sentence(err.Error())
	}
	if !slices.Contains(shownOtherwise, kind) {
		t.screen.sentence(sentence)
	}
}

// run trains, saves and reports, while others may look.
func (t *trainer) run(ctx context.Context) error {
	post, err := t.board.Post(t.opt.state, t.opt.metrics, t.talk)
	if err != nil {
		return err
	}
	defer post.Close()
	defer t.board.Close()
	res, err := t.drive(ctx)
	end := api.Ended
	switch {
	case err != nil:
		end = api.Failed
	case res.Image != nil:
		end = api.Interrupted
	}
	if err != nil {
		t.failed(err)
	}
	t.measured(end)
	if err != nil && (res == nil || res.Tables == nil) {
		return err
	}
	if err := t.conclude(res); err != nil {
		return err
	}
	return err
}

// failed records why the job ended before its time.
func (t *trainer) failed(err error) {
	kind := "failed"
	switch kindOf(err) {
	case bellows.Lost:
		kind = "lost"
	case bellows.Interrupted: // before it had begun
		return
	}
	sentence, _, _ := strings.Cut(err.Error(), "\n")
	t.event(kind, sentence, map[string]any{"model": t.folder.Dir})
}

// measured stores the figures of the run, whatever its end was.
func (t *trainer) measured(end api.State) {
	t.board.End(end)
	s, err := t.board.Status(context.Background())
	if err == nil {
		err = t.folder.Measured(s)
	}
	if err != nil {
		t.talk("%v", err)
	}
	t.moved = traffic{Pushed: s.Bytes[tally.Pushes.String()].Bytes,
		Pulled: s.Bytes[tally.Rows.String()].Bytes + s.Bytes[tally.Leases.String()].Bytes}
}

// drive runs the job.
func (t *trainer) drive(ctx context.Context) (*node.Result, error) {
	opt := node.Options{Slots: t.slots, Wire: t.opt.cluster.format, Watch: &t.look, OnStart: t.onStart, OnEpoch: t.onEpoch, Notice: func(s string) { t.event("waiting", s, nil) }}
	if t.folder.Image != nil {
		im, err := run.DecodeImage(t.folder.Image)
		if err != nil {
			return nil, err
		}
		opt.Resume = im
		t.saved, t.folder.Image = t.folder.Image, nil
	}
	t.screen.start()
	defer t.screen.end()
	if len(t.members) > 1 {
		return t.lead(ctx, opt)
	}
	return node.Train(ctx, t.made.Job, opt)
}

// onStart records the nodes of a job in many processes.
func (t *trainer) onStart(nodes []api.Node) {
	if len(nodes) < 2 {
		return
	}
	processes := map[string]int{}
	for _, n := range nodes {
		processes[n.ID] = n.PID
	}
	t.event("joined", figures.Plural(len(nodes), "node")+" have joined", map[string]any{"processes": processes})
}

// onEpoch shows an epoch. The runtime calls it in order.
func (t *trainer) onEpoch(e train.Epoch, so node.Spent) {
	trainedFor := so.Trained
	seconds := (trainedFor - t.spent.Trained).Seconds()
	slots := so.Slots.Since(&t.spent.Slots)
	if slots.Total() > 0 { // else an epoch shorter than nodes report
		t.wait = slots.Waited()
	}
	items := e.Items - t.itemsBefore
	if t.itemsBefore == 0 && e.Number > 1 {
		items = t.made.Items // the first epoch after a resume
	}
	t.spent, t.itemsBefore, t.last = so, e.Items, e
	p := progress{
		Epoch: e, seconds: t.before.Seconds + trainedFor.Seconds(), rate: float64(items) / seconds,
		wait: t.wait, members: membership(t.members).String(),
	}
	t.screen.add(p)
	metrics := finiteMetrics(e.Metrics)
	t.board.Epoch(e.Number, metrics)
	var parts []string
	for _, m := range e.Metrics {
		parts = append(parts, fmt.Sprintf("%s %.4f", figures.Metric(m.Name), m.Value))
	}
	fields := map[string]any{"epoch": e.Number, "metrics": metrics, "seconds": p.seconds, "examples": e.Items, "phases": api.Phases(&slots)}
	if !math.IsInf(p.rate, 0) && !math.IsNaN(p.rate) {
		fields["examples_per_second"] = p.rate
	}
	t.event("epoch", fmt.Sprintf("epoch %d: %s, after %s s", e.Number, strings.Join(parts, ", "), figures.Duration(p.seconds)), fields)
}

// finiteMetrics is the metrics that JSON can hold.
func finiteMetrics(metrics []train.Metric) map[string]float64 {
	out := map[string]float64{}
	for _, m := range metrics {
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			out[m.Name] = m.Value
		}
	}
	return out
}

// explain adds to an error what the run's folder still has.
func (t *trainer) explain(ctx context.Context, err error) error {
	var typed *bellows.Error
	if t.folder != nil && ctx.Err() == nil && errors.As(err, &typed) && typed.Kind == bellows.Bug && typed.Hint == "" {
		typed.Hint = "what happened until then is in " + filepath.Join(t.folder.Dir, "events.jsonl")
	}
	return err
}

// close gives back what the command holds.
func (t *trainer) close() {
	if t.folder != nil {
		if err := t.folder.Close(); err != nil {
			t.talk("%v", err)
		}
	}
	for _, set := range []*data.Set{t.set, t.test} {
		if set != nil {
			if err := set.Close(); err != nil {
				t.talk("%v", err)
			}
		}
	}
}
