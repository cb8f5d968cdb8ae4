package lines

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"bellows/data/internal/missing"
	"bellows/data/internal/notation"
)

// CSV parses rows of numbers with a fixed number of columns. A missing value is NaN, and counted. A missing label is an
// error.
type CSV struct {
	Separator byte // ' ' stands for runs of blanks
	Columns   int
	Label     int           // position of the label, -1 without one
	Numerals  *Numerals     // of labels that are numbers; nil: not noted
	Names     []string      // of all columns; nil without a header
	Missing   *missing.Rule // which fields are missing; nil: the default
}

// Parse appends the rows of a block.
func (l *CSV) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		i = skipBlanks(text, i, l.Separator)
		if next, ok := blankEnd(text, i); ok {
			i = next
			continue
		}
		next, f := l.row(text, i, p)
		if f != nil {
			return f
		}
		i = next
	}
	return nil
}

// skipBlanks skips blanks that are not separators.
func skipBlanks(text []byte, i int, separator byte) int {
	for text[i] == ' ' || text[i] == '\t' && separator != '\t' {
		i++
	}
	return i
}

// blankEnd reports whether the line ends at i.
func blankEnd(text []byte, i int) (next int, ok bool) {
	if text[i] == '\n' {
		return i + 1, true
	}
	if text[i] == '\r' && text[i+1] == '\n' {
		return i + 2, true
	}
	return 0, false
}

// crlf reports whether a carriage return and a newline stand at i.
func crlf(text []byte, i int) bool { return text[i] == '\r' && text[i+1] == '\n' }

// row parses the line that starts at i and returns the position after it.
func (l *CSV) row(text []byte, i int, p *Piece) (int, *Fault) {
	start, separator, last, ask := i, l.Separator, l.Columns-1, l.Missing.Numeric()
	label := float32(0)
	for column := 0; ; column++ {
		if text[i] == ' ' {
			i = skipBlanks(text, i, separator)
		}
		value, end := ordinary(text, i)
		if end < 0 || text[end] != separator && text[end] != '\n' && !crlf(text, end) || ask {
			var f *Fault
			if value, end, f = l.slowField(text, i, column, p); f != nil {
				return 0, f
			}
		}
		if column == l.Label {
			label = value
			l.Numerals.Note(text, i, end, p)
		} else {
			p.Value = append(p.Value, value)
		}
		i = end
		if separator == ' ' {
			i = skipBlanks(text, i, separator)
		}
		if crlf(text, i) {
			i++
		}
		if text[i] == '\n' {
			if column != last {
				return 0, l.fewFields(text, start, i, column+1)
			}
			p.Label = append(p.Label, label)
			return i + 1, nil
		}
		if column == last {
			return 0, l.extraField(text, i)
		}
		if separator != ' ' {
			i++
		}
	}
}

// slowField parses a field that is quoted, padded, unusual or bad. end is the position of the separator or newline
// after it.
func (l *CSV) slowField(text []byte, at, column int, p *Piece) (value float32, end int, f *Fault) {
	field, end, f := cutField(text, at, string(l.Separator))
	if f != nil {
		return 0, 0, f
	}
	start := at
	if text[at] == '"' {
		start++
	}
	switch gone := l.Missing.Number(field); {
	case gone && column != l.Label:
		p.Missing++
		return MissingValue, end, nil
	case gone && !missing.Default.Number(field):
		return 0, 0, l.missingLabel(start, field, column)
	}
	value, err := Number(field)
	if err == nil {
		return value, end, nil
	}
	if f := l.otherRow(text, at); f != nil {
		return 0, 0, f
	}
	return 0, 0, l.badNumber(start, field, column)
}

// otherRow returns the fault of a row whose number of fields is wrong, nil otherwise. It is called for a field that is
// no number, because a wrong number of fields is then the cause.
func (l *CSV) otherRow(text []byte, at int) *Fault {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	end := lineEnd(text, start) - 1
	fields, f := Fields(bytes.TrimSuffix(text[start:end], []byte("\r")), string(l.Separator))
	switch {
	case f != nil:
		return nil // it is reported later
	case len(fields) < l.Columns:
		f = l.fewFields(text, start, end, len(fields))
		f.How += "; if fields are not separated by " + SeparatorName(string(l.Separator)) + ", say so with --sep"
	case len(fields) > l.Columns:
		f = l.extraField(text, start+fields[l.Columns].At-1)
	}
	return f
}

// MissingValue is the value of a missing field.
var MissingValue = float32(math.NaN())

// badNumber returns the fault of a field in a column of numbers.
func (l *CSV) badNumber(at int, field []byte, column int) *Fault {
	noun, option := "value", l.option(column)
	if column == l.Label {
		noun = "label"
	}
	f := BadNumber(at, field, noun, l.place(column), "")
	_, err := Number(field)
	_, how := notation.Recognize(field)
	switch {
	case column == l.Label && missing.Default.Number(field):
		f.How = "fill it in, or leave the row out; a label may not be missing"
	case column != l.Label && IsInfinite(field):
		f.How += "; a value that is missing may be left empty"
	case column == l.Label && err == errTooLarge:
		f.How = TextLabels(f.How, option)
	case f.How != decimal && how == "":
	case column == l.Label:
		f.How += "; or take the labels as text with --categorical " + option
	default:
		f.How += "; or take the column as text with --categorical " + option + ", or leave it out with --ignore " +
			option
	}
	return f
}

// TextLabels adds to a hint that labels which are not numbers may be read as text.
func TextLabels(how, option string) string {
	return how + "; or, if the labels are classes, take them as text with --categorical " + option
}

// missingLabel returns the fault of a label that is a word for a missing value.
func (l *CSV) missingLabel(at int, field []byte, column int) *Fault {
	f := MissingLabel(field, l.place(column))
	f.At = at
	return f
}

// MissingLabel returns the fault of a label that is a word for a missing value.
func MissingLabel(field []byte, place string) *Fault {
	if len(field) == 0 {
		return &Fault{Width: 1, What: "label" + place + " is missing", How: "fill it in, or leave the row out; a label may not be missing"}
	}
	return &Fault{Width: len(field), What: "label " + Quote(field) + place + " stands for a missing value", How: "fill it in, or leave the row out; if it is a class, keep it with --missing ''"}
}

// option returns a column as a flag takes it: by its name if that is a plain word, else by its number.
func (l *CSV) option(column int) string {
	if column < len(l.Names) && IsPlain(l.Names[column]) {
		return l.Names[column]
	}
	return strconv.Itoa(column + 1)
}

// IsPlain reports whether a name can stand unquoted on a command line, in a list with commas, and is not taken for a
// number.
func IsPlain(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return name != "" && name[0] != '-' && !IsDigits([]byte(name))
}

// place returns the name of a column for messages.
func (l *CSV) place(column int) string {
	if column < len(l.Names) && l.Names[column] != "" {
		return " of column " + Quote([]byte(l.Names[column]))
	}
	return fmt.Sprintf(" of column %d", column+1)
}

func (l *CSV) fewFields(text []byte, start, end, found int) *Fault {
	if end > start && text[end-1] == '\r' {
		end--
	}
	return &Fault{At: end, Width: 1, What: fmt.Sprintf("the row has %s, the first row has %d", Plural(found, "field"), l.Columns),
		How: "give every row the same columns; a value may be empty, its separator may not be left out"}
}

func (l *CSV) extraField(text []byte, at int) *Fault {
	end := at
	for text[end] != '\n' && text[end] != '\r' {
		end++
	}
	return &Fault{At: at, Width: end - at, What: fmt.Sprintf("the row has more fields than the first row, which has %d", l.Columns),
		How: "give every row the same columns; quote a value that contains the separator"}
}

// cutField returns the field that starts at i, without quotes and blanks around it, and the position of the separator
// or newline after it. A separator of " " stands for runs of blanks.
func cutField(text []byte, i int, separator string) (field []byte, end int, f *Fault) {
	if text[i] == '"' {
		return cutQuoted(text, i, separator)
	}
	end = i
	if c := separator[0]; len(separator) == 1 && c != ' ' {
		for text[end] != '\n' && text[end] != c {
			end++
		}
	} else {
		for text[end] != '\n' && !separates(text, end, separator) {
			end++
		}
	}
	last := end
	for last > i && (text[last-1] == ' ' || text[last-1] == '\r' || text[last-1] == '\t') {
		last--
	}
	return text[i:last], end, nil
}

// separates reports whether a separator stands at i.
func separates(text []byte, i int, separator string) bool {
	switch {
	case separator == " ":
		return text[i] == ' ' || text[i] == '\t'
	case len(separator) == 1:
		return text[i] == separator[0]
	}
	return bytes.HasPrefix(text[i:], []byte(separator))
}

// cutQuoted works like cutField for a field in quotes, in which "" is a quote.
func cutQuoted(text []byte, at int, separator string) (field []byte, end int, f *Fault) {
	i := at + 1
	for text[i] != '"' && text[i] != '\n' {
		i++
	}
	field = text[at+1 : i : i]
	for {
		switch {
		case text[i] == '\n':
			return nil, 0, &Fault{At: at, Width: i - at, What: "the quote is not closed", How: "close it in the same line; quoted line breaks are not supported"}
		case text[i] != '"':
			field = append(field, text[i])
			i++
			continue
		case text[i+1] == '"':
			field = append(field, '"')
			i += 2
			continue
		}
		break
	}
	end = i + 1
	for text[end] != '\n' && !separates(text, end, separator) {
		if c := text[end]; c != ' ' && c != '\r' && c != '\t' {
			return nil, 0, &Fault{At: end, Width: 1, What: "text follows a closing quote", How: `write a quote inside quotes twice: "a ""b"" c"`}
		}
		end++
	}
	return field, end, nil
}
