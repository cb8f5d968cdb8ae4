package verbs

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/splits"
	"bellows/data"
	"bellows/model"
	"bellows/node"
	"bellows/progress"
	"bellows/run"
	"bellows/run/board"
	"bellows/run/datafiles"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// order is one training command as it was understood: what is to be trained, on what, where. All but members stays as it is read: where
// the tables are small, job takes them away from all nodes but node 0. Every process of a job makes the same order of
// the same words, so that nothing in it may depend on the process: the words alone travel (processes.txtar).
type order struct {
	app       app.Application
	about     app.Description
	files     []string // empty: the demo's data
	opt       *trainOptions
	slots     int
	most      int // slots that the job may get; 0: not set
	members   []node.Member
	goal      *app.Goal
	staleness *int
	from      *model.Model // to begin with; nil: none
}

// newOrder reads the flags that need no data, so that a mistake shows before a long read.
func newOrder(a app.Application, files []string, opt *trainOptions) (*order, error) {
	o := &order{app: a, about: a.Describe(), files: files, opt: opt}
	err := opt.reading.check(o.about.Data)
	if err != nil {
		return nil, err
	}
	if opt.reading.weight != "" && !o.about.Weighs {
		return nil, line.BadFlag("weight", opt.reading.weight, "%s counts all rows alike; leave it out", o.about.Name)
	}
	if o.slots, o.most, err = opt.slots(); err != nil {
		return nil, err
	}
	if o.members, err = opt.cluster.Members(o.slots, opt.workers); err != nil {
		return nil, err
	}
	if err := o.checkNames(); err != nil {
		return nil, err
	}
	if err := splits.Check(opt.cache); err != nil {
		return nil, err
	}
	if _, err := run.ParseEvery(opt.checkpointEvery); err != nil {
		return nil, line.BadFlag("checkpoint-every", opt.checkpointEvery, "%v", err)
	}
	if err := run.CheckPlace(context.Background(), opt.checkpoint); err != nil {
		return nil, line.BadFlag("checkpoint", run.Shown(opt.checkpoint), "%v", err)
	}
	if o.goal, err = line.ParseGoal(opt.until, o.about); err != nil {
		return nil, err
	}
	if err := opt.checkHoldout(o.about.Data); err != nil {
		return nil, err
	}
	if o.from, err = opt.begin(o.about); err != nil {
		return nil, err
	}
	if opt.metrics != "" {
		if err := board.CheckAddress(opt.metrics); err != nil {
			return nil, line.BadFlag("metrics", opt.metrics, "%w", err)
		}
	}
	if o.staleness, err = opt.stale(); err != nil {
		return nil, err
	}
	return o, nil
}

// checkNames refuses data that can be read once where several processes, or DATA and --test, would read it.
func (o *order) checkNames() error {
	opt := o.opt
	all := slices.Concat(o.files, opt.test, opt.reading.lists())
	if opt.reading.vocab != "" {
		all = append(all, opt.reading.vocab)
	}
	name, what := datafiles.ReadOnce(all)
	switch {
	case name == "":
	case opt.cluster.At != "" && name == datafiles.Stdin:
		return line.BadFlag("cluster", opt.cluster.At, "the cluster's processes read the data, and none has this standard input; write it to a file")
	case opt.cluster.At != "":
		return line.BadFlag("cluster", opt.cluster.At, "the cluster's processes read the data, and %s can be read once; write it to a file", what)
	case len(o.members) > 1:
		return line.BadFlag("processes", fmt.Sprint(opt.cluster.Processes), "every process reads the data, and %s can be read once; write it to a file", what)
	}
	if slices.Contains(opt.test, datafiles.Stdin) && slices.Contains(o.files, datafiles.Stdin) {
		return line.BadFlag("test", datafiles.Stdin, "standard input is DATA already, and can be read once; name a file")
	}
	return nil
}

// data returns what the headline calls the data.
func (o *order) data() string {
	if len(o.files) == 0 {
		return "demo"
	}
	short := make([]string, len(o.files))
	for i, f := range o.files {
		short[i] = filepath.Base(f)
		if strings.Contains(f, "://") { // what is behind ? says where the store is
			where, _, _ := strings.Cut(f, "?")
			short[i] = path.Base(where)
		}
		if f == "-" {
			short[i] = "standard input"
		}
	}
	return strings.Join(short, " ")
}

// checkWeights refuses rows that count differently for an application that does not weigh them.
func checkWeights(about app.Description, sets ...*data.Set) error {
	for _, set := range sets {
		if !about.Weighs && set.Weighted() {
			return bellows.Errorf(bellows.BadData, "read", about.Name, "rows have weights (%s), and %s counts all alike", set.Detected.Weight, about.Name).
				Hinted("leave out --weight; of Vowpal Wabbit text write no importance weights")
		}
	}
	return nil
}

// job lets the application make a training job of the data, and says in the end which nodes hold the tables.
func (o *order) job(in *inputs, m *progress.Meter) (*app.Run, error) {
	if err := checkWeights(o.about, in.set, in.test); err != nil {
		return nil, err
	}
	in.same = in.test != nil && in.set.SameRows(in.test)
	input := app.Input{
		Data: in.set, Test: in.test, Seed: o.opt.seed, Epochs: o.opt.epochs, Goal: o.goal,
		Staleness: o.staleness, Slots: o.slots, SlotsMost: o.most, Settings: o.opt.set, Meter: m, From: o.from, Spend: true,
		Shared: o.shared(), Train: o.further(m),
	}
	made, err := o.app.NewRun(input)
	if err != nil {
		return nil, err
	}
	if made.Job.Data == "" {
		made.Job.Data = input.Identity(made.Settings)
	}
	o.place(made.Job.Tables)
	if prepare := made.Job.Prepare; o.shared() && prepare != nil {
		made.Job.Prepare = func(active []bellows.SplitID) error {
			defer in.idle()
			return prepare(active)
		}
	}
	if err := in.settle(made, o.opt.seed); err != nil {
		return nil, err
	}
	if o.shared() {
		in.idle()
	}
	return made, nil
}

// further returns a function that trains jobs which the model of a run needs beside its own, in this process. Their epochs are not shown. The meter's context interrupts them.
func (o *order) further(m *progress.Meter) app.Train {
	return func(job train.Job) ([][]float32, error) {
		res, err := node.Train(m.Context(), job, node.Options{Slots: max(1, min(o.slots, runtime.GOMAXPROCS(0)))})
		switch {
		case m.Err() != nil:
			return nil, &bellows.Error{Kind: bellows.Interrupted, Op: "interrupted", Subject: "while the model was calibrated"}
		case err != nil:
			return nil, err
		}
		checked := run.Judge(res, run.Progress{Account: res.Audit.Account})
		return res.Tables, checked.Verdict()
	}
}

// place puts small tables on one node if no node is a server.
func (o *order) place(tables []table.Schema) {
	if o.opt.cluster.Auto() {
		o.members = node.Place(o.members, tables, o.opt.cluster.Lead != nil)
	}
}

// shared reports whether several nodes run the job.
func (o *order) shared() bool { return o.opt.cluster.IsDistributed() }

// config returns the resolved configuration that run.json stores.
func (o *order) config(ctx context.Context, settings map[string]string) run.Config {
	return run.Config{
		App: o.about.Name, Data: o.files, Test: o.opt.test, Seed: o.opt.seed, Epochs: o.opt.epochs,
		Until: o.opt.until, Staleness: o.opt.staleness, Settings: settings,
		Reading: o.opt.reading.given(), Kernels: vec.Kernels(),
		From: o.opt.from, Holdout: o.opt.holdout, Time: o.opt.time, TimeFeature: o.opt.timeKept,
		Inputs: run.Inputs(ctx, slices.Concat(o.files, o.opt.test, o.opt.manifest(), o.opt.reading.lists())),
	}
}
