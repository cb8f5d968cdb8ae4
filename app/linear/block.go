package linear

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/vec"
)

// block is scaled rows that a split visits in a clock, or scores at the end of an epoch: dense, or else Sparse.
//
// Where sparse blocks use a small part of the tables, features are renumbered: table row rows[k] is feature k of the block, and only these are pulled and
// pushed. The last of rows is the bias. Else rows is nil, and the block works on whole tables.
//
// Splits step at once from the same sums. If k of them use a feature in the clock, each steps as if the other k-1
// changed its sum as the split does itself: share is k. For each feature the objective of the sum of all changes is
// then at least the mean of the objectives that the splits have reached alone, since it is concave (Jensen). So a clock
// never lowers the dual objective, however features are shared. With share = the number of splits everywhere this is
// CoCoA+ with adding (Ma et al. 2015, "Adding vs. averaging in distributed primal-dual optimization"); rare features
// have less.
type block struct {
	first int // place of the first row among all training rows
	rows  []bellows.RowID
	x     []float32 // dense rows, one after the other
	examples.Sparse
	target []float32
	alone  bool      // all shares are 1
	share  []float32 // by feature of the block, the bias last
	// by feature of the block, of first-order steps on rows of their own: what the split charges
	due    []float32
	weight examples.RowWeights // of each row in the objective
	count  examples.RowWeights // of each row in figures that are shown
	square []float32           // by row: its weight times the squares of its features, each times its share
}

// block lays rows out, with their features renumbered unless number is nil.
func (p *problem) block(s seen, rows []int32, at int, number *examples.Renumberer) block {
	u := block{target: make([]float32, len(rows)), weight: s.weight.Pick(nil, rows), count: s.count.Pick(nil, rows)}
	for i, r := range rows {
		u.target[i] = s.target[r]
	}
	if p.Dense {
		p.fillDense(&u, s.Source, rows)
	} else {
		p.fillSparse(&u, s.Source, rows, at, number)
	}
	if p.dual() {
		u.alone, u.square = p.lone, make([]float32, len(rows))
		p.fillSquares(&u, 0, len(rows))
	}
	return u
}

// fillSquares fills in the squares of some rows of a block.
func (p *problem) fillSquares(u *block, from, to int) {
	own := u.share[len(u.share)-1] * p.bias * p.bias
	for i := from; i < to; i++ {
		weight := float32(u.weight.Weight(i))
		if p.Dense {
			u.square[i] = weight * (own + u.share[0]*vec.SumSquares(u.row(i, p.Features)))
			continue
		}
		sum := own
		index, value := u.Entries(i)
		if u.alone {
			for _, v := range value {
				sum += float32(v * v)
			}
		} else {
			for k, j := range index {
				sum += float32(u.share[j] * float32(value[k]*value[k]))
			}
		}
		u.square[i] = weight * sum
	}
}

// layAll lays out the training rows of all splits, for the first to ascend over alone. The blocks that the others
// measure are views of it.
func (p *problem) layAll() {
	n := len(p.Rows)
	u := block{target: make([]float32, n), square: make([]float32, n), share: slices.Repeat([]float32{1}, p.Features+1), alone: true,
		weight: p.Weight.Pick(nil, p.Rows), count: p.Count.Pick(nil, p.Rows)}
	if p.Dense {
		u.x = make([]float32, n*p.Features)
	} else {
		u.Sparse = examples.NewSparse(p.Src, p.Rows)
	}
	app.ForEach(layParts, func(i int) {
		if p.Meter.Err() != nil {
			return
		}
		lo, hi := app.Share(n, i, layParts), app.Share(n, i+1, layParts)
		for k, r := range p.Rows[lo:hi] {
			u.target[lo+k] = p.target[r]
			if p.Dense {
				dst := u.row(lo+k, p.Features)
				p.Scale.Apply(p.Src.Vector(int(r), dst), dst)
			} else {
				p.LayRow(&u.Sparse, lo+k, p.Src, r)
			}
		}
		p.fillSquares(&u, lo, hi)
	})
	p.all = u
}

// layParts is how many pieces of the rows of all are laid out at once.
const layParts = 64

// view returns some rows of a block that has all features.
func (u *block) view(from, to, features int) block {
	v := *u
	v.first, v.target, v.square = from, u.target[from:to:to], u.square[from:to:to]
	v.weight, v.count = u.weight.Part(from, to), u.count.Part(from, to)
	if u.Offset == nil {
		v.x = u.x[from*features : to*features : to*features]
	} else {
		v.Offset = u.Offset[from : to+1 : to+1]
	}
	return v
}

func (p *problem) fillDense(u *block, s examples.Source, rows []int32) {
	u.x, u.share = make([]float32, len(rows)*p.Features), slices.Repeat([]float32{float32(p.sharers())}, p.Features+1)
	p.LayDense(u.x, s, rows)
}

func (p *problem) fillSparse(u *block, s examples.Source, rows []int32, at int, number *examples.Renumberer) {
	u.Sparse = p.LaySparse(s, rows)
	if number != nil && !p.dual() {
		u.rows = number.Renumber(u.Index)
	}
	if !p.dual() {
		return
	}
	if u.share = p.all.share; p.lone && u.share == nil {
		u.share = slices.Repeat([]float32{1}, p.Features+1)
	}
	if p.lone {
		return
	}
	sharing := p.sharing[at]
	if number == nil {
		for _, n := range sharing {
			u.share = append(u.share, float32(max(1, n)))
		}
		u.share = append(u.share, float32(p.Splits))
		return
	}
	u.rows = number.Renumber(u.Index)
	for _, j := range u.rows[:len(u.rows)-1] {
		u.share = append(u.share, float32(max(1, sharing[j])))
	}
	u.share = append(u.share, float32(p.Splits))
}

// sharers returns how many splits step at once.
func (p *problem) sharers() int {
	if p.lone {
		return 1
	}
	return p.Splits
}

// row returns dense row i.
func (u *block) row(i, features int) []float32 { return u.x[i*features : (i+1)*features] }

// penalty is what weights cost, and so how they come from sums: weight = soft(sum, threshold) * factor, where soft takes the threshold off the size.
type penalty struct {
	factor    float64 // 1/(l2 rows)
	threshold float32 // l1 rows
}

func (e penalty) soft(sum float32) float32 {
	return float32(math.Copysign(float64(max(0, abs(sum)-e.threshold)), float64(sum)))
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// score returns row i's score under sums; the last sum is the bias's.
func (u *block) score(sums []float32, i int, bias float32, by penalty) float64 {
	return u.scoreAhead(sums, i, bias, by, 0)
}

// scoreAhead works like score, and fetches the entries of the row that lies so many entries ahead.
func (u *block) scoreAhead(sums []float32, i int, bias float32, by penalty, ahead int) float64 {
	last := len(sums) - 1
	if by.threshold > 0 {
		return by.factor * (float64(bias*by.soft(sums[last])) + u.softScore(sums[:last], i, by))
	}
	own := float64(bias * sums[last])
	if u.Offset == nil {
		return by.factor * (own + float64(vec.Dot(u.row(i, last), sums[:last])))
	}
	index, value := u.Entries(i)
	return by.factor * (own + float64(vec.SparseDotAhead(index, value, sums, ahead)))
}

func (u *block) softScore(sums []float32, i int, by penalty) (sum float64) {
	if u.Offset == nil {
		for j, x := range u.row(i, len(sums)) {
			sum += float64(x * by.soft(sums[j]))
		}
		return sum
	}
	index, value := u.Entries(i)
	for k, j := range index {
		sum += float64(value[k] * by.soft(sums[j]))
	}
	return sum
}

// step changes sums as a change of row i's dual variable does, each feature as often as it is shared.
func (u *block) step(sums []float32, i int, bias, change float32) {
	last := len(sums) - 1
	sums[last] += float32(u.share[last] * float32(change*bias))
	if u.Offset == nil {
		vec.Axpy(u.share[0]*change, u.row(i, last), sums[:last])
		return
	}
	index, value := u.Entries(i)
	if u.alone {
		vec.SparseAxpy(change, index, value, sums)
		return
	}
	for k, j := range index {
		sums[j] += float32(u.share[j] * float32(change*value[k]))
	}
}
