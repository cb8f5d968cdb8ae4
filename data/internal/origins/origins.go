// Package origins chooses the origin of columns that lie far from 0, so that differences between rows fit into 32-bit
// floats. Examples are milliseconds since 1970, survey coordinates, and prices in cents.
//
// The caller's duties, in order: Add values of the first rows to a Sample of each column; ask Choose; read the values
// less the origin, by the difference in 64 bits.
//
// The choice also holds for rows beyond the sample. An origin lies within the values of the column. A column without
// one has values that are not far from 0 beside their spread. In both cases no stored number is more than 17 times the
// column's range. So rounding it to 32 bits costs at most a millionth of the range.
//
// The package refuses to move a column that 32 bits hold as it is: whole numbers up to about a million.
package origins

import (
	"math"
	"slices"
)

// The rule. far is how many times the spread a column's middle is from 0 for it to have an origin: below it, 32 bits
// tell the rows apart by a millionth of the spread. exact is the size up to which whole numbers are left alone. most is
// the values that a Sample keeps.
const (
	far   = 16
	exact = 1 << 20
	most  = 256
)

// Coarse is the part of its spread that a column may lose before it is warned of.
const Coarse = 1e-6

// Sample is values of a column. The zero value is one without any.
type Sample struct {
	values []float64
	broken bool // some are not whole
}

// Full reports whether the sample takes no more values.
func (s *Sample) Full() bool { return len(s.values) >= most }

// Add takes a finite value.
func (s *Sample) Add(v float64) {
	if s.Full() {
		return
	}
	s.values = append(s.values, v)
	s.broken = s.broken || v != math.Trunc(v)
}

// Choose returns the number that the column is to be counted from, 0 where it stays as it is, and the part of its
// spread that 64 bits cannot hold.
func (s *Sample) Choose() (origin, loss float64) {
	if len(s.values) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(s.values))
	least, largest := sorted[0], sorted[len(sorted)-1]
	size := max(math.Abs(least), math.Abs(largest))
	if !s.broken && size <= exact {
		return 0, 0
	}
	n := len(sorted)
	middle, spread := sorted[n/2], sorted[n-1-n/10]-sorted[n/10]
	if spread == 0 { // most are the same
		spread = largest - least
	}
	switch {
	case spread == 0 && size <= exact, math.Abs(middle) <= far*spread, size > math.MaxFloat32/2:
		return 0, 0
	}
	if step := math.Nextafter(math.Abs(middle), math.Inf(1)) - math.Abs(middle); s.broken && spread > 0 {
		loss = step / spread
	}
	return middle, loss
}
