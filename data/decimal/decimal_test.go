package decimal

import (
	"math/big"
	"slices"
	"strings"
	"testing"
)

func TestParseMergesEqualValues(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"1", "+1", "1.0", "1.", "01", "1e0", "10e-1", "0.1e1", "1E+00"},
		{"0", "-0", "+0.0", "0e5", "000", ".0", "0."},
		{"-12.5", "-012.50", "-125e-1", "-.125e2"},
		{"18446744073709551615", "18446744073709551615.000", "1844674407370955161.5e1"},
		{"1000000", "1e6", "1e+06"},
		{".5", "0.5", "5e-1"},
	} {
		first, ok := Parse(same[0])
		for _, text := range same {
			if n, parsed := Parse(text); !ok || !parsed || n != first || Compare(n, first) != 0 {
				t.Errorf("%s is %+v, %s is %+v", text, n, same[0], first)
			}
		}
	}
}

func TestParseRefusesOtherText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", ".", "e5", "1e", "1e+", "0x10", "1_000", "inf", "NaN", "1.2.3", "--1", "1 ",
		"١", "1e1234567890", "1e1.5"} {
		if n, ok := Parse(text); ok {
			t.Errorf("%q is %+v", text, n)
		}
	}
}

func TestWholeAndPadded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"0": {true, false}, "7": {true, false}, "-7.0": {true, false}, "0.5": {false, false}, "1e3": {true, false},
		"1e-3": {false, false}, "15e-1": {false, false},
		"12345678901234567890.5": {false, false}, "007": {true, true}, "-01": {true, true}, "00": {true, true},
		"+00.5": {false, true}, "0e1": {true, false}, "": {false, false},
	} {
		n, ok := Parse(text)
		if got := [2]bool{ok && n.Whole(), Padded(text)}; got != want {
			t.Errorf("%q is whole, padded: %v, want %v", text, got, want)
		}
	}
	if n, _ := Parse("0012.500"); n.Digits() != 3 {
		t.Errorf("0012.500 has %d digits", n.Digits())
	}
}

// FuzzCompare holds comparisons against rational numbers.
func FuzzCompare(f *testing.F) {
	for _, pair := range [][2]string{{"9007199254740992", "9007199254740993"}, {"-1", "1"}, {"0.1", "0.10000000149"},
		{"1e10", "9999999999.9"}, {"-2", "-10"}, {"0", "-0"}, {"-.001", "0"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok := Parse(a)
		y, also := Parse(b)
		if !ok || !also || max(x.exponent, y.exponent, -x.exponent, -y.exponent) > 100 ||
			slices.ContainsFunc([]string{a, b}, func(s string) bool { return len(s) > 100 }) {
			return
		}
		p, q := new(big.Rat), new(big.Rat)
		if _, ok := p.SetString(strings.TrimSuffix(a, ".")); !ok {
			return
		}
		if _, ok := q.SetString(strings.TrimSuffix(b, ".")); !ok {
			return
		}
		if got, want := Compare(x, y), p.Cmp(q); got != want || (x == y) != (want == 0) || x.Whole() != p.IsInt() {
			t.Errorf("%q and %q compare as %d, want %d", a, b, got, want)
		}
	})
}
