package mlr

import (
	"slices"

	"bellows"
	"bellows/app"
	"bellows/progress"
	"bellows/vec"
)

// denseUnit is rows scaled and laid out for the matrix kernels: x is rows times features.
type denseUnit struct {
	counting
	x      []float32
	square []float32 // the squared length of each row, for local steps
}

// keepDense keeps the scaled rows of the splits' units, if all units' are not too many.
func (p *problem) keepDense(splits []bellows.SplitID) {
	if int64(len(p.Rows))*int64(p.Features)*4 > keptBytes {
		return
	}
	if p.denseUnits == nil {
		p.denseUnits = make([]denseUnit, p.Splits*p.Clocks)
	}
	p.Meter.Begin(progress.Part{Doing: "scaling rows", Total: int64(len(splits) * p.Clocks)})
	app.ForEach(len(splits)*p.Clocks, func(i int) {
		if p.Meter.Add(1) != nil {
			return
		}
		split, at := int(splits[i/p.Clocks]), i%p.Clocks
		p.fillVisited(&p.denseUnits[split*p.Clocks+at], split, at)
	})
}

// fill scales the rows into the unit, reusing its memory.
func (p *problem) fill(u *denseUnit, s seen, rows []int32) {
	f := p.Features
	if need := len(rows) * f; cap(u.x) < need {
		u.x = make([]float32, need)
	}
	u.x = u.x[:len(rows)*f]
	u.pick(s, rows)
	p.LayDense(u.x, s.Source, rows)
}

// fillVisited fills the unit with what a split visits in a clock.
func (p *problem) fillVisited(u *denseUnit, split, at int) {
	p.fill(u, p.training(), p.Visited(split, at))
	if p.rule == ruleAverage {
		u.measure(p.Features)
	}
}

// measure keeps the length of each row, so that steps do not read the rows once more for it.
func (u *denseUnit) measure(features int) {
	u.square = slices.Grow(u.square[:0], len(u.class))
	for i := range u.class {
		u.square = append(u.square, vec.SumSquares(u.x[i*features:(i+1)*features]))
	}
}

// denseUnit returns what the split visits in a clock; scratch holds it where units are not kept.
func (p *problem) denseUnit(split, at int, scratch *denseUnit) *denseUnit {
	if len(p.denseUnits) > 0 {
		return &p.denseUnits[split*p.Clocks+at]
	}
	p.fillVisited(scratch, split, at)
	return scratch
}

// logits sets z to the scores of rows lo to hi-1: x W + b.
func (u *denseUnit) logits(w []float32, width, lo, hi int, z []float32) {
	f := len(w)/width - 1
	for i := range hi - lo {
		copy(z[i*width:(i+1)*width], w[f*width:])
	}
	vec.GemmNN(hi-lo, width, f, 1, u.x[lo*f:hi*f], f, w, width, 1, z, width)
}

// walk takes local steps over the unit's rows, changing w. The batches are near equal; the first
// one visited is start.
func (u *denseUnit) walk(w []float32, s *scratch, step, l2 float64, batch, start int) {
	width, n := s.width, len(u.class)
	f := len(w)/width - 1
	batches := (n + batch - 1) / batch
	for i := range batches {
		b := (start + i) % batches
		lo, hi := app.Share(n, b, batches), app.Share(n, b+1, batches)
		z := s.z[:(hi-lo)*width]
		u.logits(w, width, lo, hi, z)
		s.tally.residuals(z, u.part(lo, hi))
		rate := float32(step / float64(hi-lo))
		u.hold(z, lo, hi, rate)
		vec.GemmTN(f, width, hi-lo, -rate, u.x[lo*f:hi*f], f, z, width, float32(1-step*l2), w, width)
		for ; len(z) > 0; z = z[width:] {
			vec.Axpy(-rate, z[:width], w[f*width:])
		}
	}
}

// hold shortens the residuals of rows that a step of their own would throw too far: see stepStable.
func (u *denseUnit) hold(z []float32, lo, hi int, rate float32) {
	width := len(z) / (hi - lo)
	for i := lo; i < hi; i++ {
		if reach := rate * float32(u.weight.Weight(i)) * (1 + u.square[i]); reach > stepStable {
			vec.Scale(stepStable/reach, z[(i-lo)*width:(i-lo+1)*width])
		}
	}
}

// gradient adds rate times the sum of the rows' gradients at w to g.
func (u *denseUnit) gradient(w, g []float32, s *scratch, rate float32) {
	width, n := s.width, len(u.class)
	f := len(w)/width - 1
	for lo := 0; lo < n; lo += batchMost {
		hi := min(n, lo+batchMost)
		z := s.z[:(hi-lo)*width]
		u.logits(w, width, lo, hi, z)
		s.tally.residuals(z, u.part(lo, hi))
		vec.GemmTN(f, width, hi-lo, rate, u.x[lo*f:hi*f], f, z, width, 1, g, width)
		for ; len(z) > 0; z = z[width:] {
			vec.Axpy(rate, z[:width], g[f*width:])
		}
	}
}
