package data

import "math"

// piece is what one block of text holds, in the order of its lines. Workers
// fill a scratch piece and keep an exact copy.
type piece struct {
	label []float32 // label or rating, one a row
	value []float32 // sparse values, or dense cells row by row
	index []int32   // sparse: as written
	ends  []int64   // sparse: entries up to the end of each row
	user  []int32   // ratings: numbers of the worker's own ids
	item  []int32
	low   int32 // sparse: smallest and largest index
	high  int32

	worker int
	lines  int    // newlines in the block, header lines included
	err    *Error // first defect, with its line counted from the block's start
	source int    // which input
}

func (p *piece) reset() {
	p.label, p.value, p.index, p.ends = p.label[:0], p.value[:0], p.index[:0], p.ends[:0]
	p.user, p.item = p.user[:0], p.item[:0]
	p.low, p.high = math.MaxInt32, -1
}

// keep copies the columns of the scratch piece s.
func (p *piece) keep(s *piece) {
	p.label, p.value, p.index, p.ends = exact(s.label), exact(s.value), exact(s.index), exact(s.ends)
	p.user, p.item = exact(s.user), exact(s.item)
	p.low, p.high = s.low, s.high
}

func exact[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	out := make([]T, len(s))
	copy(out, s)
	return out
}

// lineParser parses blocks of whole lines; one belongs to one worker. It
// appends to p and stops at the first defect.
type lineParser interface {
	parse(text []byte, p *piece) *fault
}
