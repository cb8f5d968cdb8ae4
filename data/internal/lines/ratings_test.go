package lines

import (
	"slices"
	"testing"
)

// TestColumnsGrow adds blocks as workers that overtake each other do; how much is expected must not matter.
func TestColumnsGrow(t *testing.T) {
	t.Parallel()
	block := func(n int32) *Piece {
		p := &Piece{}
		for row := range n % 4 { // some hold nothing
			p.User, p.Item, p.Label = append(p.User, n), append(p.Item, row), append(p.Label, float32(10*n+row))
		}
		return p
	}
	for _, order := range [][]int32{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}, {1, 0, 3, 2, 6, 7, 5, 4}} {
		for _, read := range []float64{0, 0.01, 0.5, 1, 2} { // 2: the input has grown meanwhile
			free := make(chan []byte, len(order))
			c := NewRatingColumns(free)
			for _, n := range order {
				p := block(n)
				c.Add(n, p, []byte{byte(n)}, read)
				clear(p.Label) // the worker's to write again
				if len(free) != int(c.due) {
					t.Errorf("order %v: %d buffers are free when %d blocks are in the columns", order, len(free), c.due)
				}
			}
			for n := range order {
				if buf := <-free; int(buf[0]) != n {
					t.Errorf("order %v: buffer %d came back as number %d", order, buf[0], n)
				}
			}
			var want RatingColumns
			for n := range int32(len(order)) {
				p := block(n)
				want.User, want.Item, want.Rating = append(want.User, p.User...), append(want.Item, p.Item...),
					append(want.Rating, p.Label...)
			}
			if s := c; !slices.Equal(s.User, want.User) || !slices.Equal(s.Item, want.Item) ||
				!slices.Equal(s.Rating, want.Rating) || len(c.early) > 0 {
				t.Errorf("order %v, %v read: got %v, want %v", order, read, c.Rating, want.Rating)
			}
		}
	}
}
