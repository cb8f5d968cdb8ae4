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

// Times is the column with the time of each row: numbers, such as Unix seconds, or ISO 8601 dates, but not both.
type Times struct {
	At    int     // the column's position
	Place string  // the column in messages: ` of column "day"`
	Dates bool    // the first row has a date there, else a number
	From  float64 // what times are counted from: a whole number

	// Rounded is set if some times are so far from From that 64-bit floats do not hold their last digits.
	Rounded atomic.Bool
}

// Parse returns the time in a field, less From. Dates are in seconds. at is the position of the field in the text.
func (t *Times) Parse(field []byte, at int) (float64, *Fault) {
	f := &Fault{At: at, Width: len(field)}
	if missing.Default.Number(field) {
		f.What, f.How = "the time"+t.Place+" is missing", "give every row its time, or leave the row out; "+otherHoldout
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
		f.What, f.How = fmt.Sprintf("time %s%s is a date, and the first row has a number", Quote(field), t.Place), sameKind
	case isNumber:
		f.What, f.How = fmt.Sprintf("time %s%s is a number, and the first row has a date", Quote(field), t.Place), sameKind
	default:
		f.What = fmt.Sprintf("time %s%s is neither a number nor a date of ISO 8601", Quote(field), t.Place)
		f.How = "write 2024-01-31, 2024-01-31T17:30:00Z or Unix seconds; " + otherHoldout
	}
	return 0, f
}

// cell parses the field at i. end is the position of the separator or newline after it.
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
	at, f = t.Parse(field, i)
	return at, end, f
}

// The ends of hints.
const (
	sameKind     = "give all rows numbers, or all rows dates"
	otherHoldout = "or hold out otherwise: --holdout last takes the last rows as they stand"
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

// Begin settles, by the field of the first row, whether the column has dates, and what times are counted from.
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

// timesNear is the size below which times are counted from 0: 64-bit floats hold all their digits.
const timesNear = 1 << 20

// timesFar is 104 days in seconds. Beyond it a 64-bit float rounds nanoseconds.
const timesFar = 9_000_000
