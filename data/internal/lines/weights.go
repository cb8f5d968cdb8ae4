package lines

import (
	"bytes"
	"fmt"

	"bellows/data/internal/missing"
)

// The bounds of a weight. A weight is 0, which leaves the row out, or from weightLeast to weightMost, so that sums and
// products of weights are far from the bounds of 32-bit floats.
const (
	weightLeast = 1e-9
	weightMost  = 1e9
)

// weightBounds says, in hints, which weights are allowed.
var weightBounds = fmt.Sprintf("a weight is from %g to %g, or 0, which leaves the row out", weightLeast, float64(weightMost))

// WeightOf returns a field as a weight. at is its position; noun and place name it in messages.
func WeightOf(field []byte, at int, noun, place string) (float32, *Fault) {
	if missing.Default.Number(field) {
		return 0, &Fault{At: at, Width: max(1, len(field)), What: noun + place + " is missing", How: "give every row its weight, 1 for those that are like others; " + weightBounds}
	}
	w, err := Number(field)
	if err != nil {
		f := BadNumber(at, field, noun, place, "")
		if err != ErrNotNumber || f.How == decimal {
			f.How = weightBounds
		}
		return 0, f
	}
	size := float64(w)
	if w == weightMost || w == weightLeast { // it may be rounded to the bound
		size, _ = Number64(field)
	}
	f := &Fault{At: at, Width: len(field), How: weightBounds}
	switch zero := w == 0 && !bytes.ContainsAny(mantissa(field), "123456789"); {
	case w < 0 || field[0] == '-' && !zero:
		f.What = fmt.Sprintf("%s %s%s is negative", noun, Quote(field), place)
	case size > weightMost:
		f.What = fmt.Sprintf("%s %s%s is too large", noun, Quote(field), place)
	case size < weightLeast && !zero:
		f.What = fmt.Sprintf("%s %s%s is too small", noun, Quote(field), place)
	default:
		return w + 0, nil // no -0
	}
	return 0, f
}

// mantissa returns the part of a number before its exponent.
func mantissa(field []byte) []byte {
	if at := bytes.IndexAny(field, "eE"); at >= 0 {
		return field[:at]
	}
	return field
}

// weigh notes the weight of the next row. While all weights are 1 the piece has none.
func (p *Piece) weigh(w float32) {
	if w == 1 && len(p.Weight) == 0 {
		return
	}
	for len(p.Weight) < len(p.Label) {
		p.Weight = append(p.Weight, 1)
	}
	p.Weight = append(p.Weight, w)
}

// readWeight reads the row's weight before the rest is parsed, so that a row that is left out adds no value of text. Of
// such a row only the number of fields is checked. next is the position after a row that is left out, else 0.
func (l *Mixed) readWeight(text []byte, i int) (weight float32, next int, f *Fault) {
	start := i
	for column := 0; ; column++ {
		if text[i] == ' ' {
			i = skipBlanks(text, i, l.Separator)
		}
		field, end, f := cutField(text, i, string(l.Separator))
		if f != nil {
			return 0, 0, f
		}
		if column == l.Weight {
			at := i
			if text[i] == '"' {
				at++
			}
			if weight, f = WeightOf(field, at, "weight", l.place(column)); f != nil {
				if other := l.otherRow(text, i); other != nil {
					f = other
				}
				return 0, 0, f
			}
			if weight > 0 {
				return weight, 0, nil
			}
		}
		next, ended, f := l.after(text, start, end, column)
		switch {
		case f != nil && column < l.Weight:
			return 1, 0, nil // another number of fields is reported later
		case f != nil:
			return 0, 0, f
		case ended:
			return 0, next, nil
		}
		i = next
	}
}
