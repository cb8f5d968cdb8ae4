package mlr

import (
	"bellows/app"
	"bellows/train"
	"bellows/vec"
)

// scoreUnit is rows that a split scores at the end of every epoch.
type scoreUnit struct {
	src    seen
	rows   []int32
	dense  denseUnit
	sparse sparseUnit
	kept   []float32 // by row and class: what weights add that training leaves as they were (warm.kept); nil: nothing
}

// newScoreUnit lays rows out for scoring. Dense rows are kept scaled if training rows are.
func (p *problem) newScoreUnit(s seen, rows []int32) scoreUnit {
	u := scoreUnit{src: s, rows: rows, kept: p.warm.kept(p, s.Source, rows)}
	switch {
	case len(rows) == 0:
	case !p.Dense:
		number := p.renumberer()
		u.sparse = p.sparseUnit(s, rows, number)
		p.giveRenumberer(number)
	case len(p.denseUnits) > 0:
		p.fill(&u.dense, s, rows)
	}
	return u
}

// score counts the unit's rows under the current weights.
func (e *executor) score(t *train.Task, u *scoreUnit) {
	e.tally.reset()
	switch {
	case len(u.rows) == 0:
	case e.p.Dense:
		e.scoreDense(e.pull(t, nil), u)
	case e.p.full:
		e.scoreSparse(e.pull(t, nil), u)
	default:
		e.scoreSparse(e.pull(t, u.sparse.rows), u)
	}
}

func (e *executor) scoreSparse(w []float32, u *scoreUnit) {
	z := e.z[:e.width]
	for i := range u.sparse.class {
		u.sparse.logits(w, i, z)
		u.addKept(i, z)
		e.tally.scores(z, u.sparse.part(i, i+1))
	}
}

// addKept adds to the scores of rows, of which the first is given, what is kept.
func (u *scoreUnit) addKept(first int, z []float32) {
	if u.kept == nil {
		return
	}
	width := len(u.kept) / len(u.rows)
	addTo(1, u.kept[first*width:first*width+len(z)], z)
}

func (e *executor) scoreDense(w []float32, u *scoreUnit) {
	for lo := 0; lo < len(u.rows); lo += batchMost {
		hi := min(len(u.rows), lo+batchMost)
		unit, first := &u.dense, lo
		if len(unit.class) == 0 {
			unit, first = &e.unit, 0
			e.p.fill(unit, u.src, u.rows[lo:hi])
		}
		z := e.z[:(hi-lo)*e.width]
		unit.logits(w, e.width, first, first+hi-lo, z)
		u.addKept(lo, z)
		e.tally.scores(z, unit.part(first, first+hi-lo))
	}
}

// squares returns the split's share of the squared weights, the bias left out. Charged steps measure it themselves,
// beside sizes.
func (e *executor) squares(t *train.Task, split int) float64 {
	if e.p.charges {
		return 0
	}
	lo, hi := app.Share(e.p.Features, split, e.p.Splits), app.Share(e.p.Features, split+1, e.p.Splits)
	if lo == hi {
		return 0
	}
	return float64(vec.SumSquares(t.PullRange(weightsTable, row(lo), row(hi))))
}
