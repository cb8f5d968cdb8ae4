package loss

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlattFindsTheLogOdds: of scores whose log-odds lie on a line, the line; of scores that say nothing, the share of the class; and of classes that scores tell
// apart no probabilities of 0 and 1.
func TestPlattFindsTheLogOdds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	scores, second, noise := make([]float64, 20000), make([]bool, 20000), make([]float64, 20000)
	ones := 0.0
	for i := range scores {
		scores[i], noise[i] = 3*r.NormFloat64(), r.NormFloat64()
		if second[i] = r.Float64() < 1/(1+math.Exp(-0.7*scores[i]+1)); second[i] {
			ones++
		}
	}
	if c := Platt(scores, second, nil); math.Abs(c.Slope-0.7) > 0.03 || math.Abs(c.Offset+1) > 0.05 {
		t.Errorf("the line is %+v, not 0.7 and -1", c)
	}
	if c := Platt(noise, second, nil); math.Abs(c.Slope) > 0.05 || math.Abs(c.Offset-math.Log(ones/(20000-ones))) > 0.02 {
		t.Errorf("the line of noise is %+v", c)
	}
	c := Platt([]float64{-2, -1, 1, 2}, []bool{false, false, true, true}, nil)
	if p := 1 / (1 + math.Exp(-c.Calibrate(2))); !(p > 0.7 && p < 0.99) {
		t.Errorf("of four rows the probability of the surest is %v by %+v", p, c)
	}
}

// TestDealIsStratified: each row is in one fold, folds have the same number of rows of each stratum but for one, and a rare class has fewer folds or none.
func TestDealIsStratified(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, rarest := range []int{0, 1, 2, 3, 5, 40} {
		strata := make([]int, 301)
		for place := range rarest {
			strata[place] = 1
		}
		r.Shuffle(len(strata), func(i, j int) { strata[i], strata[j] = strata[j], strata[i] })
		rows := make([]int32, len(strata))
		for place := range rows {
			rows[place] = int32(1000 + place)
		}
		f := Deal(len(strata), func(place int) int { return strata[place] }, rarest)
		want := min(rarest, FoldsMost)
		if rarest < FoldsLeast {
			want = 0
		}
		if f.Count != want {
			t.Errorf("%d rows of the rarest class: %d folds, want %d", rarest, f.Count, want)
		}
		seen, sizes := map[int]int{}, [2][]int{make([]int, f.Count), make([]int, f.Count)}
		for fold := range f.Count {
			training, held := f.Divide(fold, rows)
			if len(training)+len(held) != len(rows) {
				t.Errorf("fold %d has %d and %d rows", fold, len(training), len(held))
			}
			for _, place := range held {
				seen[place]++
				sizes[strata[place]][fold]++
				if slices.Contains(training, rows[place]) {
					t.Fatalf("fold %d trains on row %d, which it scores", fold, place)
				}
			}
		}
		if f.Count == 0 {
			continue
		}
		if len(seen) != len(rows) {
			t.Errorf("%d of %d rows are scored", len(seen), len(rows))
		}
		for s, n := range sizes {
			if slices.Max(n)-slices.Min(n) > 1 || slices.Min(n) < 1 {
				t.Errorf("%d rows of the rarest class: stratum %d has %v rows in folds", rarest, s, n)
			}
		}
	}
}

// TestAlignGivesTheOtherScale: over the rows that both have trained on, scores of any scale and offset get the mean and the deviation of the others; the rows of the fold itself say nothing.
func TestAlignGivesTheOtherScale(t *testing.T) {
	t.Parallel()
	other := []float64{-3, -1, 0, 2, 5, 7, 11, 13, 17, 19}
	f := Deal(len(other), func(int) int { return 0 }, len(other))
	for fold := range f.Count {
		own := make([]float64, len(other))
		for place, v := range other {
			own[place] = 1e-4*v - 1
			if int(f.of[place]) == fold {
				own[place] = 1e6
			}
		}
		line := f.Align(fold, own, other, nil)
		for place, v := range own {
			if int(f.of[place]) != fold && math.Abs(line.Calibrate(v)-other[place]) > 1e-6 {
				t.Errorf("fold %d: %v becomes %v, not %v", fold, v, line.Calibrate(v), other[place])
			}
		}
	}
	level := make([]float64, len(other))
	if line := f.Align(0, level, other, nil); math.IsNaN(line.Calibrate(0)) || line.Slope != 1 {
		t.Errorf("equal scores have the line %+v", line)
	}
}
