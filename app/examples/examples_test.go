package examples

import (
	"math"
	"slices"
	"testing"

	"bellows"
	"bellows/data"
)

// sparsely returns dense rows with their zeros left out.
func sparsely(e *data.ExampleSet) *data.ExampleSet {
	s := &data.ExampleSet{Label: e.Label, Features: e.Features, Offset: []int64{0}}
	for r := range e.Rows() {
		for j, v := range e.Dense[r*e.Features : (r+1)*e.Features] {
			if v != 0 {
				s.Index, s.Value = append(s.Index, int32(j)), append(s.Value, v)
			}
		}
		s.Offset = append(s.Offset, int64(len(s.Index)))
	}
	return s
}

func TestScalingOfOddFeatures(t *testing.T) {
	t.Parallel()
	set := &data.ExampleSet{Features: 3, Label: []float32{0, 1, 0, 1}, Dense: []float32{
		5, 1e6 + 1, -2,
		5, 1e6 - 1, 2,
		5, 1e6 + 1, -2,
		5, 1e6 - 1, 2,
	}}
	s := Scale(nil, Source{ExampleSet: set, Width: 3}, true, []int32{0, 1, 2, 3}, nil, ScaleAuto)
	want := []float32{0, 1, 1, 0, -1, 0, -1, 0.5, 0}
	for i, row := range [][]float32{{5, 1e6 + 1, 2}, {9, 1e6 - 1, 0}, {5, 1e6 - 1, 1}} {
		got := make([]float32, 3)
		s.Apply(row, got)
		if i == 0 && !slices.Equal(got, want[:3]) || i == 2 && !slices.Equal(got, []float32{0, -1, 0.5}) {
			t.Errorf("row %v scales to %v", row, got)
		}
	}
	if s.Square[0] != 0 || math.Abs(s.Square[1]-1) > 1e-9 || s.Square[2] != 1 || math.Abs(s.Length()-3) > 1e-9 {
		t.Errorf("mean squares %v", s.Square)
	}
	z := Scale(nil, Source{ExampleSet: sparsely(set), Width: 3}, false, []int32{0, 1, 2, 3}, nil, ScaleAuto)
	if features := z.Length() - z.Bias; math.Abs(features-1) > 1e-6 {
		t.Errorf("scaled sparse rows have mean squared length %v", features)
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	levels := NewSpectrum([]float64{0.5, 0.5, 0.5, 0.5, 0})
	if len(levels) != 1 || levels[0] != (Level{0.5, 4}) {
		t.Fatalf("levels %v", levels)
	}
	// One of two classes' weights is determined, with the trace of both: h = 2*20*0.5 = 20 from one class and 30 from the other;
	// alpha 5: 4/2*(20/25 + 30/35) = 116/35 of 4 weights.
	if got, want := Evidence(levels, []float64{20, 30}, 2, 5), 58.0/35; math.Abs(got-want) > 1e-12 {
		t.Errorf("evidence %v, not %v", got, want)
	}
	// Of one score all weights are: 4 * 10/(10+5).
	if got, want := Evidence(levels, []float64{20}, 2, 5), 4.0/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("evidence %v of one score, not %v", got, want)
	}
	if got := Evidence(levels, []float64{20, 30}, 0, 5); got != 5 {
		t.Errorf("evidence of zero weights %v", got)
	}
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	n := NewNarrowing([]int32{9, 64, 9, 200})
	for j, want := range map[int32]int32{0: 3, 9: 0, 63: 3, 64: 1, 65: 3, 200: 2, 201: 3, 1 << 30: 3} {
		if got := n.Number(j); got != want {
			t.Errorf("feature %d is %d, want %d", j, got, want)
		}
	}
	few := []int32{3, 1 << 25}
	wide := &data.ExampleSet{Label: []float32{1}, Features: 1 << 26, Offset: []int64{0, 2}, Index: few, Value: []float32{1, 1}}
	if NarrowingOf(wide, wide.Features, nil) == nil || NarrowingOf(wide, wideLeast, nil) != nil {
		t.Error("which rows are wide is wrong")
	}
	for _, lines := range [][]string{{"a"}, {"-1"}, {"3", "3"}, {"4", "3"}, {"4294967296"}} {
		if _, err := ParseFeatures(lines); bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%v: %v", lines, err)
		}
	}
}

// TestNumbered finds labels by their text, and else as numbers.
func TestNumbered(t *testing.T) {
	t.Parallel()
	if got := Numbered(&data.ExampleSet{Label: []float32{2, 3, -1}}, []string{"-1", "0.5", "2"}); !slices.Equal(got, []int32{2, UnknownClass, 0}) {
		t.Errorf("numbers %v", got)
	}
	wide := []string{"0", "9007199254740992", "9007199254740993", "18446744073709551615"}
	find := NewFinder(wide)
	for label, want := range map[string]int32{"9007199254740993": 2, "9007199254740992.0": 1, "9007199254740994": UnknownClass, "+18446744073709551615": 3, "-0.0": 0, "00": 0, "x": UnknownClass} {
		if got := find.Text(label); got != want {
			t.Errorf("%s is class %d, want %d", label, got, want)
		}
	}
	codes := NewFinder([]string{"01234", "1234"})
	for label, want := range map[string]int32{"01234": 0, "1234": 1, "1234.0": UnknownClass, "001234": UnknownClass} {
		if got := codes.Text(label); got != want {
			t.Errorf("the code %s is class %d, want %d", label, got, want)
		}
	}
	other := &data.ExampleSet{Label: []float32{0, 1, 2, 3}, LabelNames: []string{"1.0", "maybe", "no", "x"}}
	got := Numbered(other, []string{"1", "no", "yes"})
	if !slices.Equal(got, []int32{0, UnknownClass, 1, UnknownClass}) || Strange(got) != 2 {
		t.Errorf("numbers %v, %d of them unknown", got, Strange(got))
	}
}
