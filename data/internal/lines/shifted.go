package lines

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"

	"bellows/data/internal/differences"
)

// An Origin is the number that a feature is counted from. Its values are stored less the origin, so that 32-bit floats
// tell rows apart even if values are far from 0. Features without an Origin are counted from 0.
type Origin struct {
	Feature int32   `json:"feature"` // from 0; in a parser the index as written
	Value   float64 `json:"value"`
}

// Number64 parses a whole field in 64 bits. Like Number, it refuses a number that does not fit a 32-bit float.
func Number64(field []byte) (float64, error) {
	y, err := Number(field)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(field), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // Number has parsed it
		return float64(y), nil
	}
	return v, nil
}

// Shifted parses a whole field as Number does, and returns it less the origin. It subtracts first and rounds then. For
// whole numbers of up to 64 bits the difference is exact before it is rounded.
func Shifted(field []byte, origin float64) (float32, error) {
	if origin == 0 {
		return Number(field)
	}
	if negative, n, ok := differences.WholeNumber(field); ok && negative == (origin < 0) {
		if o := math.Abs(origin); o < 1<<64 && o == math.Trunc(o) {
			return differences.Difference(n, uint64(o), negative), nil
		}
	}
	y, err := Number64(field)
	value := float32(y - origin)
	if err == nil && math.Abs(origin) >= differences.Whole {
		if less, ok := differences.Less(field, origin); ok {
			value = less
		}
	}
	if err == nil && value-value != 0 {
		err = errTooLarge
	}
	return value, err
}

// shifted parses a field of a column that has an origin.
func (l *CSV) shifted(text []byte, at, column int, origin float64, p *Piece) (value float32, end int, f *Fault) {
	field, end, f := cutField(text, at, string(l.Separator))
	if f != nil {
		return 0, 0, f
	}
	if l.Missing.Numeric() && l.Missing.Number(field) {
		return l.slowField(text, at, column, p)
	}
	value, err := Shifted(field, origin)
	switch {
	case err == nil:
		return value, end, nil
	case err == errTooLarge:
		return 0, 0, l.badNumber(at, field, column)
	}
	return l.slowField(text, at, column, p)
}

// Shifts is the part of parsers of sparse rows that counts features from their origins. A row that lacks such a feature
// gets an entry for it: 0 less the origin.
type Shifts struct {
	Origins     []Origin // ascending by index
	LabelOrigin float64
	seen        [][]float64 // by origin: the feature's values, if they are sampled; else nil
	exact       []float64   // by origin: the value in the row
	met         []bool
	// by origin: the last value noted, less its origin; like the next two, for Vowpal Wabbit only
	alone []float32
	noted []int // values under the feature's own names in the row
	times []int // values in the row
}

// begin forgets the row before.
// begin forgets the previous row.
func (s *Shifts) begin() {
	n := len(s.Origins)
	if len(s.exact) != n {
		s.exact, s.met, s.alone, s.noted, s.times = make([]float64, n), make([]bool, n), make([]float32, n), make([]int, n), make([]int, n)
	}
	clear(s.exact)
	clear(s.met)
	clear(s.noted)
}

// find returns the position of an index among the origins.
func (s *Shifts) find(index int32) (int, bool) {
	return slices.BinarySearchFunc(s.Origins, index, func(o Origin, index int32) int { return int(o.Feature) - int(index) })
}

// end writes the row's values less their origins. The row's entries are those of the piece from a position on. less
// returns a value less its origin.
func (s *Shifts) end(p *Piece, from int, less func(k int) float32) {
	for k, o := range s.Origins {
		if s.seen != nil && s.met[k] {
			s.seen[k] = append(s.seen[k], s.exact[k])
		}
		value := float32(-o.Value)
		if s.met[k] {
			value = less(k)
		}
		place, found := slices.BinarySearch(p.Index[from:], o.Feature)
		if found {
			p.Value[from+place] = value
			continue
		}
		p.Index, p.Value = slices.Insert(p.Index, from+place, o.Feature), slices.Insert(p.Value, from+place, value)
		p.Low, p.High = min(p.Low, o.Feature), max(p.High, o.Feature)
	}
}

// shift counts the entries of a line from their origins. They are those of the piece from a position on; text begins
// after the label.
func (l *LIBSVM) shift(text []byte, p *Piece, from int) {
	l.begin()
	shifted := make([]float32, len(l.Origins))
	for i := 0; ; {
		for text[i] == ' ' || text[i] == '\t' {
			i++
		}
		if _, ok := rowEnd(text, i); ok {
			break
		}
		field := token(text, i)
		i += len(field)
		index, value, _ := bytes.Cut(field, []byte(":"))
		n, _ := strconv.Atoi(string(index)) // it was parsed before, and so was the value
		if k, ok := l.find(int32(n)); ok {
			l.met[k] = true
			l.exact[k], _ = Number64(value)
			shifted[k], _ = Shifted(value, l.Origins[k].Value)
		}
	}
	l.end(p, from, func(k int) float32 { return shifted[k] })
}

// note adds the part of a feature's value that 64 bits hold beyond the value in the row. field is the value as written,
// nil for 1.
func (l *VW) note(index int32, field []byte, value float32) {
	k, ok := l.find(index)
	if !ok {
		return
	}
	exact, o := 1.0, l.Origins[k].Value
	less := float32(1 - o)
	if field != nil { // it was parsed before
		exact, _ = Number64(field)
		less, _ = Shifted(field, o)
	}
	if l.alone[k], l.noted[k] = less, l.noted[k]+1; l.scale != 1 {
		l.noted[k]++ // the product is not what is written
	}
	l.exact[k] += exact*l.scale - float64(value)
}

// exactWeight returns, in 64 bits, the weight of a namespace, which ends the text.
func (l *VW) exactWeight(text []byte, weight float32) float64 {
	if exact, err := Number64(text[bytes.LastIndexAny(text, "|:")+1:]); weight != 1 && err == nil {
		return exact
	}
	return float64(weight)
}

// shift counts the entries of the row from their origins. They are in the piece from a position on. Names that share a
// feature are added up first.
func (l *VW) shift(p *Piece, from int) {
	clear(l.times)
	for _, e := range l.row {
		if k, ok := l.find(int32(e >> 32)); ok {
			l.met[k] = true
			l.times[k]++
			l.exact[k] += float64(math.Float32frombits(uint32(e)))
		}
	}
	l.end(p, from, func(k int) float32 {
		if l.noted[k] == 1 && l.times[k] == 1 {
			return l.alone[k]
		}
		return float32(l.exact[k] - l.Origins[k].Value)
	})
}

// A Sampler is a parser of sparse rows that Sample accepts.
type Sampler interface {
	Parser
	shifts() *Shifts
}

func (s *Shifts) shifts() *Shifts { return s }

// Sample calls f with the values, in 64 bits, of each feature that all rows of a text have, in ascending order of
// features. The parser must not be used for anything else.
func Sample(parser Sampler, text []byte, f func(index int32, values []float64)) {
	var p Piece
	p.Reset()
	_ = parser.Parse(text, &p) // defects are reported when the rows are read; the rows above them count
	rows, counts := len(p.Ends), map[int32]int{}
	if rows == 0 {
		return
	}
	for _, index := range p.Index[:p.Ends[rows-1]] {
		counts[index]++
	}
	s := parser.shifts()
	for index, n := range counts {
		if n == rows {
			s.Origins = append(s.Origins, Origin{Feature: index})
		}
	}
	if len(s.Origins) == 0 {
		return
	}
	slices.SortFunc(s.Origins, func(a, b Origin) int { return int(a.Feature) - int(b.Feature) })
	s.seen = make([][]float64, len(s.Origins))
	p.Reset()
	_ = parser.Parse(text, &p)
	for k, o := range s.Origins {
		f(o.Feature, s.seen[k])
	}
}
