package lines

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"bellows/data/internal/dates"
	"bellows/data/internal/differences"
	"bellows/data/internal/missing"
)

// Times is the column that says when a row is from: numbers, such as Unix seconds, or dates of ISO 8601, but not both.
type Times struct {
	At    int     // its position
	Place string  // it in messages: ` of column "day"`
	Dates bool    // the first row has a date there, else a number
	From  float64 // times are counted from it: a whole number

	Rounded atomic.Bool // some are so far from it that 64-bit floats do not hold their last digits
}

// Of returns the time in a field, beyond the one that times are counted from. Dates are in seconds. The field stands at a position of the text.
func (t *Times) Of(field []byte, at int) (float64, *Fault) {
	f := &Fault{At: at, Width: len(field)}
	if missing.Default.Number(field) {
		f.What, f.How = "the time"+t.Place+" is missing", "give every row its time, or leave the row out; "+otherwise
		return 0, f
	}
	seconds, nanoseconds, isDate := dates.Parse(field)
	isNumber := instant(field)
	switch {
	case t.Dates && isDate:
		seconds -= int64(t.From)
		if nanoseconds%1000 != 0 && max(seconds, -seconds) > timesFar {
			t.Rounded.Store(true)
		}
		return float64(seconds) + float64(nanoseconds)/1e9, nil
	case !t.Dates && isNumber:
		since, exact := differences.Since(field, t.From)
		if !exact {
			t.Rounded.Store(true)
		}
		return since, nil
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

// instant reports whether a field is a finite decimal number.
func instant(field []byte) bool {
	for _, c := range field {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return false
		}
	}
	x, err := strconv.ParseFloat(string(field), 64)
	return err == nil && !math.IsInf(x, 0)
}

// Begin settles what a column of times has and is counted from, by the field of its first row.
func (t *Times) Begin(field []byte) {
	seconds, _, isDate := dates.Parse(field)
	if t.Dates, t.From = isDate, float64(seconds); !isDate && instant(field) {
		x, _ := strconv.ParseFloat(string(field), 64)
		t.From = math.Trunc(x)
	}
	switch size := math.Abs(t.From); {
	case size < timesNear:
		t.From = 0
	case size == 1<<64: // the largest whole numbers of 64 bits are below it
		t.From = math.Nextafter(t.From, 0)
	}
}

// timesNear is the size below which times are counted from 0: 64 bits have all digits of them.
const timesNear = 1 << 20

// timesFar is 104 days in seconds. A 64-bit float that counts more nanoseconds than these have rounds them.
const timesFar = 9_000_000
