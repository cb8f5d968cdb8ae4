package lab_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/sim/lab"
	"bellows/sim/lab/pattern"
	"bellows/table"
	"bellows/train"
)

// toy is a job that computes nothing: every task of its splits reads all rows of a table, visits one item and changes
// all rows.
type toy struct {
	splits, clocks int
	rows, width    int
	staleness      table.Consistency
	fail           func(t *train.Task) error // called by every task; nil: none fails
}

func (s toy) job() train.Job {
	return train.Job{
		Tables: []table.Schema{{Name: "shared", Rows: s.rows, Width: s.width, Consistency: s.staleness}},
		Splits: s.splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Clocks{Splits: s.splits, Count: s.clocks},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) {
			return &scripted{toy: s, delta: make([]float32, s.rows*s.width)}, nil
		},
	}
}

type scripted struct {
	toy
	delta []float32
}

func (e *scripted) RunTask(t *train.Task) error {
	t.PullRange(0, 0, bellows.RowID(e.rows))
	e.delta[0] = float32(t.Split() + 1)
	t.PushRange(0, 0, e.delta)
	if e.fail != nil {
		return e.fail(t)
	}
	return nil
}

// machines returns a cluster with free messages, a node on each machine and a core each.
func machines(count int) lab.Site { return lab.Cluster(count, count, lab.Machine{Cores: 1}) }

// millisecond is an item's cost in the tests of arithmetic.
var millisecond = lab.Costs{Item: 1e6}

func TestStragglerSlowsBSPFully(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 20, rows: 10, width: 2}
	for _, c := range []struct {
		slow pattern.Slow
		want time.Duration
	}{
		{nil, 20 * time.Millisecond},
		{pattern.Constant(3, 2), 60 * time.Millisecond},
		// One of four is slow at a time, so that every clock takes as long as if all were; windows end with clocks.
		{pattern.Rotating(2, 4*time.Millisecond, 4), 40 * time.Millisecond},
	} {
		r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond, Slow: c.slow})
		if d := r.Time - c.want; d.Abs() > time.Microsecond {
			t.Errorf("%d clocks of 1 ms take %v; want %v", s.clocks, r.Time, c.want)
		}
	}
}

func TestStalenessHidesAStragglerThatPasses(t *testing.T) {
	t.Parallel()
	slow := pattern.Rotating(4, 4*time.Millisecond, 4)
	s := toy{splits: 4, clocks: 100, rows: 10, width: 2}
	bsp := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond, Slow: slow})
	// Each node alone: of 16 ms it is slow for 4, in which it does one clock instead of 4.
	alone := 100 * 16 * time.Millisecond / 13
	last := bsp.Time
	for _, staleness := range []table.Consistency{1, 3} {
		s.staleness = staleness
		r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond, Slow: slow})
		if r.Time >= last || r.Time < alone-4*time.Millisecond {
			t.Errorf("staleness %d: %v; want less than %v with less staleness, and not less than %v, as long as a node needs alone", staleness, r.Time, last, alone)
		}
		last = r.Time
		missed := 0
		for clocks, reads := range r.Staleness {
			if clocks > int(staleness) && reads > 0 {
				t.Errorf("staleness %d: %d reads missed %d clocks", staleness, reads, clocks)
			}
			if clocks > 0 && reads > 0 {
				missed = clocks
			}
		}
		if missed == 0 {
			t.Errorf("staleness %d: no read missed a clock, so that the bound was not tried", staleness)
		}
	}
}

func TestLinkTimeFollowsBytes(t *testing.T) {
	t.Parallel()
	const rate = 1e6
	on := func(rows int, latency time.Duration) *lab.Result {
		s := toy{splits: 1, clocks: 5, rows: rows, width: 10}
		site := lab.Site{Latency: latency, Machines: []lab.Machine{{Cores: 1, Up: rate, Down: rate}, {Cores: 1, Up: rate, Down: rate}},
			Nodes: []lab.Node{{Lanes: 1}, {Machine: 1, Slots: 1}}}
		return run(t, lab.Config{Job: s.job(), Site: site, Tick: time.Hour}) // nothing else is on the links
	}
	passed := func(r *lab.Result) (bytes int64) {
		for i, n := range r.Nodes {
			came, left := n.Received.Total(), r.Nodes[1-i].Sent.Total()
			bytes += came.Bytes
			if came.Frames == 0 || came.Frames > left.Frames || came.Bytes > left.Bytes {
				t.Errorf("node %d received %+v of %+v", i, came, left)
			}
		}
		return bytes
	}
	// Rows and deltas pass alone, and arrive while they leave: each byte more takes its time once.
	few, many := on(100, 0), on(1000, 0)
	more := time.Duration(float64(passed(many)-passed(few)) * 1e9 / rate)
	if d := many.Time - few.Time - more; d.Abs() > time.Microsecond {
		t.Errorf("%d bytes more take %v more; want %v", passed(many)-passed(few), many.Time-few.Time, more)
	}
	// A clock is at least a push, and what comes back of it.
	one, two, three := on(100, time.Second), on(100, 2*time.Second), on(100, 3*time.Second)
	if hops := (two.Time - one.Time) / time.Second; three.Time-two.Time != two.Time-one.Time || hops*time.Second != two.Time-one.Time || hops < 5*2 {
		t.Errorf("latencies of 1, 2 and 3 s take %v, %v and %v", one.Time, two.Time, three.Time)
	}
}

func TestNodesOfAMachineShareItsCores(t *testing.T) {
	t.Parallel()
	s := toy{splits: 6, clocks: 10, rows: 10, width: 2}
	for cores, want := range map[int]time.Duration{1: 60 * time.Millisecond, 2: 30 * time.Millisecond, 3: 20 * time.Millisecond} {
		r := run(t, lab.Config{Job: s.job(), Site: lab.Processes(3, cores, 3), Costs: millisecond})
		if d := r.Time - want; d.Abs() > time.Microsecond {
			t.Errorf("60 ms of work on %d cores take %v", cores, r.Time)
		}
		if d := r.Cores - 60*time.Millisecond; d.Abs() > time.Microsecond {
			t.Errorf("60 ms of work are %v of cores", r.Cores)
		}
		if p := r.Phases; p[tally.Compute] != p.Total() || p.Total() != 3*r.Time {
			t.Errorf("on %d cores, 3 slots compute for all of %v: %+v", cores, r.Time, p)
		}
	}
}

func TestMessagesCostTheirNode(t *testing.T) {
	t.Parallel()
	s := toy{splits: 1, clocks: 4, rows: 10, width: 2}
	site := lab.Site{Machines: []lab.Machine{{Cores: 1}, {Cores: 1}}, Nodes: []lab.Node{{Lanes: 1}, {Machine: 1, Slots: 1}}}
	r := run(t, lab.Config{Job: s.job(), Site: site, Costs: lab.Costs{Send: 1000, Receive: 2000, SendByte: 1, ReceiveByte: 2, Local: 5000}})
	want := time.Duration(0)
	for _, n := range r.Nodes {
		sent, received := n.Sent.Total(), n.Received.Total()
		want += time.Duration(1000*sent.Frames + sent.Bytes + 2000*received.Frames + 2*received.Bytes + 5000*n.Local.Frames)
	}
	if d := r.Cores - want; d.Abs() > time.Microsecond || r.Nodes[0].Local.Frames == 0 {
		t.Errorf("messages cost %v of cores; want %v", r.Cores, want)
	}
	// One node naps longer than the other: waking it is paid for, and waited for.
	site.Nap, site.WakeLatency = 10*time.Microsecond, time.Millisecond
	asleep := run(t, lab.Config{Job: s.job(), Site: site, Costs: lab.Costs{Item: 1e6, Wake: 7000}})
	awake := run(t, lab.Config{Job: s.job(), Site: lab.Site{Machines: site.Machines, Nodes: site.Nodes}, Costs: lab.Costs{Item: 1e6}})
	if wakes := (asleep.Cores - awake.Cores) / (7 * time.Microsecond); wakes < 4 || asleep.Time-awake.Time < 4*time.Millisecond {
		t.Errorf("%d wakes; %v instead of %v", wakes, asleep.Time, awake.Time)
	}
}

// TestSlowNodeHandlesMessagesSlowly runs a job in which only messages take time, on nodes that are three times slower,
// and on machines with other work on half of each.
func TestSlowNodeHandlesMessagesSlowly(t *testing.T) {
	t.Parallel()
	s := toy{splits: 2, clocks: 10, rows: 10, width: 2}
	cfg := lab.Config{Job: s.job(), Site: machines(2), Costs: lab.Costs{Send: 1000, Receive: 2000, Local: 3000}, Tick: time.Hour}
	usual := run(t, cfg).Time
	cfg.Job, cfg.Slow = s.job(), pattern.Constant(3, 0, 1, 2)
	if slow := run(t, cfg).Time; slow != 3*usual {
		t.Errorf("messages take %v on slow nodes, and %v usually", slow, usual)
	}
	cfg.Job, cfg.Slow, cfg.Load = s.job(), nil, pattern.Bursts(0.5, time.Hour, 1)
	if loaded := run(t, cfg).Time; loaded != 2*usual {
		t.Errorf("messages take %v beside other work, and %v usually", loaded, usual)
	}
}

// TestLoadPassesAfterPart lets other work take half of each machine for 10 of each 40 ms.
func TestLoadPassesAfterPart(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 70, rows: 10, width: 2}
	r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: millisecond, Load: pattern.Bursts(0.5, 40*time.Millisecond, 0.25)})
	if d := r.Time - 80*time.Millisecond; d.Abs() > time.Microsecond { // of each 40 ms, 5 are lost
		t.Errorf("70 clocks of 1 ms take %v", r.Time)
	}
}

// TestSlicesKeepWorkOfCores runs three tasks on one core in slices of 1 ms: the last ends as late as all of them take.
func TestSlicesKeepWorkOfCores(t *testing.T) {
	t.Parallel()
	s := toy{splits: 3, clocks: 10, rows: 10, width: 2}
	site := lab.Processes(3, 1, 3)
	site.Slice = time.Millisecond
	r := run(t, lab.Config{Job: s.job(), Site: site, Costs: lab.Costs{Item: 4e6, Local: 1000}})
	if r.Time < 120*time.Millisecond || r.Time > 121*time.Millisecond {
		t.Errorf("120 ms of work take %v", r.Time)
	}
}

var errScript = errors.New("the script fails here")

func TestFailedExperimentSaysWhy(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 5, rows: 10, width: 2}
	failing := s
	failing.fail = func(t *train.Task) error {
		if t.Split() == 2 && t.Clock() == 3 {
			return errScript
		}
		return nil
	}
	panics := s
	panics.fail = func(*train.Task) error { panic(errScript) }
	idle := s.job()
	idle.Driver = &train.Clocks{}
	for name, c := range map[string]struct {
		cfg  lab.Config
		kind bellows.Kind
		says string
	}{
		"a task fails":       {cfg: lab.Config{Job: failing.job(), Site: machines(2), Costs: millisecond}, kind: bellows.Bug, says: "split 2 clock 3 items [0,1) on node 2 failed: the script fails here"},
		"a task panics":      {cfg: lab.Config{Job: panics.job(), Site: lab.Alone(1, 1)}, kind: bellows.Bug, says: "the script fails here"},
		"a limit":            {cfg: lab.Config{Job: s.job(), Site: machines(2), Costs: millisecond, Limit: time.Millisecond}, kind: bellows.Config},
		"many nodes":         {cfg: lab.Config{Job: s.job(), Site: machines(5)}, kind: bellows.Config},
		"no job":             {cfg: lab.Config{Site: machines(5)}, kind: bellows.Config},
		"no nodes":           {cfg: lab.Config{Job: s.job()}, kind: bellows.Config},
		"a cost below 0":     {cfg: lab.Config{Job: s.job(), Site: machines(2), Costs: lab.Costs{Send: -1}}, kind: bellows.Config},
		"nobody computes":    {cfg: lab.Config{Job: s.job(), Site: lab.Site{Nodes: []lab.Node{{Lanes: 1}}, Machines: []lab.Machine{{Cores: 1}}}}, kind: bellows.Config},
		"no such machine":    {cfg: lab.Config{Job: s.job(), Site: lab.Site{Nodes: []lab.Node{{Machine: 1, Slots: 1, Lanes: 1}}, Machines: []lab.Machine{{Cores: 1}}}}, kind: bellows.Config},
		"no core":            {cfg: lab.Config{Job: s.job(), Site: lab.Alone(0, 1)}, kind: bellows.Config},
		"nothing dispatched": {cfg: lab.Config{Job: idle, Site: lab.Alone(1, 1)}, kind: bellows.Lost},
	} {
		r, err := lab.Run(c.cfg)
		if err == nil || r != nil || bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: result %v, error %v of kind %v", name, r, err, bellows.KindOf(err))
		}
	}
}

// onlyOne dispatches the clocks of split 0 alone.
type onlyOne struct{ train.Clocks }

func (d *onlyOne) DispatchInitialTasks(to *train.Dispatcher) {
	for range 2 {
		to.DispatchTask(0)
	}
}

// TestAJobThatHangsIsNamed waits for a clock that never comes.
func TestAJobThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := toy{splits: 2, rows: 10, width: 2}.job()
		job.Driver = &onlyOne{train.Clocks{Splits: 2, Count: 2}}
		_, err := lab.Run(lab.Config{Job: job, Site: machines(2), Costs: millisecond})
		if err == nil || !strings.Contains(err.Error(), "hangs after 1ms: 1 tasks wait, the first of them clock 1 of split 0 at node 1") {
			t.Errorf("error %v", err)
		}
	})
}

// TestSignsOfLifeAreInTheTraffic runs a job of 20 s, in which every node but the first sends a heartbeat with each
// tick, and is answered.
func TestSignsOfLifeAreInTheTraffic(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 2, rows: 10, width: 2}
	control := func(tick time.Duration) int64 {
		r := run(t, lab.Config{Job: s.job(), Site: machines(4), Costs: lab.Costs{Item: 1e10}, Tick: tick})
		frames := int64(0)
		for _, n := range r.Nodes {
			frames += n.Sent[tally.Control].Frames
		}
		return frames
	}
	if quiet, often := control(time.Hour), control(time.Second); often-quiet != 19*4*2 && often-quiet != 20*4*2 {
		t.Errorf("%d frames with ticks, and %d without", often, quiet)
	}
}

// TestKeysOfSparseTablesCome counts keys that are met from the top down; they come ascending, with their rows.
func TestKeysOfSparseTablesCome(t *testing.T) {
	t.Parallel()
	job := train.Job{Tables: []table.Schema{{Name: "words", Sparse: true, Rows: 100, Width: 1, Partitions: 3}}, Splits: 4,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Clocks{Splits: 4, Count: 2}, NewExecutor: func(bellows.SplitID) (train.Executor, error) { return countKeys{}, nil }}
	r := run(t, lab.Config{Job: job, Site: machines(2), Costs: millisecond})
	if !slices.Equal(r.Keys[0], []bellows.Key{3, 5, 7, 11}) || !slices.Equal(r.Tables[0], []float32{8, 8, 8, 8}) {
		t.Errorf("keys %v with %v", r.Keys, r.Tables)
	}
}

type countKeys struct{}

func (countKeys) RunTask(t *train.Task) error {
	t.PushKeys(0, []bellows.Key{11, 7, 5, 3}, []float32{1, 1, 1, 1})
	return nil
}
