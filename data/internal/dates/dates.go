// Package dates parses dates and times of day of ISO 8601. It returns whole seconds and nanoseconds, since a float of
// seconds since 1970 holds no nanoseconds.
//
// The package refuses other notations: no names of months, no local orders of day and month.
package dates

import (
	"bytes"
	"time"
)

// Parse returns a date of ISO 8601 in seconds and nanoseconds since 1970. A date is a month or a day, or a day and a
// time of it, in the extended form or the basic one; a blank may stand for the T. Without a zone it is of UTC.
func Parse(field []byte) (seconds int64, nanoseconds int, ok bool) {
	const longest = len("2024-01-31T17:30:00.000000000+01:00")
	if len(field) < len("2024-01") || len(field) > longest {
		return 0, 0, false
	}
	var buf [longest]byte
	text := buf[:copy(buf[:], bytes.ToUpper(field))]
	layout := "2006-01-02"
	day := len(layout)
	switch {
	case len(text) == len("2006-01"):
		layout = "2006-01"
	case len(text) > 8 && (text[8] == 'T' || text[8] == ' '):
		layout, day = "20060102", 8
	}
	if len(text) > day {
		if text[day] == ' ' {
			text[day] = 'T'
		}
		clock := text[day+1:]
		if comma := bytes.IndexByte(clock, ','); comma >= 0 {
			clock[comma] = '.'
		}
		zone := bytes.IndexAny(clock, "Z+-")
		layout += "T" + clockLayout(clock, zone)
	}
	at, err := time.Parse(layout, string(text))
	return at.Unix(), at.Nanosecond(), err == nil
}

// clockLayout returns the layout of a time of day. Its zone begins at a position, which is negative if it has none.
func clockLayout(clock []byte, zone int) (layout string) {
	end := zone
	if zone < 0 {
		end = len(clock)
	}
	whole, _, _ := bytes.Cut(clock[:end], []byte("."))
	layout = "no such time"
	for _, l := range []string{"15", "15:04", "15:04:05", "1504", "150405"} {
		if len(l) == len(whole) && (bytes.IndexByte(whole, ':') < 0) == (len(l) < 3 || l[2] != ':') {
			layout = l
		}
	}
	if zone >= 0 {
		switch len(clock) - zone {
		case len("+01"):
			layout += "Z07"
		case len("+0100"):
			layout += "Z0700"
		default:
			layout += "Z07:00"
		}
	}
	return layout
}
