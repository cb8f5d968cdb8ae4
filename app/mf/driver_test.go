package mf

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/train"
	"bellows/train/traintest"
)

// board is a controller in miniature: it holds what was dispatched and not yet completed.
type board struct {
	t        *testing.T
	p        *problem
	next     []bellows.Clock
	sent     []bellows.Unit // all, in order
	out      []train.Completion
	args     [][]float64 // of out
	epochs   []train.Epoch
	kept     []int // epochs after which the driver said Keep
	finished bool
	shares   bool // tasks that are out may touch the same parts
}

func newBoard(t *testing.T, p *problem) *board {
	return &board{t: t, p: p, next: make([]bellows.Clock, p.splits), shares: p.schedule == ssp}
}

func (b *board) DispatchTask(split bellows.SplitID, args ...float64) {
	u := bellows.Unit{Split: split, Clock: b.next[split], Items: b.p.itemsOf(split, b.next[split])}
	b.next[split]++
	b.sent = append(b.sent, u)
	if !b.shares {
		for _, o := range b.out {
			if b.p.work().Place(u.Clock) < b.p.clocks && (o.Split == u.Split || b.part(o.Unit) == b.part(u)) {
				b.t.Fatalf("%v goes while %v is out, which holds the same part", u, o.Unit)
			}
		}
	}
	b.out = append(b.out, train.Completion{Unit: u})
	b.args = append(b.args, slices.Clone(args))
}

func (b *board) part(u bellows.Unit) int {
	return (int(u.Split) + b.p.work().Place(u.Clock)) % b.p.clocks
}

func (b *board) ShowEpoch(e train.Epoch) { b.epochs = append(b.epochs, e) }
func (b *board) Finish()                 { b.finished = true }
func (b *board) Keep() {
	if len(b.out) > 0 {
		b.t.Fatal("Keep while tasks are out")
	}
	b.kept = append(b.kept, len(b.epochs))
}

// play completes tasks in an order by chance until the driver finishes; errors gives the squared
// error per rating of an epoch's visits, and of the held-out ratings after it.
func (b *board) play(v *epochs.Driver, seed uint64, errors func(epoch int) (trained, held float64)) {
	r := rand.New(rand.NewPCG(seed, 0))
	for rounds := 0; len(b.out) > 0; rounds++ {
		if rounds > 1e6 {
			b.t.Fatal("the driver never ends")
		}
		b.step(v, r.IntN(len(b.out)), errors)
	}
	if !b.finished {
		b.t.Fatal("no task is out and the driver has not finished")
	}
}

func (b *board) step(v *epochs.Driver, which int, errors func(epoch int) (trained, held float64)) {
	done := b.out[which]
	b.out = slices.Delete(b.out, which, which+1)
	b.args = slices.Delete(b.args, which, which+1)
	trained, held := errors(int(done.Clock) / (b.p.clocks + 1))
	if b.p.work().Place(done.Clock) == b.p.clocks {
		done.Result = []float64{held * float64(len(b.p.shares[done.Split].held.rating)), 0}
	} else {
		done.Result = []float64{trained * float64(b.p.itemsOf(done.Split, done.Clock).Len())}
	}
	v.Complete(done, b)
}

func steady(int) (float64, float64) { return 0.5, 0.5 }

// lowest is the epoch after which valley is lowest.
const lowest = warmup + 7

func valley(epoch int) (float64, float64) {
	return 0.5, 0.3 + 0.001*math.Abs(float64(epoch+1-lowest))
}

func TestConcurrentTasksShareNoPart(t *testing.T) {
	for _, shape := range shapes {
		p := problemFor(t, small, config{schedule: strata, splits: shape.splits, clocks: shape.parts, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 3}})
		for seed := range uint64(20) {
			b := newBoard(t, p)
			v := newPolicy(p).driver()
			v.Begin(b)
			if want := min(shape.splits, shape.parts); len(b.out) != want {
				t.Fatalf("%+v: %d splits begin at once, want %d", shape, len(b.out), want)
			}
			b.play(v, seed, steady)
			for s, n := range b.next {
				if int(n) != 3*(p.clocks+1) {
					t.Fatalf("split %d ran %d clocks in 3 epochs", s, n)
				}
			}
		}
	}
}

// TestPartsKeepOneOrderOfSplits: whatever completes first, each part sees its splits in the order of clock and split,
// so that the result repeats.
func TestPartsKeepOneOrderOfSplits(t *testing.T) {
	for _, shape := range shapes {
		p := problemFor(t, small, config{schedule: strata, splits: shape.splits, clocks: shape.parts, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 2}})
		for seed := range uint64(20) {
			b := newBoard(t, p)
			v := newPolicy(p).driver()
			v.Begin(b)
			b.play(v, seed, steady)
			last := make([]bellows.Unit, p.clocks)
			visits := 0
			for i, u := range b.sent {
				if p.work().Place(u.Clock) == p.clocks {
					continue
				}
				visits++
				before := &last[b.part(u)]
				if i > 0 && (u.Clock < before.Clock || u.Clock == before.Clock && u.Split < before.Split) {
					t.Fatalf("%+v: part %d goes from %v to %v", shape, b.part(u), *before, u)
				}
				*before = u
			}
			if want := 2 * p.splits * p.clocks; visits != want {
				t.Fatalf("%+v: %d visits in two epochs, want %d", shape, visits, want)
			}
		}
	}
}

func TestEarlyStopKeepsTheBest(t *testing.T) {
	for _, schedule := range []string{strata, ssp} {
		p := problemFor(t, small, config{schedule: schedule, splits: 3, clocks: 2, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 80, EarlyStop: true, Patience: 4}})
		b := newBoard(t, p)
		k := newPolicy(p)
		v := k.driver()
		v.Begin(b)
		b.play(v, 1, valley)
		if len(b.epochs) != lowest+4 {
			t.Errorf("%s: %d epochs; the best is number %d and patience is 4", schedule, len(b.epochs), lowest)
		}
		if last := b.kept[len(b.kept)-1]; last != lowest {
			t.Errorf("%s: the epoch kept is %d, want %d", schedule, last, lowest)
		}
		if step, _ := p.stepAt(lowest+4, 0.3); k.Train(nil, &v.Progress, 0, 0)[0] != step/16 {
			t.Errorf("%s: the step is %g after four epochs without gain, want a sixteenth of %g", schedule, k.Train(nil, &v.Progress, 0, 0)[0], step)
		}
		if got := b.epochs[1].Items; got != 2*p.trained {
			t.Errorf("%s: %d items after two epochs of %d", schedule, got, p.trained)
		}
	}
}

func TestWithoutEarlyStopAllEpochsRun(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 3, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 60, Patience: 1}})
	b := newBoard(t, p)
	v := newPolicy(p).driver()
	v.Begin(b)
	b.play(v, 1, valley)
	if len(b.epochs) != 60 || b.kept[len(b.kept)-1] != lowest {
		t.Errorf("%d epochs, kept %v; want 60, and number %d kept", len(b.epochs), b.kept, lowest)
	}
}

func TestWarmUpDipDoesNotStop(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 3, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 60, EarlyStop: true, Patience: 2}})
	b := newBoard(t, p)
	v := newPolicy(p).driver()
	v.Begin(b)
	b.play(v, 1, func(epoch int) (float64, float64) {
		if epoch < warmup {
			return 0.5, 0.5 + 0.001*float64(epoch)
		}
		return 0.5, 0.5 - 0.001*float64(epoch)
	})
	if len(b.epochs) != 60 || b.kept[len(b.kept)-1] != 60 {
		t.Errorf("%d epochs, kept %v; want 60 and the last", len(b.epochs), b.kept)
	}
}

func TestGoalEndsAndKeeps(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 3, rank: 2, step: 1, Ending: epochs.Ending{Epochs: 20, Goal: &app.Goal{Metric: "train_rmse", Below: true, Value: 0.5}}})
	deviation := p.scale.deviation
	b := newBoard(t, p)
	v := newPolicy(p).driver()
	v.Begin(b)
	b.play(v, 1, func(epoch int) (float64, float64) {
		rmse := (1 - 0.1*float64(epoch)) / deviation
		return rmse * rmse, 0.5 + float64(epoch)
	})
	if len(b.epochs) != 6 || b.kept[len(b.kept)-1] != 6 {
		t.Errorf("%d epochs, kept %v; the goal is reached after 6 though held-out ratings were best after 1", len(b.epochs), b.kept)
	}
	if got := b.epochs[5].Metrics[0].Value; math.Abs(got-0.5) > 1e-9 {
		t.Errorf("train_rmse = %v on the scale of the input, want 0.5", got)
	}
}

func TestDivergenceStartsAgainWithSmallerSteps(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 3, rank: 2, step: 0.8, Ending: epochs.Ending{Epochs: 2}})
	b := newBoard(t, p)
	k := newPolicy(p)
	v := k.driver()
	v.Begin(b)
	var steps, resets []float64
	b.play(v, 1, func(epoch int) (float64, float64) {
		if len(steps) == epoch {
			args := k.Train(nil, &v.Progress, 0, 0)
			steps, resets = append(steps, args[0]), append(resets, args[2])
		}
		switch epoch {
		case 0:
			return math.NaN(), math.NaN()
		case 1:
			return 9, 0.5
		}
		return 0.5, 0.5
	})
	if len(steps) != 4 || steps[0] != 0.8 || steps[1] != 0.2 || steps[2] != 0.05 {
		t.Errorf("steps %v; want 0.8, and a quarter after each of two failures", steps)
	}
	if !slices.Equal(resets, []float64{1, 1, 1, 0}) {
		t.Errorf("first values are set again in epochs %v, want the first three", resets)
	}
	if len(b.epochs) != 2 || b.epochs[0].Number != 1 || b.epochs[1].Items != 4*p.trained {
		t.Errorf("epochs %+v; two are reported and all visits counted", b.epochs)
	}
}

func TestDivergenceAfterGoodEpochEndsRun(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 2, rank: 2, step: 0.8, Ending: epochs.Ending{Epochs: 9}})
	b := newBoard(t, p)
	v := newPolicy(p).driver()
	v.Begin(b)
	b.play(v, 1, func(epoch int) (float64, float64) {
		if epoch == 2 {
			return math.Inf(1), 0.5
		}
		return 0.5, 0.5 - 0.1*float64(epoch)
	})
	if len(b.epochs) != 2 || b.kept[len(b.kept)-1] != 2 {
		t.Errorf("%d epochs reported, kept %v; want 2 and the 2nd", len(b.epochs), b.kept)
	}
}

func TestDriverGoesOnFromWhatItSaved(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 4, rank: 2, step: 0.5, Ending: epochs.Ending{Epochs: 3}})
	straight := newBoard(t, p)
	v := newPolicy(p).driver()
	v.Begin(straight)
	straight.play(v, 5, valley)

	for stop := range 55 {
		b := newBoard(t, p)
		v := newPolicy(p).driver()
		v.Begin(b)
		for range stop {
			b.step(v, len(b.out)-1, valley)
		}
		resumed := newPolicy(p).driver()
		if err := resumed.Restore(v.Save()); err != nil {
			t.Fatal(err)
		}
		b.play(resumed, uint64(stop), valley)
		if len(b.epochs) != len(straight.epochs) {
			t.Fatalf("resumed after %d tasks: %d epochs, want %d", stop, len(b.epochs), len(straight.epochs))
		}
		for i, e := range b.epochs {
			if !slices.Equal(e.Metrics, straight.epochs[i].Metrics) {
				t.Fatalf("resumed after %d tasks: epoch %d is %v, want %v", stop, i+1, e.Metrics, straight.epochs[i].Metrics)
			}
		}
	}
	if err := newPolicy(p).driver().Restore(make([]float64, 3)); bellows.KindOf(err) != bellows.BadData {
		t.Errorf("a state of another run is taken: %v", err)
	}
}

// TestDriverCanBeSaved plays both schedules, one that starts again, and one that stops early.
func TestDriverCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, c := range []config{
		{schedule: strata, splits: 4, clocks: 3, rank: 2, step: 0.5, Ending: epochs.Ending{Epochs: 3}},
		{schedule: ssp, splits: 3, clocks: 2, rank: 2, step: 0.5, Ending: epochs.Ending{Epochs: 12, EarlyStop: true, Patience: 2}},
	} {
		p := problemFor(t, small, c)
		for _, diverges := range []bool{false, true} {
			traintest.CanBeSaved(t, traintest.Job{
				Job:   train.Job{Tables: p.tables(), Splits: p.splits, Items: p.itemsOf},
				Fresh: func() train.Driver { return newPolicy(p).driver() },
				Result: func(u bellows.Unit) []float64 {
					by := rand.New(rand.NewPCG(uint64(u.Split), uint64(u.Clock))).Float64()
					if diverges && u.Clock < 2 {
						by = math.NaN()
					}
					return []float64{by, 2 * by}
				},
			})
		}
	}
}
