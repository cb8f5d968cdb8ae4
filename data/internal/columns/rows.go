package columns

import (
	"fmt"
	"math"
	"slices"
)

// FillIn writes the mean of each column of numbers into its missing values, which are NaN, and returns their places,
// ascending. Columns of a model keep their means. A mean is that of the present values, weighted by the weights of rows
// (nil: 1), summed in order, and 0 if there are none.
func FillIn(values []float32, columns []Column, weight []float32) (gaps []int64) {
	rows := &Rows{Features: len(columns), Dense: values, Weight: weight}
	gaps = rows.Gaps()
	means, lacking := rows.FeatureMeans(gaps, func(int) bool { return true }), make([]bool, len(columns))
	for _, at := range gaps {
		lacking[at%int64(len(columns))] = true
	}
	fill := make([]float32, len(columns))
	for j := range columns {
		if columns[j].Fill == nil && !columns[j].Text() && lacking[j] {
			columns[j].Fill = new(means[j])
		}
		if columns[j].Fill != nil {
			fill[j] = *columns[j].Fill
		}
	}
	rows.Fill(gaps, fill)
	return gaps
}

// Sparse holds rows of features made from columns.
type Sparse struct {
	Rows
	Gaps    []int64 // where values were missing
	Unknown int64   // number of values of text that the columns do not know, which are left out
}

// Encode turns rows of columns into sparse rows of features. gaps are places in values.
func Encode(values []float32, columns []Column, gaps []int64) (s Sparse) {
	first := make([]int32, len(columns)) // first feature of each column
	for j := range columns {
		first[j] = int32(s.Features)
		s.Features += columns[j].Width()
	}
	width := len(columns)
	s.Offset = make([]int64, 1, len(values)/width+1)
	s.Index, s.Value = make([]int32, 0, len(values)), make([]float32, 0, len(values))
	for i := 0; i < len(values); i += width {
		for j, v := range values[i : i+width] {
			if len(gaps) > 0 && gaps[0] == int64(i+j) {
				gaps, s.Gaps = gaps[1:], append(s.Gaps, int64(len(s.Value)))
			}
			switch {
			case !columns[j].Text():
				s.Index, s.Value = append(s.Index, first[j]), append(s.Value, v)
			case v < 0:
				s.Unknown++
			default:
				s.Index, s.Value = append(s.Index, first[j]+int32(v)), append(s.Value, 1)
			}
		}
		s.Offset = append(s.Offset, int64(len(s.Index)))
	}
	return s
}

// Names returns the names of the features that columns become.
func Names(columns []Column) []string {
	var names []string
	for _, c := range columns {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("column %d", c.Number)
		}
		switch {
		case c.Buckets > 0:
			for b := range c.Buckets {
				names = append(names, fmt.Sprintf("%s#%d", name, b))
			}
		case c.Levels != nil:
			for _, level := range c.Levels {
				if level == "" {
					level = "(missing)"
				}
				names = append(names, name+"="+level)
			}
		default:
			names = append(names, name)
		}
	}
	return names
}

// Odd returns columns of numbers that are constant or count the rows, as flags name them.
func Odd(values []float32, columns []Column) (constant, counts []string) {
	width := len(columns)
	rows := len(values) / max(1, width)
	var same, counting []int
	for j, c := range columns {
		if !c.Text() && rows > 1 {
			same, counting = append(same, j), append(counting, j)
		}
	}
	for i := 1; i < rows && len(same)+len(counting) > 0; i++ {
		row, before := values[i*width:(i+1)*width], values[(i-1)*width:i*width]
		same = slices.DeleteFunc(same, func(j int) bool { return row[j] != before[j] })
		counting = slices.DeleteFunc(counting, func(j int) bool { return row[j] != before[j]+1 || row[j] > 1<<24 })
	}
	for _, j := range same {
		constant = append(constant, columns[j].Option())
	}
	for _, j := range counting {
		if rows >= countingLeast {
			counts = append(counts, columns[j].Option())
		}
	}
	return constant, counts
}

// countingLeast is the number of rows from which a column that counts them is not a coincidence.
const countingLeast = 10

// Few reports whether a feature of dense rows has several values, all of them whole numbers, each in five rows on
// average.
func Few(dense []float32, width, feature int) bool {
	seen := map[float32]bool{}
	for i := feature; i < len(dense); i += width {
		v := dense[i]
		if seen[v] = true; v != float32(math.Trunc(float64(v))) || 5*len(seen) > len(dense)/width {
			return false
		}
	}
	return len(seen) > 1
}
