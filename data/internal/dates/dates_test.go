package dates

import (
	"testing"
	"time"
)

// TestDates reads dates as package time does, and refuses what is none.
func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-01": "2024-01-01T00:00:00Z", "2024-02-29": "2024-02-29T00:00:00Z",
		"2024-01-31T17": "2024-01-31T17:00:00Z", "2024-01-31T17:30": "2024-01-31T17:30:00Z",
		"2024-01-31 17:30:05":  "2024-01-31T17:30:05Z",
		"2024-01-31T17:30:05Z": "2024-01-31T17:30:05Z", "2024-01-31t17:30:05.25z": "2024-01-31T17:30:05.25Z",
		"2024-01-31T17:30:05,5":     "2024-01-31T17:30:05.5Z",
		"2024-01-31T17:30:05+01:30": "2024-01-31T16:00:05Z", "2024-01-31 17:30:05.125-0800": "2024-02-01T01:30:05.125Z",
		"2024-01-31T17:30+02": "2024-01-31T15:30:00Z",
		"20240131T173005Z":    "2024-01-31T17:30:05Z", "20240131T1730": "2024-01-31T17:30:00Z",
		"1969-12-31T23:59:59.5Z":         "1969-12-31T23:59:59.5Z",
		"2025-11-28T02:36:47.000000001Z": "2025-11-28T02:36:47.000000001Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, want)
		if err != nil {
			t.Fatal(err)
		}
		if seconds, nanoseconds, ok := Parse([]byte(text)); !ok || seconds != at.Unix() ||
			nanoseconds != at.Nanosecond() {
			t.Errorf("%s is %d and %d, %v, not %s", text, seconds, nanoseconds, ok, want)
		}
	}
	for _, text := range []string{"", "2024", "20240131", "2024-1-31", "2024-13-01", "2023-02-29", "31.01.2024",
		"01/31/2024", "2024/01/31", "2024-01-31T", "2024-01-31T25:00",
		"2024-01-31T17:30:05 UTC", "2024-01-31T17:30:05+", "2024-01-31T17:3", "2024-01-31X17:30", "Jan 31, 2024",
		"2024-01-31T17:30:00Z and more than a date has"} {
		if got, _, ok := Parse([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
