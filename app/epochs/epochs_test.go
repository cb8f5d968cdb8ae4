package epochs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/table"
	"bellows/train"
	"bellows/train/traintest"
)

// toy is a policy whose tasks report numbers that its test makes up.
type toy struct {
	marks  []float64 // the last sums: of training, then of scoring
	result func(epoch int) Verdict
	called int
}

func (c *toy) Train(args []float64, p *Progress, split, clock int) []float64 {
	return append(args, float64(p.Epoch), float64(split), float64(clock))
}
func (c *toy) Score(_ *Progress, trained []float64) []float64 { return trained }
func (c *toy) End(p *Progress, trained, scores []float64) Verdict {
	c.called++
	c.marks = slices.Concat(trained, scores)
	return c.result(p.Epoch)
}
func (c *toy) Save() []float64        { return []float64{float64(c.called)} }
func (c *toy) Restore(s []float64)    { c.called = int(s[0]) }
func metric(x float64) []train.Metric { return []train.Metric{{Name: "loss", Value: x}} }

// desk is a controller in miniature.
type desk struct {
	next     []bellows.Clock
	out      []train.Completion
	log      []string
	epochs   []train.Epoch
	kept     []int
	finished bool
}

func (b *desk) DispatchTask(split bellows.SplitID, args ...float64) {
	u := bellows.Unit{Split: split, Clock: b.next[split], Items: bellows.Range{Begin: 0, End: 3}}
	b.next[split]++
	b.out = append(b.out, train.Completion{Unit: u})
	b.log = append(b.log, fmt.Sprint(split, u.Clock, args))
}
func (b *desk) ShowEpoch(e train.Epoch) { b.epochs = append(b.epochs, e) }
func (b *desk) Keep()                   { b.kept = append(b.kept, len(b.epochs)) }
func (b *desk) Finish()                 { b.finished = true }

// play completes tasks in an order by chance, each with results that are a function of its unit, until the run ends.
func (b *desk) play(t *testing.T, d *Driver, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	for n := 0; len(b.out) > 0; n++ {
		if n > 1e5 {
			t.Fatal("the run does not end")
		}
		at := r.IntN(len(b.out))
		// A split's tasks complete in the order of its clocks.
		for i, c := range b.out {
			if c.Split == b.out[at].Split && c.Clock < b.out[at].Clock {
				at = i
			}
		}
		c := b.out[at]
		b.out = slices.Delete(b.out, at, at+1)
		c.Result = []float64{float64(c.Split), 1}
		d.Complete(c, b)
		check(t, d, len(b.out))
	}
}

// check holds the driver's invariants.
func check(t *testing.T, d *Driver, out int) {
	t.Helper()
	left, sent := 0, 0
	for s := range d.sent {
		if !(d.done[s] <= d.sent[s] && d.sent[s] <= d.clocks()) {
			t.Fatalf("split %d has done %d of %d clocks", s, d.done[s], d.sent[s])
		}
		left += d.clocks() - d.done[s]
		sent += d.sent[s] - d.done[s]
	}
	if left != d.left || sent != out {
		t.Fatalf("%d tasks are left and %d out; the driver counts %d and %d", left, out, d.left, sent)
	}
	if d.Best > d.Marked {
		t.Fatalf("the best score %v is above the marked one %v", d.Best, d.Marked)
	}
}

// sink is a controller that drops everything.
type sink struct{}

func (sink) DispatchTask(bellows.SplitID, ...float64) {}
func (sink) ShowEpoch(train.Epoch)                    {}
func (sink) Keep()                                    {}
func (sink) Finish()                                  {}

// TestATrainingTaskAllocatesNothing dispatches the tasks of an epoch, whose arguments lie in the driver's memory.
func TestATrainingTaskAllocatesNothing(t *testing.T) {
	d := New(Layout{Splits: 4, Clocks: 5}, AtOnce{}, Ending{Epochs: 1}, Results{Train: 2, Score: 1}, &toy{})
	if n := testing.AllocsPerRun(10, func() { d.enter(training, sink{}) }); n != 0 {
		t.Errorf("%v allocations for 20 tasks", n)
	}
}

// TestTasksOfAPhase: whatever completes first, a run is its opening clocks one after the other, and then epochs of training and scoring clocks,
// with every task dispatched once and the sums of an epoch the same.
func TestTasksOfAPhase(t *testing.T) {
	t.Parallel()
	for _, l := range []Layout{{Splits: 3, Clocks: 4}, {Opens: 1, Splits: 2, Clocks: 1}, {Opens: 4, Splits: 5, Clocks: 3}} {
		for _, o := range []Order{AtOnce{}, InTurn{}} {
			for seed := range uint64(5) {
				c := &toy{result: func(n int) Verdict { return Verdict{Metrics: metric(float64(-n))} }}
				d, b := New(l, o, Ending{Epochs: 3}, Results{Train: 2, Score: 1}, c), &desk{next: make([]bellows.Clock, l.Splits)}
				d.Begin(b)
				check(t, d, len(b.out))
				b.play(t, d, seed)
				want := l.Opens + 3*(l.Clocks+1)
				for s, n := range b.next {
					if int(n) != want {
						t.Fatalf("%+v: split %d ran %d clocks, not %d", l, s, n, want)
					}
				}
				pairs := float64(l.Splits * (l.Splits - 1) / 2)
				if sums := []float64{pairs * float64(l.Clocks), float64(l.Splits * l.Clocks), pairs}; !slices.Equal(c.marks, sums) {
					t.Errorf("%+v: the sums of an epoch are %v, not %v", l, c.marks, sums)
				}
				if !b.finished || len(b.epochs) != 3 || b.epochs[2].Number != 3 || b.epochs[2].Items != int64(9*l.Splits*l.Clocks+3*l.Splits*max(0, l.Opens-1)) || b.kept != nil {
					t.Errorf("%+v: epochs %+v, kept %v", l, b.epochs, b.kept)
				}
			}
		}
	}
}

// TestArgumentsOfTasks: a training task's are those of its split and clock, a scoring task's what the policy made of the sums.
func TestArgumentsOfTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order Order
		want  string
	}{
		{AtOnce{}, "0 0 [0 0 0]; 1 0 [0 1 0]; 0 1 [0 0 1]; 1 1 [0 1 1]; 0 2 [2]; 1 2 [2]"},
		{OrderOf(table.SSP(1)), "0 0 [0 0 0]; 1 0 [0 1 0]; 0 1 [0 0 1]; 1 1 [0 1 1]; 0 2 [2]; 1 2 [2]"},
	} {
		d := New(Layout{Splits: 2, Clocks: 2}, c.order, Ending{Epochs: 1}, Results{Train: 1, Score: 1},
			&toy{result: func(int) Verdict { return Verdict{} }})
		b := &desk{next: make([]bellows.Clock, 2)}
		d.Begin(b)
		if want := map[bool]int{true: 4, false: 2}[c.order == Order(AtOnce{})]; len(b.out) != want {
			t.Errorf("%T: %d tasks are out at first, not %d", c.order, len(b.out), want)
		}
		for len(b.out) > 0 { // the first that was dispatched first
			done := b.out[0]
			b.out = b.out[1:]
			done.Result = []float64{float64(done.Split)}
			d.Complete(done, b)
		}
		if got := strings.Join(b.log, "; "); got != c.want {
			t.Errorf("%T:\n%s, want\n%s", c.order, got, c.want)
		}
	}
	if OrderOf(table.BSP) != Order(AtOnce{}) {
		t.Error("under BSP the gate orders tasks, and the driver need not")
	}
}

// TestRunsEnd checks the ends of a run: at the goal, at the last epoch, without patience left, and by the policy. An
// epoch that does not count is neither reported nor kept.
func TestRunsEnd(t *testing.T) {
	t.Parallel()
	loss := []float64{9, 7, 8, 8, 6, 8, 8, 8, 8, 8}
	goal := &app.Goal{Metric: "loss", Below: true, Value: 6.5}
	for name, c := range map[string]struct {
		ending Ending
		tell   func(v *Verdict, epoch int)
		epochs int
		kept   []int
	}{
		"epochs":        {Ending{Epochs: 4}, nil, 4, []int{1, 2}},
		"goal":          {Ending{Epochs: 10, Goal: goal}, nil, 5, []int{1, 2, 5}},
		"patience of 3": {Ending{Epochs: 10, EarlyStop: true, Patience: 3}, nil, 8, []int{1, 2, 5}},
		"patience of 2": {Ending{Epochs: 10, EarlyStop: true, Patience: 2}, nil, 4, []int{1, 2}},
		"no early stop": {Ending{Epochs: 10, Patience: 2}, nil, 10, []int{1, 2, 5}},
		"the policy":    {Ending{Epochs: 10}, func(v *Verdict, n int) { v.Stop = n == 3 }, 3, []int{1, 2}},
		"void":          {Ending{Epochs: 10}, func(v *Verdict, n int) { v.Void, v.Stop = n == 3, n == 3 }, 2, []int{1, 2}},
	} {
		policy := &toy{}
		d, b := New(Layout{Splits: 1, Clocks: 1}, AtOnce{}, c.ending, Results{Train: 1, Score: 1}, policy), &desk{next: make([]bellows.Clock, 1)}
		policy.result = func(n int) Verdict {
			v := Verdict{Metrics: metric(loss[n-1]), Keep: d.Judge(loss[n-1], d.Best, true)}
			if c.tell != nil {
				c.tell(&v, n)
			}
			return v
		}
		d.Begin(b)
		b.play(t, d, 1)
		if !b.finished || len(b.epochs) != c.epochs || !slices.Equal(b.kept, c.kept) {
			t.Errorf("%s: %d epochs, kept %v; want %d and %v", name, len(b.epochs), b.kept, c.epochs, c.kept)
		}
	}
}

// TestExpectedEpochs: all epochs where nothing else ends the run, what the policy thinks where it does, within what is possible, and at
// the end what they were.
func TestExpectedEpochs(t *testing.T) {
	t.Parallel()
	thoughts := []int{0, 9, 1, 4, 5}
	for name, c := range map[string]struct {
		ending Ending
		thinks bool
		want   []int
	}{
		"epochs alone": {Ending{Epochs: 4}, false, []int{4, 4, 4, 4}},
		"early stop":   {Ending{Epochs: 4, EarlyStop: true, Patience: 9}, false, []int{0, 0, 0, 4}},
		"a goal":       {Ending{Epochs: 4, Goal: &app.Goal{Metric: "loss", Value: 10}}, false, []int{0, 0, 0, 4}},
		"a thought":    {Ending{Epochs: 6, EarlyStop: true, Patience: 9}, true, []int{0, 6, 4, 5, 5}},
	} {
		policy := &toy{result: func(n int) Verdict {
			v := Verdict{Metrics: metric(float64(n))}
			if c.thinks {
				v.Expected, v.Stop = thoughts[n-1], n == len(thoughts)
			}
			return v
		}}
		d, b := New(Layout{Splits: 1, Clocks: 1}, AtOnce{}, c.ending, Results{Train: 1, Score: 1}, policy), &desk{next: make([]bellows.Clock, 1)}
		d.Begin(b)
		b.play(t, d, 1)
		var got []int
		for _, e := range b.epochs {
			got = append(got, e.Expected)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: expected %v, not %v", name, got, c.want)
		}
	}
}

// TestAVoidEpochIsRunAgain: its items count, its number does not.
func TestAVoidEpochIsRunAgain(t *testing.T) {
	t.Parallel()
	policy := &toy{}
	d, b := New(Layout{Splits: 2, Clocks: 1}, AtOnce{}, Ending{Epochs: 2}, Results{Train: 1, Score: 1}, policy), &desk{next: make([]bellows.Clock, 2)}
	policy.result = func(int) Verdict {
		if policy.called == 2 {
			d.Epoch = 0
			return Verdict{Void: true}
		}
		return Verdict{}
	}
	d.Begin(b)
	b.play(t, d, 1)
	want := []train.Epoch{{Number: 1, Expected: 2, Items: 6}, {Number: 1, Expected: 2, Items: 18}, {Number: 2, Expected: 2, Items: 24}}
	if fmt.Sprint(b.epochs) != fmt.Sprint(want) {
		t.Errorf("epochs %+v, want %+v", b.epochs, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	p := Progress{Best: math.Inf(1), Marked: math.Inf(1)}
	for i, s := range []struct {
		score, part float64
		counts      bool
		best        bool
		since       int
	}{
		{5, 1, true, true, 0},
		{4.95, 0.9, true, true, 1}, // better, and not by enough
		{4.4, 0.9, true, true, 0},
		{6, 1, false, false, 0},
		{6, 1, true, false, 1},
		{math.NaN(), 1, true, true, 1},
	} {
		if best := p.Judge(s.score, s.part*p.Marked, s.counts); best != s.best || p.Since != s.since {
			t.Errorf("score %d: best %v, since %d; want %+v", i, best, p.Since, s)
		}
	}
	if p.Best != 4.4 || p.Marked != 4.4 {
		t.Errorf("%+v", p)
	}
}

// TestCanBeSaved plays runs that open and that do not, at once and in turn.
func TestCanBeSaved(t *testing.T) {
	t.Parallel()
	for i, l := range []Layout{{Splits: 3, Clocks: 2}, {Opens: 3, Splits: 2, Clocks: 3}} {
		traintest.CanBeSaved(t, traintest.Job{
			Job: train.Job{Splits: l.Splits, Tables: []table.Schema{{Name: "w", Rows: 1, Width: 1}},
				Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} }},
			Fresh: func() train.Driver {
				c := &toy{result: func(n int) Verdict { return Verdict{Metrics: metric(float64(n)), Keep: n%2 == 1} }}
				return New(l, []Order{AtOnce{}, InTurn{}}[i], Ending{Epochs: 3}, Results{Train: 2, Score: 2}, c)
			},
			Result: func(u bellows.Unit) []float64 { return []float64{float64(u.Split), 1 / float64(1+u.Clock)} },
		})
	}
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	t.Parallel()
	fresh := func() *Driver {
		return New(Layout{Splits: 2, Clocks: 3}, InTurn{}, Ending{Epochs: 2}, Results{Train: 1, Score: 1}, &toy{result: func(int) Verdict { return Verdict{} }})
	}
	d, b := fresh(), &desk{next: make([]bellows.Clock, 2)}
	d.Begin(b)
	good := d.Save()
	if err := fresh().Restore(good); err != nil {
		t.Fatal(err)
	}
	with := func(at int, x float64) []float64 {
		s := slices.Clone(good)
		s[at] = x
		return s
	}
	for name, bad := range map[string][]float64{
		"none": nil, "short": good[1:], "long": append(slices.Clone(good), 0), "stage": with(0, 9), "part of a stage": with(0, 0.5),
		"NaN": with(0, math.NaN()), "more done than sent": with(stateWords+1, 2), "more sent than there are": with(stateWords, 4),
		"negative": with(stateWords+1, -1), "half a task": with(stateWords, 1.5),
	} {
		if err := fresh().Restore(bad); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "restore driver") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for l, want := range map[Layout][]int{{Splits: 1, Clocks: 2}: {0, 1, 2, 0, 1, 2, 0}, {Opens: 1, Splits: 1, Clocks: 1}: {Opening, 0, 1, 0, 1}, {Opens: 3, Splits: 1, Clocks: 1}: {Opening, Opening, Opening, 0, 1, 0}} {
		for c, at := range want {
			if got := l.Place(bellows.Clock(c)); got != at {
				t.Errorf("%+v: clock %d is at %d, not %d", l, c, got, at)
			}
		}
	}
}

func TestReadEnding(t *testing.T) {
	t.Parallel()
	d := app.Description{Name: "toy", Settings: []app.Setting{{Name: "early_stop", Default: app.Auto}, {Name: "patience", Default: "5"}, {Name: "splits", Default: app.Auto}, {Name: "clocks", Default: app.Auto}}}
	for _, c := range []struct {
		epochs int
		given  map[string]string
		want   Ending
	}{
		{0, nil, Ending{Epochs: 70, EarlyStop: true, Patience: 5}},
		{3, nil, Ending{Epochs: 3, Patience: 5}},
		{3, map[string]string{"early_stop": "true", "patience": "2"}, Ending{Epochs: 3, EarlyStop: true, Patience: 2}},
		{0, map[string]string{"early_stop": "false"}, Ending{Epochs: 70, Patience: 5}},
	} {
		v, err := app.Resolve(d, c.given)
		if err != nil {
			t.Fatal(err)
		}
		c.want.Chosen = c.epochs == 0
		got := ReadEnding(&app.Input{Epochs: c.epochs}, v, 70)
		got.Settle(v, 4, 2)
		all := v.Map()
		if got != c.want || all["early_stop"] != fmt.Sprint(c.want.EarlyStop) || all["splits"] != "4" || all["clocks"] != "2" {
			t.Errorf("%d epochs, %v: %+v, %v; want %+v", c.epochs, c.given, got, all, c.want)
		}
	}
}
