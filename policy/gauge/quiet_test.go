package gauge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"bellows"
	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

// quietTruth returns true figures of a job on machines that are alike, two workers and two servers.
func quietTruth() *gauge.Figures {
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 4, Splits: 8, Partitions: 8})
	for i := range f.Traffic {
		t := &f.Traffic[i]
		t.Pulled, t.Pushed, t.Rows = gauge.Exactly(4e6), gauge.Exactly(2e6), gauge.Exactly(1000)
	}
	for i := range f.Nodes {
		f.Nodes[i].Others = gauge.Exactly(0.3)
	}
	f.Hidden = gauge.Hidden{Pulled: gauge.Exactly(0.2), Pushed: gauge.Exactly(0.5), Applied: gauge.Exactly(0.5)}
	f.Clocks.Latency = gauge.Exactly(0.02)
	return f
}

// quiet plays a job without noise.
func quiet(truth *gauge.Figures) *world { return newWorld(rand.New(rand.NewPCG(1, 1)), truth, noise{}) }

// close reports whether a value is within a hundredth of another one.
func close(v, want float64) bool { return math.Abs(v-want) <= 0.01*math.Abs(want)+1e-9 }

// figures returns the figures of a played job.
func (w *world) figures(t *testing.T) *gauge.Figures {
	t.Helper()
	f, err := w.meter.Figures(*w.base())
	require.NoError(t, err)
	return f
}

// seconds returns the true seconds of a clock.
func (w *world) seconds() float64 {
	m, s := cost.New(w.truth), w.truth.Shape()
	return m.Seconds(m.Loads(&s)) / float64(w.truth.Clocks.Epoch)
}

// TestMeterLeavesOutEvents: clocks with an event count neither for times nor for figures of nodes, whatever happens in
// them, and the clock in which an event ends is one of them.
func TestMeterLeavesOutEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event gauge.Event
		slow  float64
	}{"move": {gauge.Move, 2}, "cut": {gauge.Cut, 1.7}, "help": {gauge.Help, 0.5}} {
		w := quiet(quietTruth())
		w.warm()
		w.run(10)
		w.meter.Begin(c.event)
		for range 40 {
			w.play(c.slow)
		}
		w.meter.Begin(gauge.Cut)
		w.meter.End(c.event)
		w.play(c.slow)
		w.meter.End(gauge.Cut)
		w.play(c.slow)
		w.run(15)
		epoch, clocks := w.meter.Epoch(1)
		if clocks != 25 || !close(epoch.Value, w.seconds()) {
			t.Errorf("%s: a clock takes %+v by %d clocks, want %g", name, epoch, clocks, w.seconds())
		}
		f := w.figures(t)
		if f.Clocks.Measured != 25 || f.Clocks.Passed != 3+67 || !close(f.Nodes[0].Item.Value, 1e-5) {
			t.Errorf("%s: %+v, %+v", name, f.Clocks, f.Nodes[0].Item)
		}
	}
}

// TestMeterFitsClock: whatever times a model has, the shares and the latency make its slowest worker as slow as the
// measured clock, unless computing alone takes longer.
func TestMeterFitsClock(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		w := quiet(quietTruth())
		odd := [4][4]float64{}
		for i := range odd {
			for j := range odd[i] {
				odd[i][j] = 4 * rng.Float64()
			}
		}
		model := func(f *gauge.Figures) []gauge.Times {
			times := cost.Times(f)
			for i := range times {
				t, by := &times[i], &odd[i]
				t.Compute, t.Pull, t.Push, t.Busy = t.Compute*by[0]/4, t.Pull*by[1], t.Push*by[2], t.Busy*by[3]/4
			}
			return times
		}
		w.meter = gauge.NewMeter(model)
		w.meter.Shape(w.base())
		w.warm()
		w.run(25)
		f := w.figures(t)
		h := &f.Hidden
		clock := 0.0
		for _, t := range model(f) {
			if clock = max(clock, t.Busy); t.Works {
				clock = max(clock, t.Compute+(1-h.Pulled.Value)*t.Pull+(1-h.Pushed.Value)*t.Push+
					(1-h.Applied.Value)*t.Apply)
			}
		}
		if got := clock + f.Clocks.Latency.Value; !close(got, w.seconds()) {
			t.Errorf("%v: a clock takes %g in the model, want %g", odd, got, w.seconds())
		}
	}
}

// TestMeterLeavesOutManyEvents: no sample of a node spans a clock that does not count.
func TestMeterLeavesOutManyEvents(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.warm()
	for range 12 {
		w.meter.Begin(gauge.Cut)
		w.play(3)
		w.play(3)
		w.meter.End(gauge.Cut)
		w.play(3)
		w.run(3)
	}
	if v := w.figures(t).Nodes[0].Item; !close(v.Value, 1e-5) || v.High > 1.01e-5 {
		t.Errorf("%+v", v)
	}
}

// TestMeterAsksForClocks: the first clocks do not count, and an error says how many clocks are missing.
func TestMeterAsksForClocks(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	for played := range gauge.ClocksLeast + 3 {
		_, err := w.meter.Figures(*w.base())
		measured := max(0, played-3)
		const few = "%d clocks were measured, which is too few; it takes %d clocks more"
		if want := fmt.Sprintf(few, measured, 20-measured); err == nil || err.Error() != want {
			t.Fatalf("after %d clocks: %v, want %s", played, err, want)
		}
		w.play(1)
	}
	if f := w.figures(t); f.Clocks.Measured != gauge.ClocksLeast {
		t.Errorf("%+v", f.Clocks)
	}
}

// TestMeterKeepsProcessorApart: time in which tasks wait is not computing, and the share of the processor that others
// take is not the node's own time.
func TestMeterKeepsProcessorApart(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	truth.Nodes[1].Item, truth.Nodes[1].Others = gauge.Exactly(2e-5), gauge.Exactly(0.6)
	w := quiet(truth)
	w.warm()
	w.run(30)
	f := w.figures(t)
	for i := range 2 {
		got, want := &f.Nodes[i], &truth.Nodes[i]
		if !close(got.Item.Value, want.Item.Value) || !close(got.Others.Value, want.Others.Value) {
			t.Errorf("node %d: %+v and %+v, want %+v and %+v", i, got.Item, got.Others, want.Item, want.Others)
		}
	}
	if got := &f.Nodes[2]; !close(got.Row.Value, truth.Nodes[2].Row.Value) || !close(got.Others.Value, 0.3) {
		t.Errorf("a server: %+v and %+v", got.Row, got.Others)
	}
	if got := &f.Nodes[3].Item; !close(got.Value, 1.5e-5) || got.Low > 1e-5 || got.High < 2e-5 {
		t.Errorf("a server may work as fast as any worker: %+v", got)
	}
}

// TestMeterBoundsLinks: the slow link of a node is found. An idle link is known to be no slower than what it carried,
// and is taken to carry what links of its kind do.
func TestMeterBoundsLinks(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	for i := range truth.Splits {
		truth.Splits[i].Node = bellows.NodeID([]int{0, 0, 0, 0, 0, 0, 1, 2}[i])
	}
	truth.Nodes[2].Works = true
	truth.Nodes[3].In, truth.Nodes[3].Out = gauge.Exactly(2e7), gauge.Exactly(2e7)
	w := quiet(truth)
	w.warm()
	w.run(30)
	f := w.figures(t)
	for _, v := range []gauge.Interval{f.Nodes[3].In, f.Nodes[3].Out} {
		if v.Low > 2e7 || v.High < 2e7 || v.High > 3e7 || math.Abs(v.Value/2e7-1) > 0.1 {
			t.Errorf("the slow link has %+v", v)
		}
	}
	for i := range 3 {
		for _, v := range []gauge.Interval{f.Nodes[i].In, f.Nodes[i].Out} {
			if !math.IsInf(v.High, 1) || v.Low > 1e8*1.01 || v.Value < 3e7 {
				t.Errorf("the link of node %d has %+v", i, v)
			}
		}
	}
}

// TestMeterFollowsLinks: a link that was slow and is so no more is no longer known to be slow.
func TestMeterFollowsLinks(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	truth.Nodes[3].In, truth.Nodes[3].Out = gauge.Exactly(2e7), gauge.Exactly(2e7)
	w := quiet(truth)
	w.warm()
	w.run(65) // sums over links are just halved
	if v := w.figures(t).Nodes[3].Out; v.High > 3e7 || !close(v.Value, 2e7) {
		t.Errorf("the slow link has %+v", v)
	}
	truth.Nodes[3].In, truth.Nodes[3].Out = gauge.Exactly(1e8), gauge.Exactly(1e8)
	w.run(500)
	if v := w.figures(t).Nodes[3].Out; !math.IsInf(v.High, 1) || v.Value < 0.9e8 {
		t.Errorf("the link that is fast again has %+v", v)
	}
}

// TestMeterKnowsFastEnd: a worker receives from three servers at once as much as all of them send. That does not show
// that each of them can carry as much, and that they are slowed by the worker.
func TestMeterKnowsFastEnd(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	truth.Nodes[1].Works, truth.Nodes[1].Serves = false, true
	truth.Nodes[0].In, truth.Nodes[0].Out = gauge.Exactly(1e9), gauge.Exactly(1e9)
	for i := range truth.Splits {
		truth.Splits[i].Node, truth.Partitions[i].Node = 0, bellows.NodeID(1+i%3)
	}
	truth.Nodes[0].Slots = 4 // another kind of machine
	w := quiet(truth)
	w.warm()
	w.run(30)
	f := w.figures(t)
	for i := range 3 {
		if v := f.Nodes[1+i].In; v.Low > 1e8 || !close(v.Value, 1e8) {
			t.Errorf("a server has %+v", v)
		}
	}
	for _, v := range []gauge.Interval{f.Nodes[0].In, f.Nodes[0].Out} {
		if !math.IsInf(v.High, 1) || v.Low > 1e9 || v.Value < 2e8 {
			t.Errorf("the worker has %+v", v)
		}
	}
}

// TestMeterTakesIdleLinkForFast: few bytes that take a while, or many that take none, say nothing about a link.
func TestMeterTakesIdleLinkForFast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bytes, rate float64 }{{1000, 1e6}, {1000, 2e4}, {2e5, 5e8}} {
		truth := quietTruth()
		for i := range truth.Traffic {
			truth.Traffic[i].Pulled, truth.Traffic[i].Pushed = gauge.Exactly(c.bytes), gauge.Exactly(c.bytes)
		}
		for i, part := range []float64{1, 0.8, 1, 0.3} { // latency
			v := gauge.Exactly(c.rate * part)
			truth.Nodes[i].In, truth.Nodes[i].Out = v, v
		}
		w := quiet(truth)
		w.warm()
		w.run(30)
		f := w.figures(t)
		for i := range f.Nodes {
			for _, v := range []gauge.Interval{f.Nodes[i].In, f.Nodes[i].Out} {
				if !math.IsInf(v.High, 1) || v.Value < 0.3*c.rate {
					t.Errorf("%+v: the link of node %d has %+v", c, i, v)
				}
			}
		}
	}
}

// TestMeterFitsSlowestWorker: what a fast worker waits for a slow one is no wait for servers, and the slowest one shows
// what is hidden.
func TestMeterFitsSlowestWorker(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	for _, i := range []int{0, 1} {
		truth.Nodes[i].Item = gauge.Exactly(1e-5 * float64(1+i))
	}
	for i := range truth.Traffic {
		truth.Traffic[i].Rows = gauge.Exactly(2e4)
	}
	truth.Clocks.Latency = gauge.Exactly(0)
	w := quiet(truth)
	w.bsp = true
	w.warm()
	w.run(30)
	f := w.figures(t)
	if math.Abs(f.Hidden.Applied.Value-0.5) > 0.02 || math.Abs(f.Hidden.Pushed.Value-0.5) > 0.02 ||
		math.Abs(f.Hidden.Pulled.Value-0.2) > 0.02 || f.Clocks.Latency.Value > 0.01*w.seconds() {
		t.Errorf("%+v and %+v", f.Hidden, f.Clocks.Latency)
	}
}

// TestMeterIgnoresOldReports: reports that come again, or after later ones, change nothing.
func TestMeterIgnoresOldReports(t *testing.T) {
	t.Parallel()
	var want *gauge.Figures
	for _, again := range []float64{0, 1} {
		w := quiet(quietTruth())
		w.again = again
		w.warm()
		w.run(40)
		if again > 0 && len(w.former) < 40 {
			t.Fatal("no report comes again")
		}
		f := w.figures(t)
		if want == nil {
			want = f
		}
		if !reflect.DeepEqual(f, want) {
			t.Errorf("old reports change\n%+v to\n%+v", want, f)
		}
	}
}

// TestMeterPassesOverStraggler: a node that is slow for fewer than 20 clocks changes no figure. One that is slow for
// longer has other figures.
func TestMeterPassesOverStraggler(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, clocks, after int
		want                  float64
	}{{20, 19, 0, 1e-5}, {20, 10, 20, 1e-5}, {8, 17, 0, 1e-5}, {0, 15, 10, 1e-5}, {20, 60, 0, 4e-5}} {
		w := quiet(quietTruth())
		w.warm()
		w.run(c.before)
		item := w.truth.Nodes[1].Item
		w.truth.Nodes[1].Item = gauge.Exactly(4e-5)
		w.run(c.clocks)
		slow := w.seconds()
		w.truth.Nodes[1].Item = item
		w.run(c.after)
		want := w.seconds()
		if c.want != 1e-5 {
			want = slow
		}
		f := w.figures(t)
		epoch, _ := w.meter.Epoch(1)
		if got := f.Nodes[1].Item; !close(got.Value, c.want) || got.High > 1.1*c.want || !close(epoch.Value, want) {
			t.Errorf("%+v: %+v, a clock takes %+v, want %g", c, got, epoch, want)
		}
	}
}

// TestMeterVoidsAfterRollback: a clock with a number that was there before voids what was measured of it and later.
func TestMeterVoidsAfterRollback(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.warm()
	w.run(25)
	slow := w.truth.Nodes[0].Item
	for i := range 2 {
		w.truth.Nodes[i].Item = gauge.Exactly(3e-5)
	}
	w.run(35)
	if epoch, clocks := w.meter.Epoch(1); clocks != 60 || !close(epoch.Value, w.seconds()) {
		t.Fatalf("before the rollback %+v by %d clocks", epoch, clocks)
	}
	w.meter.Begin(gauge.Rollback)
	w.clock = 3 + 25 - 1 // the last one before figures changed
	for i := range 2 {
		w.truth.Nodes[i].Item = slow
	}
	w.play(9)
	w.meter.End(gauge.Rollback)
	w.play(1)
	epoch, clocks := w.meter.Epoch(1)
	if f := w.figures(t); clocks != 25 || !close(epoch.Value, w.seconds()) || !close(f.Nodes[0].Item.Value, 1e-5) ||
		f.Clocks.Measured != 25 || f.Clocks.Passed != 30 {
		t.Errorf("%+v by %d clocks, %+v, item %+v", epoch, clocks, f.Clocks, f.Nodes[0].Item)
	}
}

// TestMeterKeepsFiguresOfMachines: after a change of shape times of clocks begin anew, figures of machines and traffic
// do not, and the change has its cost.
func TestMeterKeepsFiguresOfMachines(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.warm()
	w.run(25)
	before := w.figures(t)
	clock := w.seconds()
	start := w.now
	w.meter.Begin(gauge.Move)
	w.play(2)
	w.play(3)
	for i := range w.truth.Splits {
		w.truth.Splits[i].Node = bellows.NodeID(i % 3)
	}
	w.truth.Nodes[2].Works = true
	w.meter.Shape(w.base())
	w.meter.Reshaped(gauge.Change{Bytes: 1000, Steps: 4})
	w.meter.End(gauge.Move)
	w.play(1)
	lost := (w.now - start).Seconds() - 3*clock
	w.run(5)
	if epoch, clocks := w.meter.Epoch(1); clocks != 5 || !close(epoch.Value, w.seconds()) {
		t.Errorf("%+v by %d clocks", epoch, clocks)
	}
	f := w.figures(t)
	if f.Clocks.Measured != 30 || f.Hidden != before.Hidden || f.Nodes[0].Item != before.Nodes[0].Item {
		t.Errorf("%+v\n%+v", f.Clocks, f.Hidden)
	}
	if f.Moved == nil || !close(f.Moved.Step.High*4, lost) || !close(f.Moved.Byte.High*1000, lost) ||
		!close(f.Moved.Step.Value*4+f.Moved.Byte.Value*1000, lost) {
		t.Errorf("%+v, want %g s", f.Moved, lost)
	}
	w.meter.Begin(gauge.Move) // of help, which is no change of the shape
	w.play(9)
	w.meter.End(gauge.Move)
	w.play(1)
	w.run(20)
	moved := *f.Moved
	if f = w.figures(t); *f.Moved != moved {
		t.Errorf("%+v, want %+v", f.Moved, moved)
	}
	if len(f.Traffic) != 3 || f.Traffic[0].Splits != 2 || f.Traffic[1].Splits != 3 || f.Traffic[2].Splits != 4 {
		t.Fatalf("%+v", f.Traffic)
	}
	for _, p := range f.Traffic {
		if !close(p.Pulled.Value, 4e6) || !close(p.Pushed.Value, 2e6) || !close(p.Rows.Value, 1000) {
			t.Errorf("%+v", p)
		}
	}
}

// TestMeterPredictsOtherShapes: figures that were measured in one shape predict others as the true ones do.
func TestMeterPredictsOtherShapes(t *testing.T) {
	t.Parallel()
	var errors []float64
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		truth := randomTruth(rng)
		for i := range truth.Nodes { // one kind
			n := truth.Nodes[0]
			n.ID, n.Works, n.Serves = truth.Nodes[i].ID, truth.Nodes[i].Works, truth.Nodes[i].Serves
			truth.Nodes[i] = n
		}
		w := newWorld(rng, truth, noisy)
		w.warm()
		w.run(80)
		f := w.figures(t)
		for workers := 1; workers < len(f.Nodes); workers++ {
			s, err := gaugetest.Deal(truth, workers)
			require.NoError(t, err)
			is, was := cost.New(f), cost.New(truth)
			got, want := is.Seconds(is.Loads(&s)), was.Seconds(was.Loads(&s))
			errors = append(errors, math.Abs(got/want-1))
		}
	}
	t.Logf("error %.3f, nine tenths %.3f, all %.3f", quantile(errors, 0.5), quantile(errors, 0.9), quantile(errors, 1))
	if quantile(errors, 0.5) > 0.05 || quantile(errors, 0.9) > 0.25 {
		t.Errorf("errors of %v", errors)
	}
}

// TestMeterOfOneNode: a node that holds all partitions shows no traffic. Then the whole model is the most of it.
func TestMeterOfOneNode(t *testing.T) {
	t.Parallel()
	truth := gaugetest.Uniform(gaugetest.Size{Nodes: 1, Splits: 4, Partitions: 4})
	w := quiet(truth)
	w.warm()
	w.run(25)
	f := w.figures(t)
	if p := f.Traffic; len(p) != 1 || p[0].Pulled != (gauge.Interval{Value: 4 << 16, High: 4 << 16}) {
		t.Errorf("%+v", p)
	}
	for i := range truth.Partitions {
		near := i
		truth.Partitions[i].Near = &near
	}
	w = quiet(truth)
	w.warm()
	w.run(25)
	f = w.figures(t)
	if p := f.Traffic; len(p) != 1 || p[0].Pulled != (gauge.Interval{}) || p[0].Pushed != (gauge.Interval{}) {
		t.Errorf("%+v", p)
	}
	if epoch, _ := w.meter.Epoch(f.Clocks.Epoch); !close(epoch.Value, w.seconds()*10) {
		t.Errorf("%+v", epoch)
	}
}

// TestMeterOfShortClocks: reports come every 50 ms, so that each tells of many clocks. An error says how many clocks
// more it takes until there are enough of them.
func TestMeterOfShortClocks(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	truth.Clocks.Latency = gauge.Exactly(2e-4)
	truth.Items = 10 * 8 * 100
	for i := range truth.Nodes {
		truth.Nodes[i].Item = gauge.Exactly(1e-6)
	}
	for i := range truth.Traffic {
		p := &truth.Traffic[i]
		p.Pulled, p.Pushed, p.Rows = gauge.Exactly(2e4), gauge.Exactly(1e4), gauge.Exactly(10)
	}
	w := quiet(truth)
	w.noise = noise{jitter: 0.2, work: 0.05, late: 0.02}
	w.warm()
	w.run(25)
	if w.seconds() > 2e-3 {
		t.Fatalf("a clock takes %g s", w.seconds())
	}
	asked := 0
	for {
		f, err := w.meter.Figures(*w.base())
		if err == nil {
			checkShortClocks(t, f, truth)
			break
		}
		var measured, more int
		if _, scanned := fmt.Sscanf(err.Error(), "%d clocks were measured, which is too few; it takes %d clocks more",
			&measured, &more); scanned != nil || more < 1 || asked > 20 {
			t.Fatalf("after %d errors: %v, %v", asked, err, scanned)
		}
		asked++
		w.run(more)
	}
}

// checkShortClocks compares figures with the true ones.
func checkShortClocks(t *testing.T, f, truth *gauge.Figures) {
	t.Helper()
	got, want := f.Nodes[0], truth.Nodes[0]
	p := f.Traffic[0]
	for name, v := range map[string][2]float64{
		"item": {got.Item.Value, want.Item.Value}, "row": {f.Nodes[2].Row.Value, want.Row.Value},
		"pulled": {p.Pulled.Value, 2e4}, "pushed": {p.Pushed.Value, 1e4}, "rows": {p.Rows.Value, 10},
		"others": {got.Others.Value, want.Others.Value},
	} {
		if math.Abs(v[0]/v[1]-1) > 0.1 {
			t.Errorf("%s is %g, want %g", name, v[0], v[1])
		}
	}
}

// TestMeterOfClocksTogether: under bounded staleness several clocks may complete at once, in one step or in several.
func TestMeterOfClocksTogether(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.warm()
	for i := range 40 {
		w.now += 3e8
		clock := 3 + 3*i
		w.meter.Clock(w.now, clock)
		w.meter.Clock(w.now+1000, clock+2)
	}
	if epoch, clocks := w.meter.Epoch(10); clocks != 3*40 || !close(epoch.Value, 1) {
		t.Errorf("%+v by %d clocks", epoch, clocks)
	}
	w = quiet(quietTruth())
	w.stride = 3
	w.warm()
	w.run(60)
	f := w.figures(t)
	if f.Clocks.Measured != 57 || f.Clocks.Passed != 61 || !close(f.Traffic[0].Rows.Value, 1000) {
		t.Errorf("%+v, %+v", f.Clocks, f.Traffic)
	}
}

// TestMeterHalvesLeases: a node that works and serves lends partitions and borrows others, and both count once.
func TestMeterHalvesLeases(t *testing.T) {
	t.Parallel()
	truth := gaugetest.Uniform(gaugetest.Size{Nodes: 2, Splits: 4, Partitions: 4})
	for i := range truth.Nodes {
		truth.Nodes[i].Works, truth.Nodes[i].Serves = true, true
	}
	for i := range truth.Splits {
		truth.Splits[i].Node, truth.Partitions[i].Node = bellows.NodeID(i/2), bellows.NodeID(i/2)
	}
	w := quiet(truth)
	w.warm()
	for range 25 {
		for _, n := range w.nodes {
			n.received[tally.Leases] += 2e6
			n.pushed[tally.Leases] += 2e6
		}
		w.play(1)
	}
	f := w.figures(t)
	p := f.Traffic[0] // half of 1 MB is at hand
	if !close(p.Pulled.Value, 1e6+2e6) || !close(p.Pushed.Value, 1e6+2e6) {
		t.Errorf("%+v", p)
	}
}

// TestMeterLeavesOutBorrowedPartitions: a partition that is near a split of another node travels whole, and is not part
// of what the splits of a node read of the others.
func TestMeterLeavesOutBorrowedPartitions(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	near := 0
	truth.Partitions[0].Near, truth.Partitions[0].Bytes = &near, 3e6
	w := quiet(truth)
	w.warm()
	for range 25 {
		w.nodes[0].received[tally.Leases] += 3e6
		w.nodes[0].pushed[tally.Leases] += 3e6
		w.play(1)
	}
	if p := w.figures(t).Traffic[0]; !close(p.Pulled.Value, 4e6) || !close(p.Pushed.Value, 2e6) {
		t.Errorf("%+v", p)
	}
}

// TestMeterStartsAgainWithProcess: a process that counts from 0 makes no sample with the counts of another one.
func TestMeterStartsAgainWithProcess(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.warm()
	w.run(12)
	for id, n := range w.nodes {
		millis := n.report.Millis
		*n = played{links: map[bellows.NodeID]*[3]float64{}}
		n.report.Millis = millis
		w.nodes[id] = n
	}
	for i := range w.truth.Nodes {
		w.truth.Nodes[i].Item = gauge.Exactly(1.3e-5)
	}
	w.run(16)
	f := w.figures(t)
	if got := f.Nodes[0].Item; !close(got.Value, 1.3e-5) || got.Low < 0.99e-5 || got.High > 1.31e-5 {
		t.Errorf("%+v", got)
	}
	if p := f.Traffic[0].Pulled; !close(p.Value, 4e6) || p.Low < 3.9e6 || p.High > 4.1e6 {
		t.Errorf("%+v", p)
	}
}

// TestMeterWithoutProcessorTime: if the system does not tell it, a node has its processor for itself.
func TestMeterWithoutProcessorTime(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	w.silent = true
	w.warm()
	w.run(25)
	if n := w.figures(t).Nodes[0]; n.Others.Value != 0 || !close(n.Item.Value, 1e-5/0.7) {
		t.Errorf("%+v and %+v", n.Item, n.Others)
	}
}

// TestMeterOfBudget: a budget is no limit of a link.
func TestMeterOfBudget(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	slow := &truth.Nodes[2]
	slow.In, slow.Out = gauge.Exactly(1e7), gauge.Exactly(1e7)
	w := quiet(truth)
	w.warm()
	w.run(25)
	f := w.figures(t)
	if v := f.Nodes[2].Out; math.IsInf(v.High, 1) || !close(v.Value, 1e7) {
		t.Fatalf("without a budget %+v", v)
	}
	w = quiet(truth)
	w.warm()
	w.run(25)
	base := w.base()
	base.Budget = 1e7
	f, err := w.meter.Figures(*base)
	require.NoError(t, err)
	if v := f.Nodes[2].Out; !math.IsInf(v.High, 1) {
		t.Errorf("%+v", v)
	}
}

// TestMeterKnowsMemory: what a process may still use and what it holds is its memory.
func TestMeterKnowsMemory(t *testing.T) {
	t.Parallel()
	w := quiet(quietTruth())
	for _, n := range w.nodes {
		n.report.Spare = 1 << 30
	}
	w.warm()
	w.run(25)
	f := w.figures(t)
	if got, want := f.Nodes[0].Memory, 1<<30+4*1000+4e6; !close(float64(got), want) || float64(got) < want-1e5 {
		t.Errorf("a worker has %d, want %g", got, want)
	}
	if got, want := f.Nodes[2].Memory, int64(1<<30+4<<16); got != want {
		t.Errorf("a server has %d, want %d", got, want)
	}
}

// TestMeterAllocatesNothing: steps between changes of shape allocate nothing.
func TestMeterAllocatesNothing(t *testing.T) {
	w := quiet(quietTruth())
	w.warm()
	w.run(80)
	reports := map[bellows.NodeID]*gauge.Report{}
	for id, n := range w.nodes {
		r := n.report
		reports[id] = &r
	}
	per := testing.AllocsPerRun(200, func() {
		for _, r := range reports {
			r.Millis++
			r.Tally.Work.Items += 100
			r.Tally.Spent[0] += 1000
			w.meter.Report(r)
		}
		w.clock++
		w.now += 1e6
		w.meter.Clock(w.now, w.clock)
	})
	if per != 0 {
		t.Errorf("a clock allocates %g times", per)
	}
}

// BenchmarkMeter prints the time of a clock in which each of 32 nodes reports, and of the figures.
func BenchmarkMeter(b *testing.B) {
	truth := gaugetest.Uniform(gaugetest.Size{Nodes: 32, Splits: 256, Partitions: 256})
	w := quiet(truth)
	w.warm()
	w.run(80)
	reports := make([]gauge.Report, len(truth.Nodes))
	for i := range reports {
		reports[i] = w.nodes[truth.Nodes[i].ID].report
	}
	b.Run("clock", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			for i := range reports {
				r := &reports[i]
				r.Millis++
				r.Tally.Work.Items += 100
				w.meter.Report(r)
			}
			w.clock++
			w.now += 1e6
			w.meter.Clock(w.now, w.clock)
		}
	})
	b.Run("figures", func(b *testing.B) {
		base := w.base()
		for range b.N {
			_, err := w.meter.Figures(*base)
			require.NoError(b, err)
		}
	})
}

// TestMeterBoundsLinksWithoutBusyTime: a link without a known busy time carries in a clock what it did carry, at least,
// and the bounds of a prediction rest on that.
func TestMeterBoundsLinksWithoutBusyTime(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	w := quiet(truth)
	w.unseen = 1
	w.warm()
	w.run(30)
	f := w.figures(t)
	// Each server sends half of what two workers pull, and receives half of what they push.
	want := 4e6 / w.seconds()
	for i := range f.Nodes {
		for _, v := range []gauge.Interval{f.Nodes[i].In, f.Nodes[i].Out} {
			if !close(v.Low, want) || v.Value < v.Low || !math.IsInf(v.High, 1) {
				t.Errorf("node %d: %+v, want at least %g", i, v, want)
			}
		}
	}
	m, s := cost.New(f), truth.Shape()
	if p := m.Predict(m.Loads(&s)); p.Epoch.High > 3*p.Epoch.Value {
		t.Errorf("an epoch takes %+v", p.Epoch)
	}
}

// TestMeterSeesRatesInTicks: the busy time of a system that counts in ticks is 0 in most clocks, and right on average.
func TestMeterSeesRatesInTicks(t *testing.T) {
	t.Parallel()
	truth := quietTruth()
	w := quiet(truth)
	w.unseen = 3
	w.warm()
	w.run(60)
	f := w.figures(t)
	for i := range f.Nodes {
		for _, v := range []gauge.Interval{f.Nodes[i].In, f.Nodes[i].Out} {
			if v.Value < 0.9*truth.Nodes[i].In.Value || v.Value > 1.1*truth.Nodes[i].In.Value {
				t.Errorf("node %d: %+v, want %g", i, v, truth.Nodes[i].In.Value)
			}
		}
	}
}

// TestMeterOfTasksThatSleep: a task that sleeps uses no processor, and others take none from it. Time in
// which threads had no processor is that of others.
func TestMeterOfTasksThatSleep(t *testing.T) {
	t.Parallel()
	for _, delayed := range []float64{0, 0.4} {
		truth := quietTruth()
		for i := range truth.Nodes {
			truth.Nodes[i].Others = gauge.Exactly(delayed)
		}
		w := quiet(truth)
		w.sleeps = true
		w.warm()
		w.run(30)
		f := w.figures(t)
		for i := range 2 {
			got := &f.Nodes[i]
			if !close(got.Item.Value, truth.Nodes[i].Item.Value) || math.Abs(got.Others.Value-delayed) > 0.01 {
				t.Errorf("node %d, delayed %g: %+v and %+v", i, delayed, got.Item, got.Others)
			}
		}
		if got := f.Nodes[2].Others.Value; math.Abs(got-delayed) > 0.01 {
			t.Errorf("a server, delayed %g: %g", delayed, got)
		}
	}
}

// TestMeterBlamesNoServerOfSingleWorker: the flows of a single worker to its servers are as slow at each end, and each
// end has carried more the other way. The servers share the link of the worker, so that theirs are not full.
func TestMeterBlamesNoServerOfSingleWorker(t *testing.T) {
	t.Parallel()
	truth := gaugetest.Uniform(gaugetest.Size{Nodes: 6, Splits: 8, Partitions: 10})
	for i := range truth.Traffic {
		p := &truth.Traffic[i]
		p.Pulled, p.Pushed = gauge.Exactly(8e6), gauge.Exactly(8e6)
	}
	for i := range truth.Nodes {
		n := &truth.Nodes[i]
		n.Works, n.Serves = i == 0, i > 0
		if n.In, n.Out = gauge.Exactly(1e8), gauge.Exactly(1e8); i == 0 {
			n.Out = gauge.Exactly(5e7) // as pushes take longer than pulls
		}
	}
	for i := range truth.Splits {
		truth.Splits[i].Node = 0
	}
	for i := range truth.Partitions {
		truth.Partitions[i].Node = bellows.NodeID(1 + i%5)
	}
	w := quiet(truth)
	w.warm()
	w.run(40)
	f := w.figures(t)
	for i := 1; i < 6; i++ {
		if got := f.Nodes[i].In; !math.IsInf(got.High, 1) {
			t.Errorf("the link of server %d in is full: %+v", i, got)
		}
	}
}
