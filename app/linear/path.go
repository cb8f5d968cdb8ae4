package linear

import (
	"math"
	"slices"

	"bellows/app/examples"
)

// Rows that find l2 or l1. A part of the rows trains at first, with one strength after the other, and the rows that are kept aside meanwhile say which is best. Then all rows train with that one. Each
// strength begins where the last has ended.
//
// The strength of l2 is the precision of weights, l2 times the rows that train, so that it means the same of fewer rows: 1/C of LIBLINEAR. That of l1 is l1 itself, which is what the mean slope of a feature has to be
// for a weight, and begins at the least that leaves no weight.
//
// Where nothing is said, strengths are tried until none is better, and the best lies between them. Rows of text are long and of features that are rare: what l2 suits them differs a hundredfold between sets, and neither the number of rows
// nor the spread of features says it. With path=N there are N of them, from strong to weak, and the best is one of these.
const (
	ratioL2   = 3.1622776601683795 // between neighbours: the root of ten
	ratioL1   = 2
	pathGap   = 0.02  // of a strength: its weights are near enough to say how good it is,
	pathStay  = 4     // or have had so many epochs
	pathMost  = 16    // strengths tried
	pathGain  = 0.001 // the next strength is tried when the last was better by this part
	pathReach = 1e5   // the strongest and the weakest are at most so many times as strong or weak as the first
	pathSlack = 1e-9  // of bounds, for rounding
	pathRows  = 100   // rows that are enough to keep some of them aside
	givenStay = 20    // pathStay for path=N, with the gap of the run
	givenMost = 100   // strengths of path=N
	reachL1   = 1000  // from the first l1 of path=N to the last
	lastL2    = 0.01  // the last strength of l2 of path=N; the first is that of l2=1
	fewL1     = 0.01  // the part of the strongest l1 that is taken where rows are too few to choose
)

// tried is a strength, the mean losses of rows that were trained on and of those that were not, and the weights that are not 0.
type tried struct {
	Strength float64 `json:"strength"`
	Train    float64 `json:"train_loss"`
	Held     float64 `json:"held_loss"`
	Count    float64 `json:"nonzero"`
}

// path is the strengths that were tried, in their order.
type path struct {
	start, weakest, strongest float64
	ratio                     float64
	given                     int // strengths that there are to be; 0: until none is better
	list                      []tried
	epochs                    int     // of the strength that is being tried
	best                      tried   // of them, by the objective: of a loss with corners it may rise
	least                     float64 // the objective
}

// newPath returns the path of a problem that searches for a strength.
func (p *problem) newPath(l2 float64) path {
	n := float64(len(p.Rows))
	way := path{given: p.path}
	switch {
	case p.seekL1:
		way.start, way.ratio, way.strongest = p.steepest, ratioL1, p.steepest
		way.weakest = p.steepest / pathReach
		if way.given > 0 {
			way.ratio = math.Pow(reachL1, 1/float64(way.given-1))
		}
		return way
	case way.given > 0:
		way.start = n
		last := lastL2
		if p.Dense && p.dual() {
			last = examples.StrengthDense * n
		}
		way.ratio = math.Pow(way.start/last, 1/float64(way.given-1))
		return way
	}
	way.start, way.ratio = l2*n, ratioL2
	way.weakest, way.strongest = way.start/pathReach, way.start*pathReach
	if p.Dense {
		way.weakest = examples.StrengthDense * n
	} else {
		// text mostly wants a tenth or less, and starting at stronger ones would add two strengths
		way.start /= ratioL2 * ratioL2
	}
	return way
}

// most returns how many strengths there may be.
func (p *path) most() int {
	if p.given > 0 {
		return p.given
	}
	return pathMost
}

// next returns the strength to be tried: of those that are given the next weaker one; else from the first to weaker
// ones, or to stronger ones where those are better, until one is not. ok is false where no more are.
func (p *path) next() (strength float64, ok bool) {
	switch {
	case len(p.list) == p.most():
		return 0, false
	case len(p.list) == 0:
		return p.start, true
	case p.given > 0:
		return p.start * math.Pow(p.ratio, -float64(len(p.list))), true
	case len(p.list) == 1 && p.reaches(p.start/p.ratio):
		return p.start / p.ratio, true
	case len(p.list) == 1:
		return p.start * p.ratio, p.reaches(p.start * p.ratio)
	}
	list, best := p.sorted()
	gains := func(from int) bool { return list[best].Held < (1-pathGain)*list[from].Held }
	switch {
	case best == 0 && gains(1):
		strength = list[0].Strength / p.ratio
	case best == len(list)-1 && gains(best-1):
		strength = list[best].Strength * p.ratio
	default:
		return 0, false
	}
	return strength, p.reaches(strength)
}

func (p *path) reaches(strength float64) bool {
	return strength >= p.weakest*(1-pathSlack) && strength <= p.strongest*(1+pathSlack)
}

// sorted returns what was tried from weak to strong, and which of it is best: of equals the stronger.
func (p *path) sorted() (list []tried, best int) {
	list = slices.SortedFunc(slices.Values(p.list), func(a, b tried) int {
		if a.Strength < b.Strength {
			return -1
		}
		return 1
	})
	for i, t := range list {
		if t.Held <= list[best].Held {
			best = i
		}
	}
	return list, best
}

// chosen returns the strength of the least loss: one of those that were given, or that of the parabola through the
// best and its neighbours, in the logarithm of strengths.
func (p *path) chosen() float64 {
	if len(p.list) == 0 {
		return p.start
	}
	list, best := p.sorted()
	if p.given > 0 || best == 0 || best == len(list)-1 {
		return list[best].Strength
	}
	weak, strong := list[best-1].Held-list[best].Held, list[best+1].Held-list[best].Held
	if !(weak+strong > 0) {
		return list[best].Strength
	}
	return list[best].Strength * math.Pow(p.ratio, (weak-strong)/(weak+strong)/2)
}

// save returns all that a path remembers, always as many numbers; restore is its way back.
func (p *path) save(to []float64) []float64 {
	to = append(to, float64(p.epochs), p.least, p.best.Train, p.best.Held, p.best.Count, float64(len(p.list)))
	for i := range p.most() {
		var t tried
		if i < len(p.list) {
			t = p.list[i]
		}
		to = append(to, t.Strength, t.Train, t.Held, t.Count)
	}
	return to
}

func (p *path) restore(s []float64) {
	p.epochs, p.least, p.best, p.list = int(s[0]), s[1], tried{Train: s[2], Held: s[3], Count: s[4]}, nil
	for i := range min(p.most(), max(0, int(s[5]))) {
		t := s[6+4*i:]
		p.list = append(p.list, tried{t[0], t[1], t[2], t[3]})
	}
}

// heldEach returns how many rows there are for one that is kept aside: fewer where rows are few, so that what those
// aside say is less by chance.
func (p *problem) heldEach() int {
	if len(p.Rows) < 5000 {
		return 5
	}
	return 10
}

// heldAside reports whether a training row, by its place among them, is kept aside during the search for a strength.
// Their order is random.
func (p *problem) heldAside(place int) bool { return place%p.heldEach() == 0 }

// trains returns how many rows train, by their weights, while some are kept aside or not.
func (p *problem) trains(hold bool) float64 {
	if hold {
		return p.apart[0]
	}
	return float64(len(p.Rows))
}

// counts returns what trains does with every row counted once, whatever its class.
func (p *problem) counts(hold bool) float64 {
	if hold {
		return p.apart[1]
	}
	return float64(len(p.Rows))
}

// seeks reports whether rows that are kept aside choose l2 or l1.
func (p *problem) seeks() bool {
	return p.steps == "" && len(p.Rows) >= pathRows && (!p.fixed || p.Epochs > 1) && (p.seekL1 || p.path > 0 || p.chosen && p.dual())
}

// steep returns the least l1 with which all weights are 0: the largest mean slope of a feature where they are.
func (p *problem) steep() float64 {
	slope, buf := make([]float64, p.Features+1), make([]float32, p.Features)
	for _, r := range p.Rows {
		first := p.Weight.Weight(int(r)) * p.loss.Slope(0, float64(p.target[r]))
		slope[p.Features] += first * float64(p.bias)
		if p.Dense {
			p.Scale.Apply(p.Src.Vector(int(r), buf), buf)
			for j, v := range buf {
				slope[j] += first * float64(v)
			}
			continue
		}
		index, value := p.Src.Entries(int(r))
		for k, j := range index {
			slope[j] += first * float64(value[k]*p.Scale.Factor[j])
		}
	}
	most := l2Least
	for _, s := range slope {
		most = max(most, math.Abs(s)/float64(len(p.Rows)))
	}
	return most
}

// take makes a strength that of the run, while rows are kept aside or not.
func (k *policy) take(strength float64) {
	if k.p.seekL1 {
		k.l1 = strength
	} else {
		k.l2 = max(l2Least, strength/k.p.trains(k.hold))
	}
	k.bound, k.sharp, k.taken = math.Inf(-1), sharpFirst, 0
}

// seek judges an epoch of a strength, and continues with the next. After the last strength, or half of the epochs that
// were asked for, it continues on all rows with the best.
func (k *policy) seek(epoch int, gap, objective float64, found tried) {
	if k.path.epochs++; k.path.epochs == 1 || objective < k.path.least {
		k.path.best, k.path.least = found, objective
	}
	late := k.p.fixed && 2*(epoch+1) > k.p.Epochs
	near, stay := pathGap, pathStay
	if k.path.given > 0 {
		near, stay = k.p.gap, givenStay
	}
	if gap > near && k.path.epochs < stay && !late {
		return
	}
	found = k.path.best
	if found.Strength = k.l2 * k.p.trains(true); k.p.seekL1 {
		found.Strength = k.l1
	}
	k.path.list, k.path.epochs = append(k.path.list, found), 0
	next, more := k.path.next()
	if k.hold = more && !late; !k.hold {
		next = k.path.chosen()
	}
	k.take(next)
}

func ones(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
