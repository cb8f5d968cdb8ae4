package frames

import "bellows/data/internal/lines"

// weights takes the column of weights. Rows of weight 0 are not read further: it returns the vectors without them, and
// which rows are left, nil for all.
func (c *Cells) weights(vs []Vector, v *Vector, rows int, p *lines.Piece) (left []Vector, kept []int, f *lines.Fault) {
	some, weights := false, make([]float32, 0, rows)
	for i := range rows {
		c.text = v.Append(c.text[:0], i)
		w, f := lines.WeightOf(c.text, 0, "weight", c.place(c.Weight))
		if f != nil {
			c.Row = i
			return nil, nil, f
		}
		if w == 0 && kept == nil {
			kept = make([]int, 0, rows)
			for before := range i {
				kept = append(kept, before)
			}
		}
		if w == 0 {
			continue
		}
		if kept != nil {
			kept = append(kept, i)
		}
		some = some || w != 1
		weights = append(weights, w)
	}
	if some {
		p.Weight = weights
	}
	if kept == nil {
		return vs, nil, nil
	}
	p.Weightless += rows - len(kept)
	for i := range vs {
		left = append(left, vs[i].picked(kept))
	}
	return left, kept, nil
}

// picked returns some rows of a vector.
func (v *Vector) picked(rows []int) Vector {
	return Vector{F32: pick(v.F32, rows), F64: pick(v.F64, rows), I64: pick(v.I64, rows), U64: pick(v.U64, rows),
		Wide: pick(v.Wide, rows), Text: pick(v.Text, rows),
		Scale: v.Scale, Truths: v.Truths, Null: pick(v.Null, rows)}
}

func pick[T any](from []T, rows []int) []T {
	if from == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = from[row]
	}
	return out
}
