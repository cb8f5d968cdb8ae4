package lines

import (
	"math"
	"slices"
	"sync"
)

// A Piece holds the content of one block of text, in the order of its lines.
type Piece struct {
	Label []float32 // label or rating, one per row
	Value []float32 // sparse values, or the cells of a table row by row
	Index []int32   // sparse: as written
	Ends  []int64   // sparse: entries up to the end of each row
	User  []int32   // ratings: the worker's numbers of ids; bags: documents
	Item  []int32   // bags: words
	Low   int32     // sparse: smallest and largest index
	High  int32

	// Numeral has, by row, the number in the worker's own Numerals of how its label is written, -1 for a plain one.
	// Rows after its end have plain ones.
	Numeral []int32

	Missing int // tables: number of missing values, which are NaN in Value

	Time []float64 // one per row, if a column of times is wanted

	Weight     []float32 // one per row, above 0; nil: all are 1
	Weightless int       // rows of weight 0, which are left out
}

// Reset empties the piece and keeps its memory.
func (p *Piece) Reset() {
	p.Label, p.Value, p.Index, p.Ends = p.Label[:0], p.Value[:0], p.Index[:0], p.Ends[:0]
	p.User, p.Item, p.Time, p.Weight, p.Numeral = p.User[:0], p.Item[:0], p.Time[:0], p.Weight[:0], p.Numeral[:0]
	p.Low, p.High, p.Missing, p.Weightless = math.MaxInt32, -1, 0, 0
}

// room makes room for a number of ratings, so that columns need not grow in steps.
func (p *Piece) room(rows int) {
	p.Label, p.User, p.Item = slices.Grow(p.Label, rows), slices.Grow(p.User, rows), slices.Grow(p.Item, rows)
}

// Clone returns a copy without spare capacity.
func (p *Piece) Clone() Piece {
	return Piece{
		Label: exact(p.Label), Value: exact(p.Value), Index: exact(p.Index), Ends: exact(p.Ends),
		User: exact(p.User), Item: exact(p.Item), Low: p.Low, High: p.High, Missing: p.Missing, Time: exact(p.Time),
		Weight: exact(p.Weight), Weightless: p.Weightless, Numeral: exact(p.Numeral),
	}
}

func exact[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	out := make([]T, len(s))
	copy(out, s)
	return out
}

// A Pool keeps the memory of pieces for later ones. Several goroutines may use it.
type Pool struct{ spare sync.Pool }

// poolMost bounds the values of a piece that is kept.
const poolMost = 1 << 17

// Take returns a piece with any content, which Reset drops.
func (l *Pool) Take() Piece {
	if p, ok := l.spare.Get().(*Piece); ok {
		return *p
	}
	return Piece{}
}

// Give keeps the memory of a piece that nothing refers to any more.
func (l *Pool) Give(p Piece) {
	if max(cap(p.Index), cap(p.Value), cap(p.Label)) <= poolMost {
		l.spare.Put(&p)
	}
}
