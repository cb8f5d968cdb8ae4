package differences

import "testing"

// TestLess takes differences of numbers that 64-bit floats round.
func TestLess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		origin float64
		want   float32
	}{
		{"12345678901234567.25", 12345678901234566, 1.25},
		{"-12345678901234567.25", -12345678901234566, -1.25},
		{"73786976294838206467", 1 << 66, 3},
		{"73786976294838206467.5", 1 << 66, 3.5},
		{"1e20", 1e20, 0},
		{"+7.5", 5, 2.5},
	} {
		if got, ok := Less([]byte(c.field), c.origin); !ok || got != c.want {
			t.Errorf("%s less %v is %v, %v, not %v", c.field, c.origin, got, ok, c.want)
		}
	}
	if _, ok := Less([]byte("many"), 1); ok {
		t.Error("a word is a number")
	}
}

// TestSince takes differences of times, and reports which a 64-bit float does not hold.
func TestSince(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		origin float64
		want   float64
		exact  bool
	}{
		{"1764297407000000123", 1764297407000000000, 123, true},
		{"5", 0, 5, true},
		{"1864252800000000000", 1764288000000000000, 99964800000000000, true}, // whole days
		{"-5", 0, -5, true},
		{"-0", 0, 0, true},
		{"2.75", 0, 2.75, true},
		{"-2.75", -2, -0.75, true},
		{"18446744073709551615", 1 << 63, 1 << 63, false},
		{"18446744073709551615", 0, 1 << 64, false},
		{"1.5e3", 0, 1500, true},
		{"15e2", 1000, 500, true},
		{"1e18", 0, 1e18, false},
		{"-3", 1 << 21, -3 - 1<<21, true},
		{".5", 0, 0.5, true},
		{"99999999999999999999", 0, 1e20, false},
	} {
		if got, exact := Since([]byte(c.field), c.origin); got != c.want || exact != c.exact {
			t.Errorf("%s since %v is %v, exact %t; want %v, %t", c.field, c.origin, got, exact, c.want, c.exact)
		}
	}
}
