package loss

import (
	"math"

	"bellows/app/examples"
)

// FoldsMost is the number of folds where each class has a row for each; FoldsLeast is the least number that leaves rows to train on.
const (
	FoldsMost  = 5
	FoldsLeast = 2
)

// Folds is the division of rows into folds. Each fold has the same number of rows of each stratum, but for one.
type Folds struct {
	Count int     // 0: the rarest class has too few rows
	of    []uint8 // by place of the row
}

// Deal divides n rows into folds by their strata. Rows of one stratum are dealt in their order, which must be by chance and the same wherever the rows are dealt.
// There are as many folds as the rarest class has rows, up to FoldsMost, and none where it has fewer than FoldsLeast: with more folds than that, a fold would have no row of the class to score.
// rarest is the number of rows of that class.
func Deal(n int, stratum func(place int) int, rarest int) Folds {
	f := Folds{Count: min(FoldsMost, rarest)}
	if f.Count < FoldsLeast {
		return Folds{}
	}
	next := map[int]int{}
	f.of = make([]uint8, n)
	for place := range n {
		s := stratum(place)
		if _, begun := next[s]; !begun {
			next[s] = len(next) // strata begin at different folds, so that folds have about the same number of rows
		}
		f.of[place] = uint8(next[s] % f.Count)
		next[s]++
	}
	return f
}

// Divide returns the rows that train a fold's model and the places of those that it scores.
func (f *Folds) Divide(fold int, rows []int32) (training []int32, held []int) {
	for place, r := range rows {
		if int(f.of[place]) == fold {
			held = append(held, place)
		} else {
			training = append(training, r)
		}
	}
	return training, held
}

// Align returns the line that gives the scores of a fold's model the mean and the deviation of those of another model, over the rows that both were trained on. own and other are the
// scores by place, which count by their weights; nil: 1.
//
// Models of different folds agree on which rows score high, but not on a unit: where the best weights are close to 0, such as those of hinge for a rare class, rounding decides how close. One line for
// all scores would then fit none of them, and the mean probability would miss the share of the class (TestAlignedFoldsKeepTheShare). Rejected: a line for each fold and the mean of the models, which is five models to store and to ask;
// and to move the offset until the mean is right on the training rows, whose scores are too sure of themselves.
func (f *Folds) Align(fold int, own, other []float64, weight examples.RowWeights) Line {
	var n, mean, target, spread, wanted float64
	each := func(visit func(i int, w float64)) {
		for i, of := range f.of {
			if int(of) != fold {
				visit(i, weight.Weight(i))
			}
		}
	}
	each(func(i int, w float64) { n, mean, target = n+w, mean+w*own[i], target+w*other[i] })
	mean, target = mean/n, target/n
	each(func(i int, w float64) {
		spread, wanted = spread+w*(own[i]-mean)*(own[i]-mean), wanted+w*(other[i]-target)*(other[i]-target)
	})
	slope := math.Sqrt(wanted / spread)
	if math.IsNaN(slope) || math.IsInf(slope, 0) { // all scores of the fold's model are the same
		slope = 1
	}
	return Line{Slope: slope, Offset: target - slope*mean}
}
