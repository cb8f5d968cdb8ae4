package lines

import (
	"slices"
	"strconv"
	"testing"
)

// TestPlainNumeralsAreWrittenAsTheirValues: what is known by its 32-bit value alone reads back as it was written,
// wherever it stands in a block.
func TestPlainNumeralsAreWrittenAsTheirValues(t *testing.T) {
	t.Parallel()
	plain := []string{"0", "7", "-7", "10", "100000", "-999999", "0.5", "-0.5", "12.345", "0.0001", "1.25"}
	other := []string{"+1", "-0", "1.0", "01", "00", "-01", "1.", ".5", "1e3", "1E3", "1000000", "16777217", "0.50",
		"123.4567", "9007199254740993", "0.00001", "-0.0", `"7.0"`, `"+7"`, "7.0 "}
	for _, text := range append(slices.Clone(plain), `"7"`, "7  ", "7\r") {
		for _, behind := range []string{"\n", ",1,2,3,4,5,6\n"} {
			var n Numerals
			p := Piece{}
			n.Note([]byte(text+behind), 0, len(text), &p)
			if len(p.Numeral) > 0 {
				t.Errorf("%q has the number %d", text, p.Numeral)
			}
		}
	}
	for _, text := range plain {
		y, err := Number([]byte(text))
		if got := strconv.FormatFloat(float64(y), 'g', -1, 32); err != nil || got != text || !isPlain([]byte(text)) {
			t.Errorf("%s reads back as %s, plain %v, %v", text, got, isPlain([]byte(text)), err)
		}
	}
	for _, text := range other {
		for _, behind := range []string{"\n", ",1,2,3,4,5,6\n"} {
			var n Numerals
			p := Piece{Label: make([]float32, 2)}
			for range 2 {
				n.Note([]byte(text+behind), 0, len(text), &p)
				p.Label = append(p.Label, 0)
			}
			if !slices.Equal(p.Numeral, []int32{-1, -1, 0, 0}) || len(n.List()) != 1 {
				t.Errorf("%q has the numbers %d of %q", text, p.Numeral, n.List())
			}
		}
	}
}

// TestNumeralsEnd: where labels are no classes, nothing is kept.
func TestNumeralsEnd(t *testing.T) {
	t.Parallel()
	var n Numerals
	p := Piece{}
	for i := range NumeralsMost + 1 {
		n.NoteRow(i, strconv.AppendInt(nil, int64(i)+10_000_000, 10), &p)
	}
	if !n.Many() || len(p.Numeral) != NumeralsMost || len(n.List()) > 0 {
		t.Errorf("many is %v behind %d rows, %d texts are kept", n.Many(), len(p.Numeral), len(n.List()))
	}
	n.Reset()
	if n.NoteRow(0, []byte("+1"), &p); n.Many() || !slices.Equal(n.List(), []string{"+1"}) {
		t.Errorf("it has %q", n.List())
	}
	n.Reset()
	for i := range NumeralsMost + 1 {
		key := NumeralKey{Of: 'f', Bits: uint64(i)}
		if !n.NoteKey(i, key, &p) {
			n.NoteNew(i, key, []byte("0.1"), &p)
		}
	}
	if !n.Many() {
		t.Error("plain numbers by their keys have no end")
	}
}
