package examples

import (
	"slices"
	"testing"

	"bellows/data"
)

// steps returns four sparse rows of ten features, in two splits and two clocks: row 2 s + c is that of split s in
// clock c.
func steps() (s Source, rows func(split, clock int) []int32) {
	e := &data.ExampleSet{Features: 10, Label: make([]float32, 4), Offset: []int64{0}}
	for _, features := range [][]int32{{0, 3}, {3, 4}, {0}, {5}} {
		for _, j := range features {
			e.Index, e.Value = append(e.Index, j), append(e.Value, 1)
		}
		e.Offset = append(e.Offset, int64(len(e.Index)))
	}
	return Source{ExampleSet: e, Width: 10}, func(split, clock int) []int32 { return []int32{int32(2*split + clock)} }
}

func TestLayout(t *testing.T) {
	t.Parallel()
	s, rows := steps()
	if got, want := s.LastUse(2, 2, rows), []int32{1, 0, 0, 2, 2, 2, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("features are used last in %v, want %v", got, want)
	}
	if got := s.AllRows(); !slices.Equal(got, []int32{0, 1, 2, 3}) {
		t.Errorf("all rows are %v", got)
	}
	first := func(split int) []int32 { return rows(split, 0) }
	if !s.Whole(2, first) { // three uses of twenty
		t.Error("of a seventh of the tables splits list the rows")
	}
	wide := s
	wide.Width = 16
	if wide.Whole(2, first) { // three of 32
		t.Error("of a tenth of the tables splits work on all")
	}
	if !s.Packed(160) || s.Packed(159) { // six of forty cells, of four bytes
		t.Error("rows of 160 bytes are not packed in 160 bytes, or in less")
	}
	if wide.Packed(1e6) { // six of 64
		t.Error("a tenth of the cells is packed")
	}
	if dense := (Source{ExampleSet: &data.ExampleSet{Features: 1, Dense: []float32{1}, Label: []float32{1}}, Width: 1}); !dense.Packed(0) {
		t.Error("dense rows are not dense")
	}
	for rows, want := range map[int][2]float64{100: {0.01, 0.01}, 10_000: {0.001, 0.0001}} {
		if got := [2]float64{Strength(true, rows), Strength(false, rows)}; got != want {
			t.Errorf("l2 of %d rows is %v, want %v", rows, got, want)
		}
	}
}

func TestStrangeWarning(t *testing.T) {
	t.Parallel()
	if got := StrangeWarning(0, 9); got != nil {
		t.Errorf("of no rows it warns %q", got)
	}
	if got := StrangeWarning(2, 9); len(got) != 1 || got[0] != "2 of 9 test rows have labels that no row of DATA has; they count as wrong" {
		t.Errorf("of two rows it warns %q", got)
	}
}

// TestSteps: as many as rows allow, between the bounds; sparse rows make fewer.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dense              bool
		rows, splits, want int
	}{{true, 10, 4, 2}, {true, 640, 4, 10}, {false, 640, 4, 2}, {false, 2560, 4, 10}, {true, 1 << 20, 4, 100}, {false, 1 << 20, 4, 100}} {
		if got := Steps(c.dense, c.rows, c.splits); got != c.want {
			t.Errorf("%+v: %d steps", c, got)
		}
	}
}
