package data

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows/data/internal/lines"

	"github.com/klauspost/compress/gzip"
)

// TestColumnsGrow adds blocks as workers that overtake each other do; how much is expected must not matter.
func TestColumnsGrow(t *testing.T) {
	t.Parallel()
	block := func(n int32) *lines.Piece {
		p := &lines.Piece{}
		for row := range n % 4 { // some hold nothing
			p.User, p.Item, p.Label = append(p.User, n), append(p.Item, row), append(p.Label, float32(10*n+row))
		}
		return p
	}
	for _, order := range [][]int32{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}, {1, 0, 3, 2, 6, 7, 5, 4}} {
		for _, read := range []float64{0, 0.01, 0.5, 1, 2} { // 2: the input has grown meanwhile
			free := make(chan []byte, len(order))
			c := newRatingColumns(free)
			for _, n := range order {
				p := block(n)
				c.add(n, p, []byte{byte(n)}, read)
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
			var want RatingSet
			for n := range int32(len(order)) {
				p := block(n)
				want.User, want.Item, want.Rating = append(want.User, p.User...), append(want.Item, p.Item...), append(want.Rating, p.Label...)
			}
			if s := c.set; !slices.Equal(s.User, want.User) || !slices.Equal(s.Item, want.Item) || !slices.Equal(s.Rating, want.Rating) || len(c.early) > 0 {
				t.Errorf("order %v, %v read: got %v, want %v", order, read, c.set.Rating, want.Rating)
			}
		}
	}
}

// TestColumnsKnowTheirSize: of a file whose lines are alike, room is made once, and little more than is needed.
func TestColumnsKnowTheirSize(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	const rows = 50_000
	for i := range rows {
		fmt.Fprintf(&text, "%04d\t%03d\t%d\n", i%5000, i%700, i%5)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text.String())); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.tsv": text.String(), "a.tsv.gz": packed.String()} {
		path := writeFile(t, filepath.Join(t.TempDir(), name), []byte(content))
		set, err := Read(t.Context(), []string{path}, Ratings, Options{Workers: 3, blockBytes: 4096})
		if err != nil {
			t.Fatal(err)
		}
		r := set.Ratings
		if len(r.Rating) != rows || cap(r.Rating) > rows*3/2 && packed.String() != content { // what is packed is known less well
			t.Errorf("%s: %d rows in columns with room for %d", name, len(r.Rating), cap(r.Rating))
		}
		for i, v := range r.Rating {
			if v != float32(i%5) || r.Users[r.User[i]] != fmt.Sprintf("%04d", i%5000) || r.Items[r.Item[i]] != fmt.Sprintf("%03d", i%700) {
				t.Fatalf("%s: row %d is %s, %s, %v", name, i, r.Users[r.User[i]], r.Items[r.Item[i]], v)
			}
		}
	}
}
