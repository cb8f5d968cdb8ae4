package columns

import "slices"

// Rows holds rows of features, dense or sparse: row r has Dense[r*Features:(r+1)*Features], or Index and Value from
// Offset[r] to Offset[r+1]-1. A place is an index into Dense, or into Value.
type Rows struct {
	Features int
	Dense    []float32
	Offset   []int64
	Index    []int32
	Value    []float32
	Weight   []float32 // the weight of each row in means; nil: 1
}

// values returns all values, by their places.
func (r *Rows) values() []float32 {
	if r.Offset != nil {
		return r.Value
	}
	return r.Dense
}

// count returns the number of rows.
func (r *Rows) count() int {
	if r.Offset != nil {
		return len(r.Offset) - 1
	}
	return len(r.Dense) / max(1, r.Features)
}

// span returns the places of a row.
func (r *Rows) span(row int) (from, to int) {
	if r.Offset != nil {
		return int(r.Offset[row]), int(r.Offset[row+1])
	}
	return row * r.Features, (row + 1) * r.Features
}

// feature returns the feature at a place. from is the first place of its row.
func (r *Rows) feature(place, from int) int {
	if r.Offset != nil {
		return int(r.Index[place])
	}
	return place - from
}

// FeatureMeans returns the mean of each feature over the rows for which counted returns true, without the values at the
// gaps, which are places, ascending. It is 0 if no row has a value.
func (r *Rows) FeatureMeans(gaps []int64, counted func(row int) bool) []float32 {
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
		means[j] = float32(divide(sums[j], counts[j]))
	}
	return means
}

// divide returns sum / count, or 0 if count is 0.
func divide(sum, count float64) float64 {
	if count == 0 {
		return 0
	}
	return sum / count
}

// Fill writes a value into each gap, by the gap's feature.
func (r *Rows) Fill(gaps []int64, by []float32) {
	values := r.values()
	for row := 0; len(gaps) > 0; row++ {
		from, to := r.span(row)
		for ; len(gaps) > 0 && gaps[0] < int64(to); gaps = gaps[1:] {
			values[gaps[0]] = by[r.feature(int(gaps[0]), from)]
		}
	}
}

// Gaps returns the places of missing values, which are NaN.
func (r *Rows) Gaps() (gaps []int64) {
	for place, v := range r.values() {
		if v != v {
			gaps = append(gaps, int64(place))
		}
	}
	return gaps
}

// PickGaps returns the new places of gaps after rows are copied in the given order.
func (r *Rows) PickGaps(gaps []int64, rows []int32) (moved []int64) {
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

// Lacking returns the positions of the columns with missing values, ascending. gaps are the places of missing numbers.
// Columns of hashed text are always included, because a hash does not show missing values.
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

// Fills returns the fill value of each feature. Only columns of numbers have one.
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

// Filled returns the columns with fill values, except for columns that keep theirs.
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
