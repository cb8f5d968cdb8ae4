package lines

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"bellows/data/internal/missing"
)

// Times is the column that says when a row is from: numbers, such as Unix seconds, or dates of ISO 8601, but not both.
type Times struct {
	At    int    // its position
	Place string // it in messages: ` of column "day"`
	Dates bool   // the first row has a date there, else a number
}

// Of is the time that a field says, in seconds since 1970 where it is a date; the field stands at a position of the text.
func (t *Times) Of(field []byte, at int) (float64, *Fault) {
	f := &Fault{At: at, Width: len(field)}
	if missing.Default.Number(field) {
		f.What, f.How = "the time"+t.Place+" is missing", "give every row its time, or leave the row out; "+otherwise
		return 0, f
	}
	seconds, isDate := Date(field)
	x, isNumber := instant(field)
	switch {
	case t.Dates && isDate:
		return seconds, nil
	case !t.Dates && isNumber:
		return x, nil
	case isDate:
		f.What, f.How = fmt.Sprintf("time %s%s is a date, and the first row has a number", Quoted(field), t.Place), alike
	case isNumber:
		f.What, f.How = fmt.Sprintf("time %s%s is a number, and the first row has a date", Quoted(field), t.Place), alike
	default:
		f.What = fmt.Sprintf("time %s%s is neither a number nor a date of ISO 8601", Quoted(field), t.Place)
		f.How = "write 2024-01-31, 2024-01-31T17:30:00Z or Unix seconds; " + otherwise
	}
	return 0, f
}

// cell parses the field at i; end is the position of the separator or newline behind it.
func (t *Times) cell(text []byte, i int, separator string) (at float64, end int, f *Fault) {
	if separator != " " {
		i = skipBlanks(text, i, separator[0])
	}
	field, end, f := cutField(text, i, separator)
	if f != nil {
		return 0, 0, f
	}
	if text[i] == '"' {
		i++
	}
	at, f = t.Of(field, i)
	return at, end, f
}

// The ends of remedies.
const (
	alike     = "give all rows numbers, or all rows dates"
	otherwise = "or hold out otherwise: --holdout last takes the last rows as they stand"
)

// instant is a finite decimal number.
func instant(field []byte) (x float64, ok bool) {
	for _, c := range field {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(string(field), 64)
	return x + 0, err == nil && !math.IsInf(x, 0) // no -0
}

// Date is a date of ISO 8601 in seconds since 1970: a month or a day, or a day and a time of it, in the extended form or the basic one, with a blank for the T if
// need be. Without a zone it is of UTC.
func Date(field []byte) (seconds float64, ok bool) {
	const longest = len("2024-01-31T17:30:00.000000000+01:00")
	if len(field) < len("2024-01") || len(field) > longest {
		return 0, false
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
	return float64(at.Unix()) + float64(at.Nanosecond())/1e9, err == nil
}

// clockLayout is how a time of day is written whose zone stands at a position, or nowhere.
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
