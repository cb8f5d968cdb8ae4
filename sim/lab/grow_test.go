package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/sim/lab"
	"bellows/sim/lab/script"
)

// growing returns a cluster of so many machines, some without a node at first, and the arrival of their nodes at a
// time.
func growing(first, last int, machine lab.Machine, at, start time.Duration) (lab.Site, []lab.Arrival) {
	site := lab.Cluster(last, first, machine)
	var list []lab.Arrival
	for _, n := range site.Nodes[first+1:] {
		list = append(list, lab.Arrival{Node: n, At: at, Start: start})
	}
	site.Nodes = site.Nodes[:first+1]
	return site, list
}

// TestGrowingKeepsTheModelsBits doubles two clusters in the middle of a job.
func TestGrowingKeepsTheModelsBits(t *testing.T) {
	t.Parallel()
	bsp := 0
	for _, c := range []struct {
		name     string
		app      app.Application
		settings map[string]string
	}{
		{"mlr", mlr.New(), map[string]string{"splits": "12"}},
		{"mlr gradients", mlr.New(), map[string]string{"rule": "adam", "splits": "9"}},
		{"linear", linear.New(), map[string]string{"splits": "8"}},
		{"linear steps", linear.New(), map[string]string{"solver": "adagrad", "splits": "9"}},
		{"mf strata", mf.New(), map[string]string{"rank": "4"}},
		{"lda", lda.New(), map[string]string{"topics": "4", "splits": "8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			machine := lab.Machine{Cores: 1, Up: 1e8, Down: 1e8}
			job := func() lab.Config {
				return lab.Config{Seed: 1, Job: made(t, c.app, 3, &bsp, c.settings).Job, Costs: costs, Jitter: 0.3}
			}
			quiet := job()
			quiet.Site = lab.Cluster(2, 2, machine)
			want := run(t, quiet)
			grown := job()
			grown.Site, grown.Growth = growing(2, 4, machine, want.Epochs[0].Time, 0)
			grown.Site.Latency = 100 * time.Microsecond
			grown.SplitBytes = func(bellows.SplitID) int { return 300_000 }
			r := run(t, grown)
			if !sameBits(r.Tables, want.Tables) {
				t.Error("the model is not that of the quiet run")
			}
			if len(r.Arrivals) != 2 {
				t.Fatalf("%d nodes have come", len(r.Arrivals))
			}
			for i, a := range r.Arrivals {
				share := grown.Job.Splits / 4
				if int(a.Node) != 3+i || a.Splits != share || a.Copied != int64(share)*300_000 || a.Moved == 0 ||
					a.Invited < want.Epochs[0].Time || a.TakesPart <= a.Invited || a.Told <= a.TakesPart || a.Moved < a.Told || a.Moved > r.Time {
					t.Errorf("the arrival of a node that is to have %d splits is %+v, of a job of %v", share, a, r.Time)
				}
				if r.Nodes[a.Node].Phases[0] == 0 {
					t.Errorf("node %d has not computed", a.Node)
				}
			}
		})
	}
}

// TestNewcomersServeToTheEnd lets the only server leave after other nodes have come. They have the model at the job's end.
func TestNewcomersServeToTheEnd(t *testing.T) {
	t.Parallel()
	bsp := 0
	play := func(growth []lab.Arrival, site lab.Site, events ...script.Event) *lab.Result {
		cfg := lab.Config{Job: made(t, mlr.New(), 20, &bsp, map[string]string{"splits": "12", "clocks": "2"}).Job, Seed: 1,
			Costs: lab.Costs{Item: 50_000}, Site: site, Growth: growth, Script: events}
		cfg.Job.Tables[0].Bounds, cfg.Job.Tables[0].Partitions = nil, 8
		site.Nodes[1].Lanes, site.Nodes[2].Slots = 0, 0
		return run(t, cfg)
	}
	machine := lab.Machine{Cores: 1, Up: 1e7, Down: 1e7}
	want := play(nil, lab.Cluster(2, 2, machine))
	site, list := growing(2, 4, machine, want.Time/4, 0)
	for i := range list {
		list[i].Node.Lanes = 1
	}
	r := play(list, site, script.Event{At: want.Time / 2, Kind: script.Leave, Node: 2})
	if e := r.Script[0]; !sameBits(r.Tables, want.Tables) || e.Done == 0 || e.Err != "" || r.Time > want.Time {
		t.Errorf("%+v; the job takes %v, without more nodes %v", e, r.Time, want.Time)
	}
}

// TestTwiceTheNodesTakeHalfTheTime holds a job that grows to arithmetic: messages cost nothing, and a split moves between two of its clocks.
func TestTwiceTheNodesTakeHalfTheTime(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 10, width: 2}
	site, list := growing(2, 4, lab.Machine{Cores: 1}, 20*time.Millisecond-time.Microsecond, 0)
	r := run(t, lab.Config{Job: s.job(), Site: site, Costs: millisecond, Growth: list})
	// Two clocks of 1 ms on each core in 2 ms, until the clock ends in which the splits were ordered to move; then one.
	want := 20*time.Millisecond + 30*time.Millisecond
	if d := r.Time - want; d.Abs() > 2*time.Microsecond {
		t.Errorf("%d clocks take %v; want %v (%+v)", s.clocks, r.Time, want, r.Arrivals)
	}
	again := run(t, lab.Config{Job: s.job(), Site: site, Costs: millisecond, Growth: list})
	if again.Hash != r.Hash || again.Events != r.Events {
		t.Error("one seed gives two runs")
	}
}

// TestASplitFollowsItsData compares the copies with the bandwidth of the links.
func TestASplitFollowsItsData(t *testing.T) {
	t.Parallel()
	const rate = 100e6
	s := toy{splits: 4, clocks: 400, rows: 10, width: 2}
	site, list := growing(2, 4, lab.Machine{Cores: 1, Up: rate, Down: rate}, 10*time.Millisecond, 7*time.Millisecond)
	r := run(t, lab.Config{Job: s.job(), Site: site, Costs: millisecond, Growth: list, SplitBytes: func(bellows.SplitID) int { return 10e6 }})
	for i, a := range r.Arrivals {
		if start := a.TakesPart - a.Invited; start < 7*time.Millisecond || start > 8*time.Millisecond || i > 0 && a.Invited != r.Arrivals[0].Invited {
			t.Errorf("%+v: it takes part %v behind its invitation", a, start)
		}
		// Each comes from a machine of its own: 100 ms on the one link, while the other brings what has passed the first.
		if took := a.Told - a.TakesPart; took < 100*time.Millisecond || took > 112*time.Millisecond {
			t.Errorf("%+v: 10 MB have come in %v", a, took)
		}
	}
}

// TestAJobMayEndBeforeAnArrival ends one while a node is called, starts, and copies.
func TestAJobMayEndBeforeAnArrival(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 10, rows: 10, width: 2}
	for _, c := range []struct {
		at, start time.Duration
		bytes     int
		want      string
	}{
		{time.Hour, 0, 0, "0 false false"},
		{time.Millisecond, time.Hour, 0, "2 false false"},
		{time.Millisecond, 0, 1e9, "2 true false"},
	} {
		site, list := growing(2, 4, lab.Machine{Cores: 1, Up: 1e6, Down: 1e6}, c.at, c.start)
		r := run(t, lab.Config{Job: s.job(), Site: site, Costs: millisecond, Growth: list, SplitBytes: func(bellows.SplitID) int { return c.bytes }})
		got := fmt.Sprint(len(r.Arrivals), " ", len(r.Arrivals) > 0 && r.Arrivals[0].TakesPart > 0, " ", len(r.Arrivals) > 0 && r.Arrivals[0].Told > 0)
		if got != c.want {
			t.Errorf("%+v: %s: %+v", c, got, r.Arrivals)
		}
	}
}

// TestAnArrivalThatCannotBeIsRefused names what is wrong.
func TestAnArrivalThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 10, rows: 10, width: 2}
	for want, list := range map[string][]lab.Arrival{
		"arrival 0":  {{Node: lab.Node{Machine: 9, Slots: 1}}},
		"arrival 1":  {{Node: lab.Node{Slots: 1}}, {Node: lab.Node{}}},
		"set splits": {{Node: lab.Node{Slots: 1}}, {Node: lab.Node{Slots: 1}}, {Node: lab.Node{Slots: 1}}},
	} {
		if _, err := lab.Run(lab.Config{Job: s.job(), Site: lab.Cluster(2, 2, lab.Machine{Cores: 1}), Growth: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: want a word of %q, got %v", list, want, err)
		}
	}
}
