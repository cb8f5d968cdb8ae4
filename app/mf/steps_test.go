package mf

import (
	"math"
	"testing"

	"bellows/app/epochs"
)

func TestStepsFallAndFollowTheNoise(t *testing.T) {
	r := newStepSchedule(config{Ending: epochs.Ending{Epochs: 80}, step: 0.02}, 100000, 1000, 500)
	step, l2 := r.stepAt(0, 1)
	if step != 0.02 {
		t.Errorf("the first step is %g", step)
	}
	if want := edgePart * (0.1 + math.Sqrt(0.005)); math.Abs(l2-want) > 1e-12 {
		t.Errorf("the first l2 is %g, want %g", l2, want)
	}
	later, quiet := r.stepAt(10, 0.5)
	if later >= step || math.Abs(quiet-0.5*l2*math.Pow(recede, 10)) > 1e-12 {
		t.Errorf("after 10 epochs step %g, l2 %g", later, quiet)
	}
	if _, wild := r.stepAt(0, 50); wild != l2 {
		t.Errorf("noise above the deviation of the ratings gives l2 %g", wild)
	}
	given := newStepSchedule(config{Ending: epochs.Ending{Epochs: 80}, step: 0.02, l2: 0.07, ownL2: true}, 100000, 1000, 500)
	if _, l2 := given.stepAt(30, 0.5); l2 != 0.07 {
		t.Errorf("a given l2 became %g", l2)
	}
}

func TestFewEpochsTakeLargerStrides(t *testing.T) {
	long := newStepSchedule(config{Ending: epochs.Ending{Epochs: 60}}, 100000, 1000, 500)
	for _, n := range []int{20, 30} {
		short := newStepSchedule(config{Ending: epochs.Ending{Epochs: n}}, 100000, 1000, 500)
		pace := 60 / n
		for e := range n {
			step, l2 := short.stepAt(e, 1)
			same, strength := long.stepAt(e*pace, 1)
			if math.Abs(step/float64(pace)-same) > 1e-9 || math.Abs(l2-strength) > 1e-9 {
				t.Errorf("epoch %d of %d: step %g, l2 %g; epoch %d of 60: %g, %g", e, n, step, l2, e*pace, same, strength)
			}
		}
		if short.warmup*pace != long.warmup {
			t.Errorf("warm-up of %d in %d epochs, %d in 60", short.warmup, n, long.warmup)
		}
	}
	if step, _ := newStepSchedule(config{Ending: epochs.Ending{Epochs: 1}}, 100000, 1000, 500).stepAt(0, 1); step != 4*0.02 {
		t.Errorf("the step of a single epoch is %g", step)
	}
	if step, _ := newStepSchedule(config{Ending: epochs.Ending{Epochs: 1}, step: 0.01}, 100000, 1000, 500).stepAt(0, 1); step != 0.01 {
		t.Errorf("a given step became %g", step)
	}
}

func TestMoreVisitsToARowFallFaster(t *testing.T) {
	thin, _ := newStepSchedule(config{Ending: epochs.Ending{Epochs: 80}, step: 0.02}, 10000, 1000, 500).stepAt(20, 1)
	thick, _ := newStepSchedule(config{Ending: epochs.Ending{Epochs: 80}, step: 0.02}, 1000000, 1000, 500).stepAt(20, 1)
	if thick >= thin {
		t.Errorf("step %g with 1000 ratings a user, %g with 10", thick, thin)
	}
}

func TestDampJoinsSumAndMean(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		step, mine, visits, overlap float32
		want, within                float64
	}{
		{"one contributor", 0.02, 40, 40, 1, 1, 0},
		{"rarely visited: sum", 0.001, 1, 8, 1, 1, 0.01},
		{"often visited: mean of 8", 1, 10000, 80000, 1, 0.125, 0.001},
		{"stale by one clock", 1, 10000, 10000, 2, 0.5, 0.001},
	} {
		if got := float64(damp(tt.step, tt.mine, tt.visits, tt.overlap)); math.Abs(got-tt.want) > tt.within {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
}
