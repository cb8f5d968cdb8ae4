package lab_test

import (
	"testing"
	"time"

	"bellows/app/linear"
	"bellows/app/mlr"
	"bellows/policy/reshape"
	"bellows/sim/lab"
	"bellows/sim/lab/script"
)

// scriptOf returns a script of one event, just before a time in milliseconds.
func scriptOf(millis int, e script.Event) []script.Event {
	e.At = time.Duration(millis)*time.Millisecond - time.Microsecond
	return []script.Event{e}
}

// within holds a time against the one wanted.
func within(t *testing.T, what string, got, want, by time.Duration) {
	t.Helper()
	if d := got - want; d.Abs() > by {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// came checks that all events of a script have come about.
func came(t *testing.T, r *lab.Result) {
	t.Helper()
	for _, e := range r.Script {
		if e.Err != "" || e.Kind != script.Slow && (e.Began < e.At || e.Done < e.Began) {
			t.Errorf("%+v", e)
		}
	}
}

// TestModelHasBitsOfQuietRun lets things happen to jobs under BSP.
func TestModelHasBitsOfQuietRun(t *testing.T) {
	t.Parallel()
	bsp := 0
	for name, make := range map[string]func() lab.Config{
		"mlr": func() lab.Config {
			return lab.Config{Job: made(t, mlr.New(), 3, &bsp, map[string]string{"splits": "8"}).Job}
		},
		"linear": func() lab.Config {
			return lab.Config{Job: made(t, linear.New(), 3, &bsp, map[string]string{"solver": "adagrad", "splits": "8"}).Job}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := func() lab.Config {
				cfg := make()
				cfg.Seed, cfg.Costs, cfg.Jitter = 1, costs, 0.3
				cfg.Site = lab.Cluster(4, 2, lab.Machine{Cores: 1, Up: 1e8, Down: 1e8})
				cfg.Site.Latency = 100 * time.Microsecond
				return cfg
			}
			want := run(t, job())
			first, second := want.Epochs[0].Time, want.Epochs[1].Time
			middle := (first + second) / 2
			for name, list := range map[string][]script.Event{
				"move":   {{At: middle, Kind: script.Move, Partition: 0, Node: 2}},
				"split":  {{At: first, Kind: script.Split, Split: 1, Node: 3}},
				"slow":   {{At: first, Kind: script.Slow, Node: 3, For: time.Second, Slower: 3}},
				"worker": {{At: middle, Kind: script.Die, Node: 4}},
				"leave":  {{At: first, Kind: script.Leave, Node: 2}},
				"switch": {{At: first, Kind: script.Switch, Node: 2, Role: reshape.Server}},
				"server": {{At: first, Kind: script.Cut}, {At: middle, Kind: script.Die, Node: 1}},
			} {
				cfg := job()
				cfg.Script = list
				r := run(t, cfg)
				if came(t, r); !sameBits(r.Tables, want.Tables) {
					t.Errorf("%s: the model is not that of the quiet run", name)
				}
				if lives := 1 + len(list) - 1; r.Lives != lives {
					t.Errorf("%s: %d lives", name, r.Lives)
				}
			}
		})
	}
}

// TestSplitThatMovesTakesItsWorkAlong moves one of two splits of a core to a core that has two.
func TestSplitThatMovesTakesItsWorkAlong(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 10, width: 2}
	r := run(t, lab.Config{Job: s.job(), Site: machines(2), Costs: millisecond, Script: scriptOf(20, script.Event{Kind: script.Split, Split: 0, Node: 2})})
	came(t, r)
	within(t, "10 clocks of two tasks and 30 of three", r.Time, (20+90)*time.Millisecond, 4*time.Microsecond)
}

// TestSlowNodeOfScript slows one of four nodes for 30 ms.
func TestSlowNodeOfScript(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 10, width: 2}
	r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond,
		Script: []script.Event{{At: 10 * time.Millisecond, Kind: script.Slow, Node: 2, For: 30 * time.Millisecond, Slower: 3}}})
	within(t, "30 clocks of 1 ms and 10 of 3", r.Time, 60*time.Millisecond, time.Microsecond)
}

// TestDeathOfWorker kills one of four nodes in the midst of a clock: its task is lost, and begins again at another node when node 0
// knows.
func TestDeathOfWorker(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 10, width: 2}
	site := lab.Cluster(4, 2, lab.Machine{Cores: 1})
	r := run(t, lab.Config{Job: s.job(), Site: site, Costs: millisecond, Recovery: lab.Recovery{Detect: 5 * time.Millisecond},
		Script: []script.Event{{At: 10*time.Millisecond + 300*time.Microsecond, Kind: script.Die, Node: 4}}})
	came(t, r)
	within(t, "the job continues", r.Script[0].Done, 15*time.Millisecond+300*time.Microsecond, time.Microsecond)
	// The clock of the death is done 1 ms after that; then each clock has two tasks at one node.
	within(t, "the job", r.Time, (10+5+1+2*29)*time.Millisecond+300*time.Microsecond, 10*time.Microsecond)
	if p := r.Nodes[4].Phases; p.Total() == 0 || p[0] > 11*time.Millisecond {
		t.Errorf("a node that died computes: %+v", p)
	}
}

// TestDeathOfServer rolls a job back to its last cut.
func TestDeathOfServer(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 10, width: 2}
	cfg := lab.Config{Job: s.job(), Site: lab.Cluster(4, 2, lab.Machine{Cores: 1}), Costs: millisecond,
		Recovery: lab.Recovery{Detect: 5 * time.Millisecond, Restart: 100 * time.Millisecond},
		Script:   append(scriptOf(10, script.Event{Kind: script.Cut}), scriptOf(20, script.Event{Kind: script.Die, Node: 1})...)}
	r := run(t, cfg)
	came(t, r)
	// The cut has 10 clocks, or 9 and what is done of the tenth: the rest runs again after 20 ms, the death and the restart.
	within(t, "the job", r.Time, (20+5+100+30)*time.Millisecond, 1100*time.Microsecond)
	if r.Lives != 2 || r.Commits == 0 {
		t.Errorf("%d lives, %d commits", r.Lives, r.Commits)
	}
	cfg.Job, cfg.Script = s.job(), cfg.Script[1:]
	if _, err := lab.Run(cfg); err == nil {
		t.Error("a job without a cut loses tables and continues")
	}
}

// TestCutsOnInterval takes cuts of a partition, which its node stores at a rate.
func TestCutsOnInterval(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 100, rows: 1000, width: 10}
	cfg := lab.Config{Job: s.job(), Site: lab.Cluster(4, 2, lab.Machine{Cores: 1}), Costs: millisecond,
		Cuts: lab.Cuts{Every: 10 * time.Millisecond, Rate: 1e6, Latency: 2 * time.Millisecond}}
	quiet := run(t, lab.Config{Job: s.job(), Site: cfg.Site, Costs: millisecond})
	r := run(t, cfg)
	within(t, "a job that is cut", r.Time, quiet.Time, time.Microsecond)
	cfg.Job, cfg.Cuts.Every = s.job(), 0
	cfg.Script = scriptOf(50, script.Event{Kind: script.Cut})
	r = run(t, cfg)
	came(t, r)
	// 40 KB take 40 ms, then 2 ms for the shard and 2 for the whole.
	within(t, "a cut", r.Script[0].Done-r.Script[0].Began, 44*time.Millisecond, 1100*time.Microsecond)
}

// TestLeaveEmptiesNode asks a node to leave that has a split and a partition.
func TestLeaveEmptiesNode(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 40, rows: 1000, width: 10}
	r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond, Script: scriptOf(10, script.Event{Kind: script.Leave, Node: 3})})
	came(t, r)
	if d := r.Script[0].Done - r.Script[0].Began; d <= 0 || d > 10*time.Millisecond {
		t.Errorf("the node leaves after %v", d)
	}
	// Then 4 tasks a clock run at three nodes.
	if r.Time < 65*time.Millisecond || r.Time > 71*time.Millisecond {
		t.Errorf("the job takes %v", r.Time)
	}
}

// TestScriptThatCannotBeIsRefused names what is wrong.
func TestScriptThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 5, rows: 10, width: 2}
	if _, err := lab.Run(lab.Config{Job: s.job(), Site: machines(2), Script: scriptOf(1, script.Event{Kind: script.Die, Node: 7})}); err == nil {
		t.Error("a node dies that is not there")
	}
}

// TestCopiesRestBetweenWindows moves a partition of three windows on a link that takes 0.1 s for each. As in production
// the copy rests for a quarter of a second between two of them, unless the partition's node is to leave.
func TestCopiesRestBetweenWindows(t *testing.T) {
	t.Parallel()
	const megabyte, width = 1 << 20, 16
	s := toy{splits: 2, clocks: 3000, rows: 2, width: width}
	for _, c := range []struct {
		event script.Event
		want  time.Duration
	}{
		{script.Event{Kind: script.Move, Partition: 1, Node: 1}, 300*time.Millisecond + 2*250*time.Millisecond},
		{script.Event{Kind: script.Leave, Node: 2, For: 10 * time.Second}, 300 * time.Millisecond},
	} {
		cfg := lab.Config{Job: s.job(), Site: lab.Cluster(2, 2, lab.Machine{Cores: 1, Up: 10 * megabyte, Down: 10 * megabyte}), Costs: millisecond,
			Script: scriptOf(20, c.event)}
		cfg.Job.Tables[0].Rows, cfg.Job.Tables[0].Partitions = 2*3*megabyte/4/width, 2
		r := run(t, cfg)
		came(t, r)
		within(t, string(c.event.Kind), r.Script[0].Done-r.Script[0].Began, c.want, 30*time.Millisecond)
	}
}

// TestCutsBeginAtTicks asks for a cut every 250 ms: each begins at the next tick of node 0.
func TestCutsBeginAtTicks(t *testing.T) {
	t.Parallel()
	s := toy{splits: 2, clocks: 1000, rows: 10, width: 2}
	r := run(t, lab.Config{Job: s.job(), Site: machines(2), Costs: millisecond, Tick: 100 * time.Millisecond,
		Cuts: lab.Cuts{Every: 250 * time.Millisecond, Latency: 10 * time.Millisecond}})
	if len(r.Cuts) != 3 {
		t.Fatalf("%d cuts", len(r.Cuts))
	}
	for i, c := range r.Cuts {
		if want := time.Duration(i+1) * 300 * time.Millisecond; c.Began != want || c.Done < c.Began+20*time.Millisecond {
			t.Errorf("cut %d begins at %v, not %v, and is safe at %v", i, c.Began, want, c.Done)
		}
	}
}
