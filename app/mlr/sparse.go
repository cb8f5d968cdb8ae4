package mlr

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/progress"
	"bellows/vec"
)

// sparseUnit is the rows of a clock of a split; row i has those of Sparse.
//
// Where units use a small part of the tables, features are renumbered: table row rows[k] is feature k
// of the unit, and only these rows are pulled and pushed. The last of rows is the bias. Else rows is
// nil, and the unit works on whole tables, whose sums and copies then cost less than lists of rows.
//
// A table row that several splits use in a clock is led by the first of them, which alone pushes
// what is due to the row and not to the split: momentum, and l2 for the clocks since the row's last
// use. gap is that number of clocks where this split leads, else 0.
type sparseUnit struct {
	rows []bellows.RowID
	gap  []uint16
	examples.Sparse
	counting
	most []float32 // the longest step along the weighted gradient of each row
	bias float32   // factor of the bias's step: that of a feature of this mean square
}

// stepStable over the squared length of a row is the longest step along its gradient that brings its log-loss down, whose curvature is
// at most half of that square. The step that suits rows of the mean length throws the scores of rows with ten times as many features
// back and forth: on w8a the log-loss of test rows swung between 0.047 and 0.08 from epoch to epoch.
const stepStable = 4

// buildSparse decides how units work, and finds the last clock of an epoch in which each row of the tables is used: who leads a row, and since when, depends on all
// splits.
func (p *problem) buildSparse() {
	p.full = p.Src.Whole(p.Splits, func(split int) []int32 { return p.Visited(split, 0) })
	p.sparseUnits = make([]sparseUnit, p.Splits*p.Clocks)
	if !p.full && p.Meter.Err() == nil {
		p.LastUse = p.Src.LastUse(p.Splits, p.Clocks, p.Visited)
	}
}

// keepSparse lays out the units of some splits.
func (p *problem) keepSparse(splits []bellows.SplitID) {
	rows := int64(0)
	for _, s := range splits {
		rows += int64(len(app.Part(p.Rows, int(s), p.Splits)))
	}
	p.Meter.Begin(progress.Part{Doing: "laying out rows", Unit: "rows", Total: rows})
	app.ForEach(len(splits), func(i int) {
		number := p.renumberer()
		defer p.giveRenumberer(number)
		s := int(splits[i])
		for at := range p.Clocks {
			if p.Meter.Add(int64(len(p.Visited(s, at)))) != nil {
				return
			}
			p.sparseUnits[s*p.Clocks+at] = p.sparseUnit(p.training(), p.Visited(s, at), number)
		}
	})
	if !p.full && p.Meter.Err() == nil {
		p.lead(splits)
	}
}

// lead gives the rows of each clock to the first split that uses them, and counts the clocks since their last use, which reaches back into the epoch before. It
// tells the units of some splits, and walks over the rows of all others in the data.
func (p *problem) lead(splits []bellows.SplitID) {
	here := make([]bool, p.Splits)
	for _, s := range splits {
		here[s] = true
	}
	bias := p.Features
	last := append(slices.Clone(p.LastUse), int32(p.Clocks)) // clock of a row's last use plus 1, counted from the epoch before
	for at := range p.Clocks {
		now := int32(p.Clocks + at + 1)
		for s := range p.Splits {
			if here[s] {
				p.sparseUnits[s*p.Clocks+at].lead(last, now)
				continue
			}
			for _, r := range p.Visited(s, at) {
				index, _ := p.Src.Entries(int(r))
				for _, j := range index {
					last[j] = now
				}
			}
			last[bias] = now
		}
	}
}

// lead gives the unit the rows that no unit of the clock had before it.
func (u *sparseUnit) lead(last []int32, now int32) {
	for k, r := range u.rows {
		u.gap[k] = 0
		if last[r] != now {
			u.gap[k] = uint16(now - last[r])
			last[r] = now
		}
	}
}

// renumberer returns scratch for sparseUnit: nil where units work on whole tables.
func (p *problem) renumberer() *examples.Renumberer {
	if p.full {
		return nil
	}
	if n, ok := p.renumberers.Get().(*examples.Renumberer); ok {
		return n
	}
	return examples.NewRenumberer(p.Features)
}

// giveRenumberer takes scratch back.
func (p *problem) giveRenumberer(n *examples.Renumberer) {
	if n != nil {
		p.renumberers.Put(n)
	}
}

// sparseUnit lays rows out, with their features renumbered unless number is nil.
func (p *problem) sparseUnit(s seen, rows []int32, number *examples.Renumberer) sparseUnit {
	u := sparseUnit{Sparse: p.LaySparse(s.Source, rows), bias: float32(p.Scale.Bias), most: make([]float32, len(rows))}
	u.class = make([]int32, 0, len(rows))
	u.pick(s, rows)
	for i := range rows {
		square := u.bias
		_, value := u.Entries(i)
		for _, v := range value {
			square += float32(v * v)
		}
		u.most[i] = stepStable / (square * float32(u.weight.Weight(i)))
	}
	if number != nil {
		u.rows = number.Renumber(u.Index)
		u.gap = make([]uint16, len(u.rows))
	}
	return u
}

// logits sets z to the scores of row i under the unit's weights.
func (u *sparseUnit) logits(w []float32, i int, z []float32) {
	width := len(z)
	copy(z, w[len(w)-width:])
	index, value := u.Entries(i)
	if width == 2 {
		z[0], z[1] = twoLogits(z[0], z[1], index, value, w)
		return
	}
	for k, j := range index {
		addTo(value[k], w[int(j)*width:int(j)*width+width], z)
	}
}

// add adds rate times the gradient of row i, whose residuals are z, to w.
func (u *sparseUnit) add(w []float32, i int, z []float32, rate float32) {
	width := len(z)
	addTo(rate*u.bias, z, w[len(w)-width:])
	index, value := u.Entries(i)
	if width == 2 {
		twoAdd(rate*z[0], rate*z[1], index, value, w)
		return
	}
	for k, j := range index {
		addTo(rate*value[k], z, w[int(j)*width:int(j)*width+width])
	}
}

// walk takes local steps over the unit's rows, changing w; the first batch visited is start. All
// steps shrink the weights by l2 together, at the end.
func (u *sparseUnit) walk(w []float32, s *scratch, step, l2 float64, batch, start int) {
	width, n := s.width, len(u.class)
	batches := (n + batch - 1) / batch
	for i := range batches {
		b := (start + i) % batches
		lo, hi := app.Share(n, b, batches), app.Share(n, b+1, batches)
		z := s.z[:(hi-lo)*width]
		for r := lo; r < hi; r++ {
			u.logits(w, r, z[(r-lo)*width:(r-lo+1)*width])
		}
		s.tally.residuals(z, u.part(lo, hi))
		rate := float32(-step / float64(hi-lo))
		for r := lo; r < hi; r++ {
			u.add(w, r, z[(r-lo)*width:(r-lo+1)*width], max(rate, -u.most[r]))
		}
	}
	if l2 > 0 {
		vec.Scale(float32(math.Exp(-step*l2*float64(batches))), w[:len(w)-width])
	}
}

// gradient adds rate times the sum of the rows' gradients at w to g.
func (u *sparseUnit) gradient(w, g []float32, s *scratch, rate float32) {
	z := s.z[:s.width]
	for r := range u.class {
		u.logits(w, r, z)
		s.tally.residuals(z, u.part(r, r+1))
		u.add(g, r, z, rate)
	}
}

// kernelWidth is the row from which the vector kernel beats a loop that the compiler inlines.
const kernelWidth = 12

// addTo adds alpha times x to y.
func addTo(alpha float32, x, y []float32) {
	if len(x) >= kernelWidth {
		vec.Axpy(alpha, x, y)
		return
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

// twoLogits and twoAdd are the loops of two classes, with the row in registers.
func twoLogits(z0, z1 float32, index []int32, value, w []float32) (float32, float32) {
	value = value[:len(index)]
	for k, j := range index {
		pair := w[2*j : 2*j+2 : 2*j+2]
		z0 += float32(value[k] * pair[0])
		z1 += float32(value[k] * pair[1])
	}
	return z0, z1
}

func twoAdd(d0, d1 float32, index []int32, value, w []float32) {
	value = value[:len(index)]
	for k, j := range index {
		pair := w[2*j : 2*j+2 : 2*j+2]
		pair[0] += float32(value[k] * d0)
		pair[1] += float32(value[k] * d1)
	}
}
