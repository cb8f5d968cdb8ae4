// Package app defines what an application gives to the command line: its description, a training job made from data,
// and predictions from its model.
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

// A Short is a second name of an application with some settings made, such as svm for linear with loss=hinge.
type Short struct {
	Name     string            // the APP of the command line, instead
	Title    string            // its description in help
	Settings map[string]string // the settings that the name means; --set may not change them
	Defaults map[string]string // other settings, which --set may change
}

// A Description describes an application.
type Description struct {
	Name  string // the APP of the command line: "mf"
	Title string // "matrix factorisation"
	Unit  string // what is counted as an item: "ratings"
	Data  data.Kind
	// Demo is which demonstration of the kind of data shows what the application does (data/demo): "customers" of examples; "": the first of the kind.
	Demo string
	// Bare allows training rows without a target: pairs of a user and an item without a rating.
	Bare bool
	// Weighs allows row weights in training and in scores: data.ExampleSet.Weight. Without it every row weighs the same.
	Weighs bool
	// Warm allows a run to start from a saved model: Input.From.
	Warm     bool
	Settings []Setting
	Page     string // the page of documentation that explains the settings; "": none
	// Short are other names of the application.
	Short []Short
	// Metrics are the names of the table's columns, in order: "train_rmse", "test_rmse". Early stopping and --until use
	// the last by default.
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

// Reached reports whether the metrics of an epoch meet the goal. A nil goal is never met.
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

// Falls reports whether a metric, with or without a prefix such as train_ or test_, falls as a model gets better. known is
// false for a metric that only an application defines.
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
	SlotsMost int   // compute slots that the job may get while it runs; 0: unknown. See SplitsLeast
	Settings  map[string]string
	// Meter receives the progress of NewRun, and then of the job's Prepare; its errors end them. nil: none.
	Meter *progress.Meter
	From  *model.Model // the run starts from it; nil: from initial values
	Train Train        // for runs that train further models; nil: such a run fails at its end
	// Spend lets NewRun reuse the memory of Data's columns. Data then has no rows left, see data.Set.Mapped.
	Spend bool
	// Shared is set if several nodes run the job. NewRun may then leave the layout of splits to the job's Prepare, which
	// receives the splits that are active on a node. Prepare reads the columns of Data and Test, which stay open while
	// the job runs unless the Run is Copied.
	Shared bool
}

// Train trains a job to its end in this process and returns its tables, row-major. It returns an error of kind
// Interrupted if the user ends it before.
type Train func(job train.Job) (tables [][]float32, err error)

// SplitsEach is the least number of splits for each compute slot that a run may use: with fewer, some slots would often
// be idle.
const SplitsEach = 4

// SplitsLeast returns the least number of splits that an application should choose, if the data can be cut into so many.
// The number of splits never grows during a run. If the largest number of slots is unknown, only the data decide: see
// docs/decisions/learning.md, 0055.
func (in *Input) SplitsLeast() int { return SplitsEach * in.SlotsMost }

// SlotsEnough returns the largest number of compute slots that can use so many splits: each slot has SplitsEach splits,
// or there are no more slots than at the start of the run and each has one.
func SlotsEnough(splits, slots int) int { return max(splits/SplitsEach, min(splits, slots)) }

// Consistency returns the consistency of a run's tables: Staleness if it is set, otherwise the application's choice.
func (in *Input) Consistency(otherwise table.Consistency) table.Consistency {
	switch {
	case in.Staleness == nil:
		return otherwise
	case *in.Staleness < 0:
		return table.Async
	}
	return table.SSP(*in.Staleness)
}

// AnyHeldOut reports whether any of so many rows is held out. Of a thousand rows at least one is, except with a chance
// of 1e-22.
func AnyHeldOut(seed uint64, rows, percent int) bool {
	for row := range min(rows, 1000) {
		if data.HeldOut(seed, int64(row), percent) {
			return true
		}
	}
	return rows > 1000
}

// HeldOut describes which rows of Data are held out. stops is set if held-out rows decide when a run with a test ends.
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

// Share returns the first of m items in part i of n equal parts: part i is [Share(m, i, n), Share(m, i+1, n)).
func Share(m, i, n int) int { return int(int64(m) * int64(i) / int64(n)) }

// Part returns part i of n of a list, dealt evenly.
func Part[T any](list []T, i, n int) []T {
	return list[Share(len(list), i, n):Share(len(list), i+1, n)]
}

// Identity returns the text that nodes compare, as train.Job.Data, to check that they made the same job: the digest of the
// data, the other inputs, and the settings of the run. It has no goal and no number of epochs: only node 0 ends a run.
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
	Headline string            // "rank 32 · 10 % held out (seed 1)": for the first line of the table
	Warnings []string          // possible mistakes in the data, a sentence each
	Items    int64             // training items of one epoch
	Before   int64             // items that are visited before the first epoch
	Expected int               // estimated number of epochs, before the first; 0: unknown
	// Copied is set if the run has copied all that it needs of the input except ids, names and words. The caller may then
	// free the columns, see data.Set.Release.
	Copied bool
	// Held is the held-out rows of Data if the run has copied them, otherwise nil.
	Held *data.Set
	// Baseline is a metric for comparison, shown in the last line: {"mean predictor", 1.1257}.
	Baseline *train.Metric
	// Metrics are the table's columns if they differ from the Description's; nil otherwise.
	Metrics []string
	// Numbers is set if labels are numbers to predict, not classes.
	Numbers bool
	// Objective is the name of the metric that the run minimises or maximises.
	Objective string
	// Doubts returns warnings about how training ended, a sentence each; nil: none. It is called after the job has ended.
	Doubts func() []string
	// Model builds the model from the tables' values (Tables order, row-major). It may train further models by
	// Input.Train after the job has ended. If it is interrupted, it starts again when the run resumes.
	Model func(tables [][]float32) (*model.Model, error)
}

// Predictor answers for one model.
type Predictor interface {
	// Evaluate computes the model's metrics on labelled data: "rmse", "accuracy", ...
	Evaluate(set *data.Set) ([]train.Metric, error)
	// Predict writes one line per row of the data, in its order.
	Predict(set *data.Set, out io.Writer) error
	// Read returns how to read the model's data: the kind, and the options that fix its shape.
	Read() (data.Kind, data.Options)
}

// Numeric is a Predictor that may predict numbers instead of classes.
type Numeric interface {
	Predictor
	// Numbers reports whether labels are numbers to predict.
	Numbers() bool
}

// Paced is a Predictor that reports its progress: after Pace, it adds the rows that it scores to the meter, block by
// block. If the meter's context ends, it skips the other rows and its answer is invalid: the caller must check the meter.
type Paced interface {
	Pace(m *progress.Meter)
}

// Shared is a Predictor that can be copied for several goroutines. The copies give the same answers, and share no state
// that changes.
type Shared interface {
	// Share returns another copy, without a meter. Several goroutines may call it at once.
	Share() Predictor
}

// Teller is an application that can describe in words what a model has learned. `model show` prints the lines.
type Teller interface {
	Learned(m *model.Model) ([]string, error)
}

// Application is a kind of model that bellows can train.
type Application interface {
	Describe() Description
	NewRun(in Input) (*Run, error)
	Open(m *model.Model) (Predictor, error)
}
