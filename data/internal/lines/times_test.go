package lines

import (
	"strings"
	"testing"
)

// TestTimesOfRows takes numbers where the first row has one, dates where it has a date, and says what else is wrong.
func TestTimesOfRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field string
		dates bool
		want  float64
		says  string
	}{
		{"978300760", false, 978300760, ""}, {"-1.5e3", false, -1500, ""}, {"1970-01-02", true, 86400, ""},
		{"1970-01-02", false, 0, "is a date, and the first row has a number"},
		{"7", true, 0, "is a number, and the first row has a date"},
		{"", true, 0, "is missing"}, {"NA", false, 0, "is missing"}, {"1,5", false, 0, "is neither"},
		{"1e999", false, 0, "is neither"}, {"0x7", false, 0, "is neither"}, {"inf", false, 0, "is neither"},
		{"yesterday", true, 0, `time "yesterday" of column 4 is neither`},
	} {
		times := Times{Place: " of column 4", Dates: c.dates}
		got, f := times.Parse([]byte(c.field), 7)
		if f == nil && (c.says != "" || got != c.want) || f != nil &&
			(c.says == "" || !strings.Contains(f.What, c.says) || f.At != 7 || f.How == "") {
			t.Errorf("%q is %v, %+v", c.field, got, f)
		}
	}
}

// TestTimesKeepTheirOrder: times that a 64-bit float of their size does not tell apart are counted from the first, and
// what is rounded all the same is noted.
func TestTimesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, earlier, later string
		rounded               bool
	}{
		{"1764297407000000000", "1764297407000000100", "1764297407000000101", false},
		{"18446744073709551615", "18446744073709551612", "18446744073709551613", false},
		{"-9223372036854775807", "-9223372036854775808", "-9223372036854775806", false},
		{"1764297407.000000001", "1764297407.000000002", "1764297407.000000003", false},
		{"-1764297407.5", "-1764297407.000000003", "-1764297407.000000002", false},
		{"2025-11-28T02:36:47Z", "2025-11-28T02:36:47.000000001Z", "2025-11-28T02:36:47.000000002Z", false},
		{"2025-11-28T02:36:47Z", "1969-12-31T23:59:58.5Z", "1969-12-31T23:59:58.6Z", false},
		{"1.7e9", "1.8e9", "1.9e9", false},
		{"5", "6", "7.5", false},
		{"1764297407000000000", "1264297407000000000", "1864297407000000001", true},
		{"2025-11-28", "2015-11-28T02:36:47.000000001Z", "2015-11-28T02:36:48.000000002Z", true},
	} {
		var times Times
		times.Begin([]byte(c.first))
		a, f := times.Parse([]byte(c.earlier), 0)
		b, g := times.Parse([]byte(c.later), 0)
		if f != nil || g != nil || a >= b || times.Rounded.Load() != c.rounded {
			t.Errorf("from %s: %s is %v, %s is %v, rounded %t", c.first, c.earlier, a, c.later, b, times.Rounded.Load())
		}
	}
}
