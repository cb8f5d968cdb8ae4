package examples

import (
	"math"
	"slices"
)

// Bounds of what curves remember: of all of them together, and of each at least; and of the rows that one has not looked at yet.
const (
	curvesBytes = 192 << 20
	stepsLeast  = 1 << 12
	latestMost  = 1 << 16
)

// curve is the ROC curve of one class against the others (Fawcett 2006, "An introduction to ROC analysis"), as the rows
// at each probability that occurred. If more occur than may be stored, neighbours that differ only in the last bits are
// merged, as if they were ties.
//
// Invariant: steps ascend, and dropped is the smallest number of bits with which all rows so far have at most `most`
// steps. So neither depends on the order of rows, nor on when the latest were merged (TestCurvesForgetTheOrder).
type curve struct {
	steps   []step
	latest  []uint64  // rows: the bits of a chance, below them whether it is one of the class, and below that its place here
	weights []float64 // of them
	dropped int       // last places that are not told apart
	most    int       // steps
	scratch *[]step   // for all curves
}

// step is the rows with one chance, by their weights.
type step struct {
	bits        uint32
	own, others float64
}

// ofClass marks a row of the class among the latest, whose places are below it.
const ofClass = 1 << 31

const stepBytes = 24

func newCurves(classes int) []curve {
	out, scratch := make([]curve, classes), new([]step)
	for k := range out {
		out[k] = curve{most: max(stepsLeast, curvesBytes/stepBytes/max(1, classes)), scratch: scratch}
	}
	return out
}

// add adds a row with its weight. The bits of a number that is not negative sort as it does, with those of the others, turned round, below them.
func (c *curve) add(chance float32, own bool, weight float64) {
	bits := math.Float32bits(chance+0) ^ 1<<31 // what is -0 is 0
	if chance < 0 {
		bits = ^math.Float32bits(chance)
	}
	row := uint64(bits)<<32 | uint64(len(c.latest))
	if own {
		row |= ofClass
	}
	c.weights = append(c.weights, weight)
	if c.latest = append(c.latest, row); len(c.latest) >= min(latestMost, c.most) {
		c.look()
	}
}

// look makes steps of the latest rows.
func (c *curve) look() {
	slices.Sort(c.latest)
	out, steps := (*c.scratch)[:0], c.steps
	for _, row := range c.latest {
		bits := uint32(row>>32) >> c.dropped
		for len(steps) > 0 && steps[0].bits <= bits {
			out, steps = append(out, steps[0]), steps[1:]
		}
		if len(out) == 0 || out[len(out)-1].bits != bits {
			out = append(out, step{bits: bits})
		}
		last := &out[len(out)-1]
		if weight := c.weights[row&(ofClass-1)]; row&ofClass != 0 {
			last.own += weight
		} else {
			last.others += weight
		}
	}
	out = append(out, steps...)
	c.latest, c.weights, *c.scratch = c.latest[:0], c.weights[:0], out
	for len(out) > c.most {
		c.dropped++
		kept := out[:0]
		for _, s := range out {
			if s.bits >>= 1; len(kept) > 0 && kept[len(kept)-1].bits == s.bits {
				last := &kept[len(kept)-1]
				last.own, last.others = last.own+s.own, last.others+s.others
			} else {
				kept = append(kept, s)
			}
		}
		out = kept
	}
	c.steps = append(c.steps[:0], out...)
}

// area returns the area under the curve: each row of the class counts the others below it, and half of those with its
// probability. Its error is at most off, which is 0 if no probabilities were merged. It is NaN if all rows are of the
// class, or none.
func (c *curve) area() (area, off float64) {
	c.look()
	var below, rows, tied float64
	for _, s := range c.steps {
		own, others := s.own, s.others
		area += own * (below + others/2)
		tied += own * others / 2
		below, rows = below+others, rows+own
	}
	if rows == 0 || below == 0 {
		return math.NaN(), 0
	}
	if c.dropped > 0 {
		off = tied / (rows * below)
	}
	return area / (rows * below), off
}
