package lab_test

import (
	"context"
	"math"
	"testing"
	"time"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data"
	"bellows/demo"
	"bellows/node"
	"bellows/sim/lab"
)

// made is a job of an application on the demonstration's data.
func made(t *testing.T, a app.Application, epochs int, staleness *int, settings map[string]string) *app.Run {
	t.Helper()
	set, err := demo.Make(a.Describe().Data, 1)
	if err != nil {
		t.Fatal(err)
	}
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

// TestABSPModelHasTheBitsOfOneProcess runs each application alone in real time, and on clusters of the laboratory.
func TestABSPModelHasTheBitsOfOneProcess(t *testing.T) {
	t.Parallel()
	bsp := 0
	for _, c := range []struct {
		app      app.Application
		kind     data.Kind
		settings map[string]string
	}{
		{app: mlr.New()},
		{app: mf.App{}},
		{app: mf.App{}, settings: map[string]string{"schedule": "ssp"}},
		{app: lda.New(), settings: map[string]string{"topics": "8"}},
	} {
		alone, err := node.Train(context.Background(), made(t, c.app, 3, &bsp, c.settings).Job, node.Options{Slots: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, site := range []lab.Site{lab.Alone(1, 1), lab.Processes(3, 2, 3), lab.Cluster(4, 2, lab.Machine{Cores: 1, Up: 1e8, Down: 1e8})} {
			site.Latency, site.LocalLatency = 100*time.Microsecond, 20*time.Microsecond
			r := run(t, lab.Config{Seed: 1, Job: made(t, c.app, 3, &bsp, c.settings).Job, Site: site, Costs: costs, Jitter: 0.3})
			if !sameBits(r.Tables, alone.Tables) {
				t.Errorf("%s %v: the model of %d nodes is not that of one process", c.app.Describe().Name, c.settings, len(site.Nodes))
			}
			t.Log(c.app.Describe().Name, len(site.Nodes), r.Time, r.Trained, r.Events, r.Phases, r.Cores)
		}
	}
}
