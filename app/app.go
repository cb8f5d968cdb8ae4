// Package app says what an application is to the command line: how it describes itself, how it
// turns data into a training job, and how it predicts from a model that it made.
//
// The order of calls: Describe for help and defaults; NewRun with the data, which checks every
// setting and refuses unknown ones; the caller trains Run.Job; Run.Model turns the trained tables
// into a model. Later, Open gives a Predictor for a saved model. The package trains nothing itself.
package app

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/table"
	"bellows/train"
)

// Setting is one hyperparameter as `train APP --help` lists it.
type Setting struct {
	Name    string // the key of --set key=value
	Default string
	Reason  string // what it does, in one line of help
	Details string // the whole explanation, in sentences, which `help APP NAME` prints; "": Reason says it all
}

// Short is a name of an application with settings of its own, for whom the name of a model is nearer than that of the application.
type Short struct {
	Name     string            // the APP of the command line, instead
	Title    string            // what it is, for help
	Settings map[string]string // what the name means, by the names of --set: nobody sets them beside
	Defaults map[string]string // others, where nobody sets them
}

// Description is what an application says of itself.
type Description struct {
	Name  string // the APP of the command line: "mf"
	Title string // "matrix factorisation"
	Unit  string // what is counted as an item: "ratings"
	Data  data.Kind
	// Demo is which demonstration of the kind of data shows what the application does (data/demo): "customers" of examples; "": the first of the kind.
	Demo string
	// Bare says that rows of training may lack what is predicted: pairs of a user and an item without a rating.
	Bare bool
	// Weighs says that rows may count differently in training and in scores: data.ExampleSet.Weight. Others are given rows that count alike alone.
	Weighs bool
	// Warm says that a run can begin with a saved model: Input.From.
	Warm     bool
	Settings []Setting
	Page     string // the page of documentation that explains the settings; "": none
	// Short are other words for APP, with some settings made: "svm" for the application linear with loss=hinge.
	Short []Short
	// Metrics are the names of the table's columns, in order: "train_rmse", "test_rmse". The last
	// is the one that early stopping and --until look at when nothing else is said.
	Metrics []string
	// Other are the metrics of runs that name their own, see Run.Metrics.
	Other []string
}

// Goal ends a run early: --until METRIC<=X.
type Goal struct {
	Metric string
	Below  bool // reached at or below Value; else at or above
	Value  float64
}

// Reached reports whether the metrics of an epoch meet the goal. No goal is never met.
func (g *Goal) Reached(metrics []train.Metric) bool {
	if g == nil {
		return false
	}
	for _, m := range metrics {
		if m.Name == g.Metric {
			return g.Below && m.Value <= g.Value || !g.Below && m.Value >= g.Value
		}
	}
	return false
}

// Falls says whether a metric, with train_ or test_ before it or without, falls as a model gets better. Of a metric that an application
// alone knows nothing is known.
func Falls(metric string) (falls, known bool) {
	for _, part := range []string{"train_", "test_", "held_", "progressive_"} {
		metric = strings.TrimPrefix(metric, part)
	}
	switch metric {
	case "rmse", "mae", "logloss", "loss", "perplexity", "gap":
		return true, true
	case "accuracy", "auc", "f1", "r2", "loglik_per_token", "ndcg_at_10":
		return false, true
	}
	return false, false
}

// Input is all that a run is made from.
type Input struct {
	Data      *data.Set
	Test      *data.Set // nil: 10 % of Data is held out by hash of (Seed, row)
	Seed      uint64
	Epochs    int   // 0: the application's choice, with early stopping
	Goal      *Goal // nil: none
	Staleness *int  // nil: the application's choice; 0 BSP; -1 async
	Slots     int   // compute slots that will be used, as a hint for the number of splits
	SlotsMost int   // compute slots that the job may get while it runs; 0: nobody says. See SplitsLeast
	Settings  map[string]string
	// Meter is told how far NewRun is, and the job's Prepare after it; its errors end them. nil: nobody waits.
	Meter *progress.Meter
	From  *model.Model // the run begins with it; nil: with first values
	Train Train        // for runs that train more models to make theirs; nil: they fail at the end
	// Spend lets NewRun use the memory of Data's columns for what it makes of them: then Data has no rows any more, see data.Set.Mapped.
	Spend bool
	// Shared says that several nodes run the job. NewRun may then leave the layout of splits to the job's Prepare, which is told those that are active on
	// a node: what it leaves is made of the columns of Data and Test, which stay as long as the job runs where the Run is not Copied.
	Shared bool
}

// Train trains a job to its end in this process and returns its tables, row-major. It returns an error of kind Interrupted if the user ends it before.
type Train func(job train.Job) (tables [][]float32, err error)

// SplitsEach is how many splits a compute slot has, at least, where the run may come to use as many slots as it can: with fewer some would often have
// nothing to do.
const SplitsEach = 4

// SplitsLeast returns the least number of splits that an application is to choose, as far as the data can be cut into
// so many: a run never has more than in the beginning. Where nobody has said how many slots it may get, the data
// decide alone: see docs/decisions/0055-let-the-data-decide-the-number-of-splits.md.
func (in *Input) SplitsLeast() int { return SplitsEach * in.SlotsMost }

// SlotsEnough is for how many compute slots so many splits are enough: each has SplitsEach of them, or there are no more slots than the run begins with and each
// has one.
func SlotsEnough(splits, slots int) int { return max(splits/SplitsEach, min(splits, slots)) }

// Consistency is that of a run's tables: what is asked for, else the application's choice.
func (in *Input) Consistency(otherwise table.Consistency) table.Consistency {
	switch {
	case in.Staleness == nil:
		return otherwise
	case *in.Staleness < 0:
		return table.Async
	}
	return table.SSP(*in.Staleness)
}

// AnyHeldOut reports whether any of so many rows is held out. Of a thousand there always is one: that none is has a
// chance of 1e-22.
func AnyHeldOut(seed uint64, rows, percent int) bool {
	for row := range min(rows, 1000) {
		if data.HeldOut(seed, int64(row), percent) {
			return true
		}
	}
	return rows > 1000
}

// HeldOut says in words which rows of Data are held out. stops says whether rows beside a test decide when the run ends.
func (in *Input) HeldOut(stops bool) string {
	switch {
	case !AnyHeldOut(in.Seed, in.Data.Rows(), data.HeldPercent(in.Test != nil, stops)):
	case in.Test == nil:
		return fmt.Sprintf("%d %% held out (seed %d)", data.HeldAlone, in.Seed)
	case stops:
		return fmt.Sprintf("%d %% held out for stopping (seed %d)", data.HeldBesideTest, in.Seed)
	}
	if in.Test != nil {
		return "no further rows held out"
	}
	return "nothing held out"
}

// Share is where part i of n items, dealt evenly, begins: the part is [Share(m, i, n), Share(m, i+1, n)).
func Share(m, i, n int) int { return int(int64(m) * int64(i) / int64(n)) }

// Part returns part i of n of a list, dealt evenly.
func Part[T any](list []T, i, n int) []T {
	return list[Share(len(list), i, n):Share(len(list), i+1, n)]
}

// Identity is what nodes compare to know that they have made the same job, as train.Job.Data: the data by its digest, what is
// chosen beside it, and the settings of the run. Where a run ends is node 0's to say alone.
func (in *Input) Identity(settings map[string]string) string {
	test, staleness, from := "", "", ""
	if in.From != nil {
		for _, f := range in.From.Files {
			from += "; from " + f.SHA256
		}
	}
	if in.Test != nil {
		test = in.Test.Digest()
	}
	if in.Staleness != nil {
		staleness = strconv.Itoa(*in.Staleness)
	}
	return fmt.Sprintf("data %s; test %s; seed %d; staleness %s; %v%s", in.Data.Digest(), test, in.Seed, staleness, settings, from)
}

// Run is a training job made from an input, and the way from its tables to a model.
type Run struct {
	Job      train.Job         // without Data it gets the input's Identity
	Settings map[string]string // resolved: every setting with its value
	Headline string            // "rank 32 · 10 % held out (seed 1)": what the table's first line says
	Warnings []string          // what about the data may not be as meant, a sentence each
	Items    int64             // training items of one epoch
	Before   int64             // items that are visited before the first epoch
	Expected int               // epochs that the run is thought to take, before it has any; 0: unknown
	// Copied says that the run has taken what it needs of the input but ids, names and words: columns may be given back, see data.Set.Release.
	Copied bool
	// Held is the rows of Data that are held out, where the run has copied them; nil: nobody has.
	Held *data.Set
	// Baseline is a figure of comparison that the last line shows: {"mean predictor", 1.1257}.
	Baseline *train.Metric
	// Metrics are the table's columns where they are not those of the Description; nil otherwise.
	Metrics []string
	// Numbers says that labels are numbers to predict, and no classes.
	Numbers bool
	// Objective is the name of the metric that the run minimises or maximises.
	Objective string
	// Doubts returns warnings about how training ended, a sentence each; nil: there are never any. It is called once the job has ended.
	Doubts func() []string
	// Model builds the model from the tables' values (Tables order, row-major). It may train more models, by Input.Train, once the job has ended: it takes as long as they do, and
	// what is interrupted meanwhile is done again when the run continues.
	Model func(tables [][]float32) (*model.Model, error)
}

// Predictor answers for one model.
type Predictor interface {
	// Evaluate computes the model's metrics on labelled data: "rmse", "accuracy", ...
	Evaluate(set *data.Set) ([]train.Metric, error)
	// Predict writes one line per row of the data, in its order.
	Predict(set *data.Set, out io.Writer) error
	// Read is how the model's data is to be read: the kind, and what fixes its shape.
	Read() (data.Kind, data.Options)
}

// Numeric is a Predictor that may predict numbers, where others have classes.
type Numeric interface {
	Predictor
	// Numbers reports whether labels are numbers to predict.
	Numbers() bool
}

// Paced is a Predictor that tells of its work: from Pace on it adds the rows that it scores to the meter, block by block. When the
// meter's context ends it leaves the rest out, so that what it answers then means nothing: whoever paces it asks the meter.
type Paced interface {
	Pace(m *progress.Meter)
}

// Shared is a Predictor of which several goroutines can have one each: they answer for the same model alike, and have nothing in common that changes.
type Shared interface {
	// Share is another of them, which nobody paces. It may be called by several goroutines at once.
	Share() Predictor
}

// Teller is an application that can say in words what a model has learned: `model show` prints the
// lines.
type Teller interface {
	Learned(m *model.Model) ([]string, error)
}

// Application is one of the things that bellows can train.
type Application interface {
	Describe() Description
	NewRun(in Input) (*Run, error)
	Open(m *model.Model) (Predictor, error)
}
