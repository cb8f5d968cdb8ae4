package mf

import "math"

// stepSchedule decides how large the steps and how strong L2 are in each epoch. Its constants were chosen on five sets
// of ratings (0/1, 1 to 5, 1 to 10, -10 to 10), all in standardised units.
//
// L2 follows the noise. Weigh L2 by ratings (as SGD does), and a factor survives when its singular value in the matrix
// D_u^-½ R D_i^-½ exceeds l2. Noise of deviation s has its largest singular value there near s·edge, with edge =
// √(users/ratings) + √(items/ratings) (Marchenko and Pastur 1967). So l2 starts at a fixed part of that edge, where
// only strong factors grow, and recedes a little each epoch, until held-out ratings are predicted worse: the path of
// solutions is walked once instead of being searched. s is the previous epoch's held-out error.
//
// Steps fall as 1/(1+c·epoch), with c in proportion to 1/edge², which is about the number of ratings of a row: a row
// that is visited more often in an epoch averages over more of them.
//
// In the first epochs the biases are learned, and then little happens until the factors have grown from their small
// beginnings. Worse predictions of held-out ratings during this warm-up mean nothing.
//
// Rejected: one AdaGrad accumulator per row as in LIBMF, which needs another column and a root per visit: with the best
// fixed l2 of a grid it was better on one set of three and worse on two. Also a search over steps and l2 on a sample:
// the best for a sample is not the best for the whole, because the edge moves.
type stepSchedule struct {
	step   float64 // of the first epoch
	decay  float64 // the steps' c
	edge   float64
	l2     float64 // given by the user; negative: follow the noise
	bias   float64 // L2 of the biases
	recede float64 // l2 from one epoch to the next
	warmup int     // epochs before held-out ratings may stop or slow anything
}

const (
	firstStep  = 0.02   // larger ones do not help thin data, smaller ones cost epochs
	edgePart   = 0.54   // l2 of the first epoch in units of noise·edge
	recede     = 0.985  // l2 from one epoch to the next
	decayPart  = 0.0025 // steps' decay in units of 1/edge²
	biasPart   = 0.85   // L2 of biases in units of edge²; the optimum is flat
	biasMost   = 0.3    // more leaves the biases of thin data unlearned
	unhurried  = 60     // a run of fewer epochs goes the same way in larger strides,
	paceMost   = 4      // but not more than this many times larger
	warmup     = 30
	deviation0 = 0.03 // of the factors' first values: small, so that strong factors come first
)

func newStepSchedule(c config, ratings, users, items int) stepSchedule {
	edge := math.Sqrt(float64(users)/float64(ratings)) + math.Sqrt(float64(items)/float64(ratings))
	pace := min(max(unhurried/float64(c.Epochs), 1), paceMost)
	r := stepSchedule{step: firstStep * pace, decay: decayPart * pace / (edge * edge), edge: edge, l2: -1,
		bias: min(biasPart*edge*edge, biasMost), recede: math.Pow(recede, pace), warmup: int(warmup / pace)}
	if c.step > 0 {
		r.step = c.step
	}
	if c.ownL2 {
		r.l2 = c.l2
	}
	return r
}

// stepAt returns step size and L2 of an epoch counted from 0. noise is the held-out RMSE before it in standardised
// units, 1 before the first.
func (r stepSchedule) stepAt(epoch int, noise float64) (step, l2 float64) {
	step = r.step / (1 + r.decay*float64(epoch))
	if r.l2 >= 0 {
		return step, r.l2
	}
	l2 = edgePart * r.edge * min(noise, 1) * math.Pow(r.recede, float64(epoch))
	return step, min(l2, 1)
}
