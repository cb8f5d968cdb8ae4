package lab_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/core/tally"
	"bellows/data"
	"bellows/data/demo"
	"bellows/node"
	"bellows/sim/lab"
	"bellows/sim/lab/pattern"
	"bellows/table"
	"bellows/train"
)

// eighth returns an eighth of the demonstration's data of a kind; it is read-only.
func eighth(kind data.Kind) *data.Set {
	set, err := demo.Make(kind, 1)
	if err != nil {
		panic(err) // there is one of each kind
	}
	switch {
	case set.Examples != nil:
		n := set.Examples.Rows() / 8
		set.Examples.Label, set.Examples.Dense = set.Examples.Label[:n], set.Examples.Dense[:n*set.Examples.Features]
	case set.Ratings != nil:
		n := set.Ratings.Rows() / 8
		set.Ratings.User, set.Ratings.Item, set.Ratings.Rating = set.Ratings.User[:n], set.Ratings.Item[:n], set.Ratings.Rating[:n]
	case set.Documents != nil:
		set.Documents.Offset = set.Documents.Offset[:set.Documents.Rows()/8+1]
	}
	return set
}

var (
	examples  = sync.OnceValue(func() *data.Set { return eighth(data.Examples) })
	ratings   = sync.OnceValue(func() *data.Set { return eighth(data.Ratings) })
	documents = sync.OnceValue(func() *data.Set { return eighth(data.Documents) })
)

// made returns a job of an application.
func made(t *testing.T, a app.Application, epochs int, staleness *int, settings map[string]string) *app.Run {
	t.Helper()
	set := map[data.Kind]func() *data.Set{data.Examples: examples, data.Ratings: ratings, data.Documents: documents}[a.Describe().Data]()
	run, err := a.NewRun(app.Input{Data: set, Seed: 1, Epochs: epochs, Slots: 2, Staleness: staleness, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// costs are round figures.
var costs = lab.Costs{Item: 1000, Task: 5000, Score: 50_000, Send: 2000, SendByte: 0.25, Receive: 3000, ReceiveByte: 0.25, Local: 1000, LocalByte: 0.1}

func run(t *testing.T, cfg lab.Config) *lab.Result {
	t.Helper()
	r, err := lab.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sent != r.Applied || r.Dropped != 0 {
		t.Errorf("the audit does not agree: %d sent, %d applied, %d dropped", r.Sent, r.Applied, r.Dropped)
	}
	return r
}

func sameBits(a, b [][]float32) bool {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for j := range a[i] {
			if math.Float32bits(a[i][j]) != math.Float32bits(b[i][j]) {
				return false
			}
		}
	}
	return len(a) == len(b)
}

// TestBSPModelHasSequentialBits runs each application alone in real time, and on clusters of the laboratory.
func TestBSPModelHasSequentialBits(t *testing.T) {
	t.Parallel()
	const epochs = 2
	bsp := 0
	sites := []lab.Site{lab.Cluster(4, 2, lab.Machine{Cores: 1, Up: 1e8, Down: 1e8}), lab.Processes(3, 2, 3), lab.Alone(1, 1)}
	if testing.Short() {
		sites = sites[:1]
	}
	for _, c := range []struct {
		name     string
		app      app.Application
		settings map[string]string
	}{
		{"mlr", mlr.New(), nil},
		{"mlr gradients", mlr.New(), map[string]string{"rule": "adam"}},
		{"mlr charged", mlr.New(), map[string]string{"l1": "0.01"}},
		{"linear", linear.New(), nil},
		{"linear steps", linear.New(), map[string]string{"solver": "ftrl", "l1": "0.01"}},
		{"mf strata", mf.New(), map[string]string{"rank": "4"}},
		{"mf ssp", mf.New(), map[string]string{"rank": "4", "schedule": "ssp"}},
		{"lda", lda.New(), map[string]string{"topics": "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			alone, err := node.Train(context.Background(), made(t, c.app, epochs, &bsp, c.settings).Job, node.Options{Slots: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, site := range sites {
				site.Latency, site.LocalLatency = 100*time.Microsecond, 20*time.Microsecond
				r := run(t, lab.Config{Seed: 1, Job: made(t, c.app, epochs, &bsp, c.settings).Job, Site: site, Costs: costs, Jitter: 0.3})
				if !sameBits(r.Tables, alone.Tables) {
					t.Errorf("the model of %d nodes is not that of one process", len(site.Nodes))
				}
				if len(r.Epochs) != epochs || r.Epochs[epochs-1].Trained != r.Trained || r.Trained >= r.Time {
					t.Errorf("%d epochs, trained %v of %v", len(r.Epochs), r.Trained, r.Time)
				}
			}
		})
	}
}

// TestASeedDecidesEverything runs one experiment with staleness twice, and with another seed.
func TestASeedDecidesEverything(t *testing.T) {
	t.Parallel()
	staleness := 2
	on := func(seed uint64, slow pattern.Slow) *lab.Result {
		return run(t, lab.Config{Seed: seed, Job: made(t, mlr.New(), 2, &staleness, nil).Job, Site: lab.Cluster(4, 4, lab.Machine{Cores: 2, Up: 1e8, Down: 1e8}),
			Costs: costs, Slow: slow, Jitter: 0.5})
	}
	slow := pattern.PowerLaw(5*time.Millisecond, 4)
	first, second, other, quick := on(1, slow), on(1, slow), on(2, slow), on(1, nil)
	if first.Hash != second.Hash || first.Time != second.Time || first.Events != second.Events || !sameBits(first.Tables, second.Tables) {
		t.Errorf("one seed gives %x after %v and %x after %v", first.Hash, first.Time, second.Hash, second.Time)
	}
	if first.Hash == other.Hash || first.Time == other.Time || sameBits(first.Tables, other.Tables) {
		t.Errorf("another seed gives the same: %x after %v and %x after %v", first.Hash, first.Time, other.Hash, other.Time)
	}
	if quick.Time >= first.Time {
		t.Errorf("slow nodes make no difference: %v without, %v with", quick.Time, first.Time)
	}
}

// TestPhasesAreAllOfTheTime holds the account of slots against the time, epoch by epoch.
func TestPhasesAreAllOfTheTime(t *testing.T) {
	t.Parallel()
	bsp := 0
	var told []lab.Epoch
	r := run(t, lab.Config{Job: made(t, mlr.New(), 3, &bsp, nil).Job, Site: lab.Cluster(3, 3, lab.Machine{Cores: 2, Up: 1e7, Down: 1e7}), Costs: costs,
		OnEpoch: func(e lab.Epoch) { told = append(told, e) }})
	before := time.Duration(0)
	var sum tally.Flow
	for i, e := range r.Epochs {
		if told[i].Time != e.Time || e.Phases.Total() != 6*(e.Time-before) {
			t.Errorf("epoch %d: phases %+v are not those of 6 slots for %v", e.Number, e.Phases, e.Time-before)
		}
		if p := e.Phases; p[tally.Compute] == 0 || p[tally.PullWait] == 0 || p[tally.PushWait]+p[tally.CommitWait] == 0 || p[tally.Idle] == 0 {
			t.Errorf("epoch %d: %+v: a slow link makes tasks wait", e.Number, p)
		}
		before = e.Time
		sum.Add(e.Traffic)
	}
	if r.Phases.Total() != 6*r.Time {
		t.Errorf("phases %+v are not those of 6 slots for %v", r.Phases, r.Time)
	}
	for _, n := range r.Nodes {
		sum = sum.Since(n.Sent.Total())
	}
	if sum.Frames > 0 || sum.Bytes > 0 {
		t.Errorf("epochs count %+v more than passed", sum)
	}
}

// TestAWorkerFunctionRuns runs the Bösen form, with functions that are coroutines themselves, and leaves no goroutine.
func TestAWorkerFunctionRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := train.Job{Tables: []table.Schema{{Name: "count", Rows: 1, Width: 1, Consistency: 1}}, Splits: 6,
			Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}
		train.Loop(&job, 5, func(w *train.Worker) error {
			for range 5 {
				if own := w.PullRow(0, 0)[0]; own < float32(w.CurrentClock()) {
					return fmt.Errorf("split %d at clock %d reads %v: not even its own", w.Split(), w.CurrentClock(), own)
				}
				w.PushValue(0, 0, 0, 1)
				w.Clock()
			}
			return nil
		})
		r := run(t, lab.Config{Job: job, Site: lab.Cluster(3, 1, lab.Machine{Cores: 1}), Costs: costs, Jitter: 1})
		if got := r.Tables[0][0]; got != 30 {
			t.Errorf("6 splits counted 5 clocks each to %v", got)
		}
		failing := toy{splits: 6, clocks: 9, rows: 10, width: 2, fail: func(t *train.Task) error {
			if t.Clock() == 4 {
				return errScript
			}
			return nil
		}}
		if _, err := lab.Run(lab.Config{Job: failing.job(), Site: lab.Cluster(3, 1, lab.Machine{Cores: 1}), Costs: costs, Jitter: 1}); err == nil {
			t.Error("a job that fails ends without an error")
		}
	})
}
