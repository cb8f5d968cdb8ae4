package linear

import (
	"math"
	"slices"
)

// Rows that find l2. Where dual ascent is to choose l2, it trains on a part of the rows at first, on one strength after the other, and the rows that it has not trained on say which is best.
// Then all rows train with that one. Strength is the precision of weights, l2 times the rows that train, so that it means the same of fewer rows: 1/C of LIBLINEAR.
//
// Rows of text are long and of features that are rare: what suits them differs a hundredfold between sets, and neither the number of rows nor the spread of features says it.
const (
	pathRatio = 3.1622776601683795 // between neighbours: the root of ten
	pathGap   = 0.1                // of a strength: its weights are near enough to say how good it is,
	pathStay  = 3                  // or have had so many epochs
	pathMost  = 16                 // strengths tried
	pathGain  = 0.001              // the next strength is tried when the last was better by this part
	pathReach = 1e5                // the strongest and the weakest are at most so many times as strong or weak as the first
	pathRows  = 100                // rows that are enough to keep some of them aside
	pathSlack = 1e-9               // of bounds, for rounding
)

// tried is a strength, and the mean loss of the rows that it was not trained on.
type tried struct{ strength, held float64 }

// path is the strengths that were tried, in their order.
type path struct {
	start, weakest float64
	list           []tried
	epochs         int // of the strength that is being tried
}

// next is the strength to be tried: from the first to weaker ones, or to stronger ones where those are better, until one is not. ok is false where no more are.
func (p *path) next() (strength float64, ok bool) {
	weakest, strongest := max(p.weakest, p.start/pathReach)*(1-pathSlack), p.start*pathReach*(1+pathSlack)
	switch {
	case len(p.list) == 0:
		return p.start, true
	case len(p.list) == pathMost:
		return 0, false
	case len(p.list) == 1 && p.start/pathRatio >= weakest:
		return p.start / pathRatio, true
	case len(p.list) == 1:
		return p.start * pathRatio, true
	}
	list, best := p.sorted()
	gains := func(from int) bool { return list[best].held < (1-pathGain)*list[from].held }
	switch {
	case best == 0 && gains(1) && list[0].strength/pathRatio >= weakest:
		return list[0].strength / pathRatio, true
	case best == len(list)-1 && gains(best-1) && list[best].strength*pathRatio <= strongest:
		return list[best].strength * pathRatio, true
	}
	return 0, false
}

// sorted is what was tried from weak to strong, and which of it is best.
func (p *path) sorted() (list []tried, best int) {
	list = slices.SortedFunc(slices.Values(p.list), func(a, b tried) int {
		if a.strength < b.strength {
			return -1
		}
		return 1
	})
	for i, t := range list {
		if t.held < list[best].held {
			best = i
		}
	}
	return list, best
}

// chosen is the strength of the least loss: of the parabola through the best and its neighbours, in the logarithm of strengths.
func (p *path) chosen() float64 {
	if len(p.list) == 0 {
		return p.start
	}
	list, best := p.sorted()
	if best == 0 || best == len(list)-1 {
		return list[best].strength
	}
	weak, strong := list[best-1].held-list[best].held, list[best+1].held-list[best].held
	if !(weak+strong > 0) {
		return list[best].strength
	}
	return list[best].strength * math.Pow(pathRatio, (weak-strong)/(weak+strong)/2)
}

// heldEach is how many rows there are for one that is kept aside while l2 is sought: fewer where rows are few, so that what those aside say is less by chance.
func (p *problem) heldEach() int {
	if len(p.rows) < 5000 {
		return 5
	}
	return 10
}

// aside says whether a training row, by its place among them, is kept aside while l2 is sought. Their order is by chance.
func (p *problem) aside(place int) bool { return place%p.heldEach() == 0 }

// trains is how many rows train, while some are kept aside or not.
func (p *problem) trains(hold bool) float64 {
	n := len(p.rows)
	if hold {
		n -= (n + p.heldEach() - 1) / p.heldEach()
	}
	return float64(n)
}

// seeks says whether rows that are kept aside choose l2.
func (p *problem) seeks() bool {
	return p.chosen && p.dual() && len(p.rows) >= pathRows && (!p.fixed || p.Epochs > 1)
}

// seek judges an epoch of a strength, and goes on to the next: when nothing more is gained, or half of the epochs that were asked for are over, to all rows with the best.
func (k *policy) seek(epoch int, gap, held float64) {
	k.path.epochs++
	late := k.p.fixed && 2*(epoch+1) > k.p.Epochs
	if gap > pathGap && k.path.epochs < pathStay && !late {
		return
	}
	k.path.list, k.path.epochs = append(k.path.list, tried{k.l2 * k.p.trains(true), held}), 0
	next, more := k.path.next()
	if more && !late {
		k.l2 = max(l2Least, next/k.p.trains(true))
		return
	}
	k.hold = false
	k.l2 = max(l2Least, k.path.chosen()/k.p.trains(false))
}

func ones(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
