package columns

import "slices"

// Rows is rows of features, dense ones or sparse ones: row r has Dense[r*Features:(r+1)*Features], or Index and Value
// from Offset[r] to
// Offset[r+1]-1. A place is one in Dense, or in Value.
type Rows struct {
	Features int
	Dense    []float32
	Offset   []int64
	Index    []int32
	Value    []float32
	Weight   []float32 // how much each row counts in means; nil: 1
}

// values are all values, by their places.
func (r *Rows) values() []float32 {
	if r.Offset != nil {
		return r.Value
	}
	return r.Dense
}

// count is the number of rows.
func (r *Rows) count() int {
	if r.Offset != nil {
		return len(r.Offset) - 1
	}
	return len(r.Dense) / max(1, r.Features)
}

// span is the places of a row.
func (r *Rows) span(row int) (from, to int) {
	if r.Offset != nil {
		return int(r.Offset[row]), int(r.Offset[row+1])
	}
	return row * r.Features, (row + 1) * r.Features
}

// feature is that of a place in a row whose places begin at from.
func (r *Rows) feature(place, from int) int {
	if r.Offset != nil {
		return int(r.Index[place])
	}
	return place - from
}

// Means is the mean of each feature over the rows that counted says, without the values at the gaps, which are places,
// ascending. It is 0 where
// no row has one.
func (r *Rows) Means(gaps []int64, counted func(row int) bool) []float32 {
	sums, counts, values := make([]float64, r.Features), make([]float64, r.Features), r.values()
	for row := range r.count() {
		from, to := r.span(row)
		with, weight := counted(row), 1.0
		if r.Weight != nil {
			weight = float64(r.Weight[row])
		}
		for place := from; place < to; place++ {
			if len(gaps) > 0 && gaps[0] == int64(place) {
				gaps = gaps[1:]
			} else if with {
				j := r.feature(place, from)
				sums[j] += weight * float64(values[place])
				counts[j] += weight
			}
		}
	}
	means := make([]float32, r.Features)
	for j := range means {
		means[j] = float32(mean(sums[j], counts[j]))
	}
	return means
}

// mean is a sum divided by what was counted, 0 where that is nothing.
func mean(sum, count float64) float64 {
	if count == 0 {
		return 0
	}
	return sum / count
}

// Fill writes the value of each gap's feature.
func (r *Rows) Fill(gaps []int64, by []float32) {
	values := r.values()
	for row := 0; len(gaps) > 0; row++ {
		from, to := r.span(row)
		for ; len(gaps) > 0 && gaps[0] < int64(to); gaps = gaps[1:] {
			values[gaps[0]] = by[r.feature(int(gaps[0]), from)]
		}
	}
}

// Gaps is where values are missing: the places of those that are NaN.
func (r *Rows) Gaps() (gaps []int64) {
	for place, v := range r.values() {
		if v != v {
			gaps = append(gaps, int64(place))
		}
	}
	return gaps
}

// Picked is where gaps come to lie when rows are copied, in the order given.
func (r *Rows) Picked(gaps []int64, rows []int32) (moved []int64) {
	if len(gaps) == 0 {
		return nil
	}
	at := int64(0)
	for _, row := range rows {
		from, to := r.span(int(row))
		for k, _ := slices.BinarySearch(gaps, int64(from)); k < len(gaps) && gaps[k] < int64(to); k++ {
			moved = append(moved, at+gaps[k]-int64(from))
		}
		at += int64(to - from)
	}
	return moved
}

// Lacking returns the places of the columns that have missing values, ascending, where gaps are the places of missing
// numbers. Columns of hashed text are always among them: a hash does not show it.
func (r *Rows) Lacking(columns []Column, gaps []int64) []int {
	owner := make([]int, 0, r.Features) // the column of each feature
	lacks := make([]bool, len(columns))
	for j := range columns {
		c := &columns[j]
		owner = append(owner, slices.Repeat([]int{j}, c.Width())...)
		lacks[j] = c.Buckets > 0 || slices.Contains(c.Levels, "")
	}
	for row := 0; len(gaps) > 0; row++ {
		from, to := r.span(row)
		for ; len(gaps) > 0 && gaps[0] < int64(to); gaps = gaps[1:] {
			lacks[owner[r.feature(int(gaps[0]), from)]] = true
		}
	}
	places := []int{}
	for j, is := range lacks {
		if is {
			places = append(places, j)
		}
	}
	return places
}

// Fills is what a missing value of each feature becomes: the Fill of the columns of numbers.
func Fills(columns []Column) []float32 {
	var fills []float32
	for i := range columns {
		c := &columns[i]
		if c.Fill != nil && !c.Text() {
			fills = append(fills, *c.Fill)
		} else {
			fills = append(fills, make([]float32, c.Width())...)
		}
	}
	return fills
}

// Filled is the columns with what a missing value of each feature becomes, but for those that keep theirs.
func Filled(columns []Column, fills []float32, keeps func(i int) bool) []Column {
	out, first := slices.Clone(columns), 0
	for i := range out {
		c := &out[i]
		if !c.Text() && (c.Fill == nil || !keeps(i)) {
			c.Fill = new(fills[first])
		}
		first += c.Width()
	}
	return out
}
