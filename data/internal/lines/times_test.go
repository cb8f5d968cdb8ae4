package lines

import (
	"strings"
	"testing"
	"time"
)

// TestDates reads dates as package time does, and refuses what is none.
func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-01": "2024-01-01T00:00:00Z", "2024-02-29": "2024-02-29T00:00:00Z",
		"2024-01-31T17": "2024-01-31T17:00:00Z", "2024-01-31T17:30": "2024-01-31T17:30:00Z", "2024-01-31 17:30:05": "2024-01-31T17:30:05Z",
		"2024-01-31T17:30:05Z": "2024-01-31T17:30:05Z", "2024-01-31t17:30:05.25z": "2024-01-31T17:30:05.25Z", "2024-01-31T17:30:05,5": "2024-01-31T17:30:05.5Z",
		"2024-01-31T17:30:05+01:30": "2024-01-31T16:00:05Z", "2024-01-31 17:30:05.125-0800": "2024-02-01T01:30:05.125Z", "2024-01-31T17:30+02": "2024-01-31T15:30:00Z",
		"20240131T173005Z": "2024-01-31T17:30:05Z", "20240131T1730": "2024-01-31T17:30:00Z", "1969-12-31T23:59:59.5Z": "1969-12-31T23:59:59.5Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, want)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Date([]byte(text)); !ok || got != float64(at.Unix())+float64(at.Nanosecond())/1e9 {
			t.Errorf("%s is %v, %v, not %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "2024", "20240131", "2024-1-31", "2024-13-01", "2023-02-29", "31.01.2024", "01/31/2024", "2024/01/31", "2024-01-31T", "2024-01-31T25:00",
		"2024-01-31T17:30:05 UTC", "2024-01-31T17:30:05+", "2024-01-31T17:3", "2024-01-31X17:30", "Jan 31, 2024", "2024-01-31T17:30:00Z and more than a date has"} {
		if got, ok := Date([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

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
		{"1970-01-02", false, 0, "is a date, and the first row has a number"}, {"7", true, 0, "is a number, and the first row has a date"},
		{"", true, 0, "is missing"}, {"NA", false, 0, "is missing"}, {"1,5", false, 0, "is neither"}, {"1e999", false, 0, "is neither"}, {"0x7", false, 0, "is neither"}, {"inf", false, 0, "is neither"},
		{"yesterday", true, 0, `time "yesterday" of column 4 is neither`},
	} {
		times := Times{Place: " of column 4", Dates: c.dates}
		got, f := times.Of([]byte(c.field), 7)
		if f == nil && (c.says != "" || got != c.want) || f != nil && (c.says == "" || !strings.Contains(f.What, c.says) || f.At != 7 || f.How == "") {
			t.Errorf("%q is %v, %+v", c.field, got, f)
		}
	}
}
