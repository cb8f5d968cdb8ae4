package frames

import (
	"fmt"
	"slices"

	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
	"bellows/data/internal/roles"
)

// Cells turns vectors of columns into rows.
//
// The caller fills in the roles of the columns: Uses for tables; for ratings and documents the numbering of ids and
// words.
type Cells struct {
	Keys   []string // of all columns
	Used   []bool   // which columns have vectors
	Uses   []lines.Use
	Width  int          // tables: number of values of a row
	Times  *lines.Times // nil: times are not wanted
	Weighs bool         // the column at Weight has the weights of rows
	Weight int
	Block  int32 // the number of the vectors, ascending

	Numerals *lines.Numerals // spellings of labels that are numbers; nil: not noted
	Missing  *missing.Rule   // which values are missing; nil: the default

	Words             *lines.Text // documents: the parser of their text; else nil
	Users, Items      *lines.IDs  // for ratings; else nil
	User, Item, Label int         // ratings: columns; Label is -1 if there is none
	Origin            float64     // ratings: what they are counted from

	Row  int // the row of a fault in the vectors
	text []byte
}

// Take appends the rows of some vectors, which belong to the used columns.
func (c *Cells) Take(vs []Vector, p *lines.Piece) *lines.Fault {
	rows, at := RowsOf(vs), c.columns(vs)
	if c.Weighs {
		left, kept, f := c.weights(vs, at[c.Weight], rows, p)
		if f != nil || kept != nil && len(kept) == 0 {
			return f
		}
		if rows, at = RowsOf(left), c.columns(left); kept != nil {
			defer func() { c.Row = kept[c.Row] }()
		}
		c.Row = 0
	}
	switch {
	case c.Words != nil:
		return c.documents(&vs[0], p)
	case c.Users != nil:
		return c.ratings(at, rows, p)
	}
	width := c.Width
	p.Label = slices.Grow(p.Label, rows)[:rows]
	p.Value = slices.Grow(p.Value, rows*width)[:rows*width]
	clear(p.Label)
	for k, v := range at {
		if v == nil {
			continue
		}
		if c.Times != nil && k == c.Times.At {
			if f := c.times(v, rows, p); f != nil {
				return f
			}
		}
		u := &c.Uses[k]
		var f *lines.Fault
		switch {
		case u.Kind == lines.UseLabel:
			f = c.labels(k, v, rows, u, p, "label")
		case u.Kind == lines.UseText:
			f = c.levels(k, v, rows, u.Levels, p.Value[u.Place:], width)
		case u.Kind == lines.UseNumber:
			f = c.numbers(k, v, rows, p.Value[u.Place:], width, u.Origin, p)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// columns returns the vector of each column, nil for an unused one. In columns of numbers, truth values become numbers.
func (c *Cells) columns(vs []Vector) []*Vector {
	at, next := make([]*Vector, len(c.Keys)), 0
	for k := range c.Keys {
		if c.Used[k] {
			at[k] = &vs[next]
			at[k].Truths = at[k].Truths && c.isText(k)
			next++
		}
	}
	return at
}

// isText reports whether the values of a column are text: ids, categories, or labels.
func (c *Cells) isText(k int) bool {
	if c.Users != nil {
		return k == c.User || k == c.Item
	}
	return c.Uses != nil && c.Uses[k].Levels != nil
}

// place returns the name of a column for messages.
func (c *Cells) place(k int) string { return " of column " + lines.Quote([]byte(c.Keys[k])) }

// numbers takes a column of numbers.
func (c *Cells) numbers(k int, v *Vector, rows int, to []float32, step int, origin float64,
	p *lines.Piece) *lines.Fault {
	if v.Text == nil {
		gone, bad := v.spread(to, step, origin)
		p.Missing += gone
		if c.Missing.Numeric() {
			p.Missing += c.remove(v, to, rows, step)
		}
		if bad < 0 {
			return nil
		}
		c.Row = bad
		return lines.BadNumber(0, v.Append(nil, bad), "value", c.place(k), "")
	}
	for i := range rows {
		field := v.Text[i]
		if v.Missing(i) || c.Missing.Number(field) {
			to[i*step] = lines.MissingValue
			p.Missing++
			continue
		}
		x, err := lines.Shifted(field, origin)
		if err != nil {
			c.Row = i
			f := lines.BadNumber(0, field, "value", c.place(k), "")
			if lines.IsPlain(c.Keys[k]) {
				f.How += "; or take the column as text with --categorical " + c.Keys[k] +
					", or leave it out with --ignore " + c.Keys[k]
			}
			return f
		}
		to[i*step] = x
	}
	return nil
}

// levels takes a column of text.
func (c *Cells) levels(k int, v *Vector, rows int, levels *lines.Levels, to []float32, step int) *lines.Fault {
	for i := range rows {
		c.text = v.Append(c.text[:0], i)
		x, ok := levels.Number(c.text)
		if !ok {
			c.Row = i
			return &lines.Fault{What: fmt.Sprintf("value %s%s is not printable UTF-8", lines.Quote(c.text), c.place(k)),
				How: "leave the column out with --ignore, or write it as text"}
		}
		to[i*step] = x
	}
	return nil
}

// labels takes labels, or ratings.
func (c *Cells) labels(k int, v *Vector, rows int, u *lines.Use, p *lines.Piece, noun string) *lines.Fault {
	to := p.Label
	for i := range rows {
		if v.Missing(i) {
			c.Row = i
			return lines.BadNumber(0, nil, noun, c.place(k), "")
		}
	}
	origin := c.Origin
	if u != nil {
		origin = u.Origin
	}
	if u != nil && u.Levels != nil {
		if f := c.missingLabels(k, v, rows); f != nil {
			return f
		}
		return c.levels(k, v, rows, u.Levels, to, 1)
	}
	if u != nil && c.Numerals != nil {
		c.note(v, rows, p)
	}
	if c.Missing.Numeric() {
		if f := c.missingTargets(k, v, rows); f != nil {
			return f
		}
	}
	if v.Text == nil {
		_, bad := v.spread(to, 1, origin)
		if bad < 0 {
			return nil
		}
		c.Row = bad
		return c.badLabel(v.Append(nil, bad), noun, k)
	}
	for i := range rows {
		x, err := lines.Shifted(v.Text[i], origin)
		if err != nil {
			c.Row = i
			return c.badLabel(v.Text[i], noun, k)
		}
		to[i] = x
	}
	return nil
}

// badLabel returns the fault of a label or a rating that is not a number or does not fit.
func (c *Cells) badLabel(field []byte, noun string, k int) *lines.Fault {
	f := lines.BadNumber(0, field, noun, c.place(k), "")
	if c.Uses != nil && lines.IsPlain(c.Keys[k]) {
		f.How = lines.TextLabels(f.How, c.Keys[k])
	}
	return f
}

// remove replaces numbers that stand for a missing value by NaN, and returns how many it replaced.
func (c *Cells) remove(v *Vector, to []float32, rows, step int) (gone int) {
	for i := range rows {
		if x := to[i*step]; x == x && c.missingNumber(v, i) {
			to[i*step] = lines.MissingValue
			gone++
		}
	}
	return gone
}

// missingTargets returns the fault of the first numeric label that stands for a missing value.
func (c *Cells) missingTargets(k int, v *Vector, rows int) *lines.Fault {
	for i := range rows {
		if v.Text != nil && c.Missing.Number(v.Text[i]) || v.Text == nil && c.missingNumber(v, i) {
			c.Row = i
			return lines.MissingLabel(v.Append(c.text[:0], i), c.place(k))
		}
	}
	return nil
}

// missingNumber reports whether the number of a row stands for a missing value.
func (c *Cells) missingNumber(v *Vector, row int) bool {
	if v.F32 != nil {
		return c.Missing.Value32(v.F32[row])
	}
	return c.Missing.Value(v.float(row))
}

// missingLabels returns the fault of the first text label that stands for a missing value.
func (c *Cells) missingLabels(k int, v *Vector, rows int) *lines.Fault {
	for i := range rows {
		if c.text = v.Append(c.text[:0], i); c.Missing.Text(c.text) {
			c.Row = i
			return lines.MissingLabel(c.text, c.place(k))
		}
	}
	return nil
}

// times takes the times of rows.
func (c *Cells) times(v *Vector, rows int, p *lines.Piece) *lines.Fault {
	for i := range rows {
		c.text = v.Append(c.text[:0], i)
		at, f := c.Times.Parse(c.text, 0)
		if f != nil {
			c.Row = i
			return f
		}
		p.Time = append(p.Time, at)
	}
	return nil
}

// ratings takes users, items and ratings.
func (c *Cells) ratings(at []*Vector, rows int, p *lines.Piece) *lines.Fault {
	var f *lines.Fault
	if p.Label = slices.Grow(p.Label, rows)[:rows]; c.Label >= 0 {
		if f = c.labels(c.Label, at[c.Label], rows, nil, p, "rating"); f != nil {
			return f
		}
	} else {
		clear(p.Label)
	}
	if p.User, f = c.ids(c.User, at[c.User], rows, c.Users, p.User, roles.All[0].Noun); f != nil {
		return f
	}
	if p.Item, f = c.ids(c.Item, at[c.Item], rows, c.Items, p.Item, roles.All[1].Noun); f != nil || c.Times == nil {
		return f
	}
	return c.times(at[c.Times.At], rows, p)
}

// ids numbers the ids of a column.
func (c *Cells) ids(k int, v *Vector, rows int, ids *lines.IDs, to []int32, noun string) ([]int32, *lines.Fault) {
	for i := range rows {
		c.text = v.Append(c.text[:0], i)
		at, ok := ids.Take(c.text, c.Block)
		switch {
		case len(c.text) == 0:
			c.Row = i
			return nil, &lines.Fault{What: "the " + noun + c.place(k) + " is missing",
				How: "fill it in, or leave the row out: missing values are not guessed"}
		case !ok && ids.IsMissing(c.text):
			c.Row = i
			return nil, lines.MissingID(c.text, noun)
		case !ok:
			c.Row = i
			return nil, &lines.Fault{What: fmt.Sprintf("the %s %s%s is not printable UTF-8", noun, lines.Quote(c.text),
				c.place(k)), How: "name another column, or write it as text"}
		}
		to = append(to, at)
	}
	return to, nil
}

// documents takes a column of text, one document per row, with the parser of lines of text.
func (c *Cells) documents(v *Vector, p *lines.Piece) *lines.Fault {
	if v.Text == nil {
		return &lines.Fault{What: "the column " + lines.Quote([]byte(c.Keys[0])) +
			" has numbers, and not the text of documents", How: "name the column of text with --text"}
	}
	c.Words.Block = c.Block
	for i := range v.Rows() {
		c.text = v.Append(c.text[:0], i)
		for k, b := range c.text {
			if b == '\n' {
				c.text[k] = ' '
			}
		}
		c.text = append(c.text, '\n')
		if f := c.Words.Parse(c.text, p); f != nil {
			c.Row = i
			return f
		}
	}
	return nil
}
