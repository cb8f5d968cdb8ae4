// Package jsonl reads lines of JSON, one object per line, as the rows of a table whose columns are the objects' keys.
//
// The caller's duties, in order:
//
//  1. Take the columns from Keys of the first lines, and those rows as CSV from Sample, to inspect them.
//  2. Make a Rows for each goroutine, with the parser of the table as it would be in a CSV file. Faults are mapped back
//     to their places in the JSON.
//
// A key that an object lacks is a missing value, and so are null and NaN. Numbers, strings, true and false mean what
// they would mean as fields of a CSV file. In columns of numbers true is 1 and false is 0.
//
// The package refuses lines that are not one object, keys that an object has twice, and objects and arrays in columns
// that are used.
package jsonl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"bellows/data/internal/columns"
	"bellows/data/internal/lines"
)

// sort classifies a value.
type sort uint8

const (
	absent  sort = iota // the key is missing, or its value is null or NaN
	number              // a number, true or false
	plain               // a string that can be a field as it is
	quoted              // a string that needs quotes
	escaped             // a string with an escape
	nested              // an object or an array
)

// A cell is the place of a value in the text.
type cell struct {
	from, to int
	sort     sort
}

// Rows turns blocks of lines into blocks of CSV for another parser, and maps its faults back.
type Rows struct {
	Keys   []string // of all columns
	Order  []int    // columns in the order of the fields; nil: as in Keys
	Used   []bool   // columns whose values are read; nil: all
	Number []bool   // columns of numbers; nil: unknown
	Strict bool     // other keys are refused
	Closed bool     // Keys come from a model instead of the first lines
	Needs  []bool   // columns whose keys every object must have; nil: none
	Bars   []bool   // columns whose keys are refused; nil: none
	Words  bool     // the one field is a text, whose lines are joined
	To     lines.Parser

	row row
	csv []byte
}

// A row reads one object after another.
type row struct {
	keys  map[string]int
	names [][]byte // by column
	cells []cell
	next  int // the column that is expected next
	other func(name []byte, at, end int) *lines.Fault
}

func newRow(keys []string) row {
	r := row{keys: make(map[string]int, len(keys)), cells: make([]cell, len(keys))}
	for i, key := range keys {
		r.keys[key] = i
		r.names = append(r.names, []byte(key))
	}
	return r
}

// Parse appends the rows of a block.
func (l *Rows) Parse(text []byte, p *lines.Piece) *lines.Fault {
	if l.row.keys == nil {
		l.row = newRow(l.Keys)
		if l.Strict {
			l.row.other = l.unknownKey
		}
	}
	l.csv = l.csv[:0]
	for i := 0; i < len(text); {
		end := i + bytes.IndexByte(text[i:], '\n')
		if at := blanks(text, i); at < end {
			if f := l.row.object(text, at, end); f != nil {
				return f
			}
			if f := l.checkKeys(at); f != nil {
				return f
			}
			if f := l.write(text); f != nil {
				return f
			}
		}
		i = end + 1
	}
	f := l.To.Parse(l.csv, p)
	if f != nil {
		l.mapFault(text, f)
	}
	return f
}

// unknownKey returns the fault of a key that is no column.
func (l *Rows) unknownKey(name []byte, at, end int) *lines.Fault {
	if l.Closed {
		known := slices.DeleteFunc(slices.Clone(l.Keys), func(key string) bool {
			k := l.row.keys[key]
			return l.Bars != nil && l.Bars[k]
		})
		return &lines.Fault{At: at, Width: end - at,
			What: fmt.Sprintf("the model was trained without the key %s", lines.Quote(name)),
			How:  "leave it out; the keys are " + columns.JoinNames(known)}
	}
	f := &lines.Fault{At: at, Width: end - at,
		What: fmt.Sprintf("the key %s is not among those of the first lines", lines.Quote(name)),
		How:  "leave it out with --ignore " + string(name) + ", or put a line that has it first"}
	if !lines.IsPlain(string(name)) {
		f.How = "give it in the first lines already, as null where it has no value"
	}
	return f
}

// checkKeys returns the fault of an object that lacks a needed key or has a refused one. at is the position of the
// object.
func (l *Rows) checkKeys(at int) *lines.Fault {
	for k, barred := range l.Bars {
		if c := l.row.cells[k]; barred && c.to > 0 {
			return l.unknownKey([]byte(l.Keys[k]), c.from, c.to)
		}
	}
	for k, needed := range l.Needs {
		if needed && l.row.cells[k].to == 0 {
			return &lines.Fault{At: at, Width: 1,
				What: fmt.Sprintf("the key %s is missing, which all rows of the training data had",
					lines.Quote([]byte(l.Keys[k]))),
				How: "give it its value; null makes it the mean of the training data"}
		}
	}
	return nil
}

// write appends the fields of the object that was read.
func (l *Rows) write(text []byte) *lines.Fault {
	fields := len(l.Keys)
	if l.Order != nil {
		fields = len(l.Order)
	}
	for n := range fields {
		k := n
		if l.Order != nil {
			k = l.Order[n]
		}
		if n > 0 {
			l.csv = append(l.csv, ',')
		}
		c := l.row.cells[k]
		if l.Used != nil && !l.Used[k] {
			continue
		}
		switch c.sort {
		case number:
			l.csv = appendNumber(l.csv, text[c.from:c.to], l.Number != nil && l.Number[k])
		case quoted:
			if !l.Words {
				l.csv = append(l.csv, text[c.from:c.to]...)
				continue
			}
			fallthrough
		case plain:
			l.csv = append(l.csv, text[c.from+1:c.to-1]...)
		case escaped:
			var f *lines.Fault
			if l.csv, f = l.appendString(l.csv, text, c, k); f != nil {
				return f
			}
		case nested:
			what, how := "an object", "leave it out with --ignore, or write what it holds as keys of the line"
			if text[c.from] == '[' {
				what = "an array"
			}
			switch {
			case !l.Strict && !l.Words:
				how = "write a number or a text there"
			case l.Words:
				how = "name the key of the documents' text with --text"
			}
			return &lines.Fault{At: c.from, Width: c.to - c.from,
				What: fmt.Sprintf("the key %s has %s, where a number or a text is expected",
					lines.Quote([]byte(l.Keys[k])), what), How: how}
		}
	}
	l.csv = append(l.csv, '\n')
	return nil
}

// appendNumber appends a number, true or false. In a column of numbers true becomes 1 and false 0.
func appendNumber(csv, value []byte, numbers bool) []byte {
	switch {
	case numbers && value[0] == 't':
		return append(csv, '1')
	case numbers && value[0] == 'f':
		return append(csv, '0')
	}
	return append(csv, value...)
}

// appendString appends a string in quotes, with its escapes decoded.
func (l *Rows) appendString(csv, text []byte, c cell, k int) ([]byte, *lines.Fault) {
	from := len(csv)
	if !l.Words {
		csv = append(csv, '"')
	}
	control := -1
	csv, f := unescape(csv, text, c.from+1, c.to-1, func(out []byte, at int, r rune) []byte {
		switch {
		case l.Words && r < ' ':
			return append(out, ' ')
		case r < ' ' && control < 0:
			control = at
		case r == '"' && !l.Words:
			return append(out, '"', '"')
		}
		return utf8.AppendRune(out, r)
	})
	if f == nil && control >= 0 {
		f = &lines.Fault{At: control, Width: 1,
			What: fmt.Sprintf("the text of the key %s holds a control character, such as a line break",
				lines.Quote([]byte(l.Keys[k]))),
			How: "leave the key out with --ignore, or write the text without it"}
	}
	if f != nil {
		return csv[:from], f
	}
	if !l.Words {
		csv = append(csv, '"')
	}
	return csv, nil
}

// mapFault moves a fault in the CSV to the place of its field in the JSON.
func (l *Rows) mapFault(text []byte, f *lines.Fault) {
	at := min(f.At, len(l.csv)-1)
	line, start := bytes.Count(l.csv[:at], []byte("\n")), bytes.LastIndexByte(l.csv[:at], '\n')+1
	field := 0
	for i, quoted := start, false; i < at; i++ {
		switch {
		case l.csv[i] == '"':
			quoted = !quoted
		case l.csv[i] == ',' && !quoted && !l.Words:
			field++
		}
	}
	for i := 0; i < len(text); {
		end := i + bytes.IndexByte(text[i:], '\n')
		if first := blanks(text, i); first < end {
			if line--; line < 0 {
				_ = l.row.object(text, first, end) // it was read before
				if l.Order != nil {
					field = l.Order[field]
				}
				if c := l.row.cells[field]; c.to > 0 {
					f.At, f.Width = c.from, c.to-c.from
				} else {
					f.At, f.Width = first, 1
				}
				return
			}
		}
		i = end + 1
	}
}

// object reads the object from i, which must fill the line up to end, a newline.
func (r *row) object(text []byte, i, end int) *lines.Fault {
	clear(r.cells)
	r.next = 0
	if text[i] != '{' {
		return notObject(text, i, end)
	}
	if i = blanks(text, i+1); text[i] == '}' {
		return checkEnd(text, i+1, end)
	}
	for {
		if text[i] != '"' {
			return syntaxFault(text, i, end, "a key in quotes is expected here")
		}
		to, escapes, f := stringEnd(text, i, end)
		if f != nil {
			return f
		}
		k, f := r.column(text, i, to, escapes)
		if f != nil {
			return f
		}
		at := blanks(text, to)
		if text[at] != ':' {
			return syntaxFault(text, at, end, "a colon must follow a key")
		}
		c, f := value(text, blanks(text, at+1), end)
		if f != nil {
			return f
		}
		if k >= 0 {
			if r.cells[k].to > 0 {
				return &lines.Fault{At: i, Width: to - i,
					What: fmt.Sprintf("the key %s occurs twice in a line", lines.Quote(text[i+1:to-1])),
					How:  "keep one of the two"}
			}
			r.cells[k] = c
		}
		switch i = blanks(text, c.to); text[i] {
		case ',':
			i = blanks(text, i+1)
		case '}':
			return checkEnd(text, i+1, end)
		default:
			return syntaxFault(text, i, end, "a comma or the end of the object is wanted here")
		}
	}
}

// column returns the column of the key from i to end, -1 if there is none.
func (r *row) column(text []byte, i, end int, escapes bool) (int, *lines.Fault) {
	name := text[i+1 : end-1]
	if r.next < len(r.names) && bytes.Equal(name, r.names[r.next]) {
		r.next++
		return r.next - 1, nil
	}
	if escapes {
		plain, f := unescape(nil, text, i+1, end-1,
			func(out []byte, _ int, c rune) []byte { return utf8.AppendRune(out, c) })
		if f != nil {
			return 0, f
		}
		name = plain
	}
	if k, ok := r.keys[string(name)]; ok {
		r.next = k + 1
		return k, nil
	}
	if r.other != nil {
		return -1, r.other(name, i, end)
	}
	return -1, nil
}

// blanks returns the position of the first byte from i that is no blank. A newline is no blank.
func blanks(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' {
		i++
	}
	return i
}

// stringEnd returns the position after the closing quote of the string that begins at i.
func stringEnd(text []byte, i, end int) (to int, escapes bool, f *lines.Fault) {
	at := i + 1
	quote := bytes.IndexByte(text[at:end], '"')
	for quote += at; quote >= at; {
		slash := bytes.IndexByte(text[at:quote], '\\')
		if slash < 0 {
			return quote + 1, escapes, nil
		}
		escapes = true
		if at += slash + 2; at > quote { // the quote is escaped
			quote = at + bytes.IndexByte(text[at:end], '"')
		}
	}
	return 0, false, syntaxFault(text, i, end, "the quote is not closed")
}

// value reads the value that begins at i.
func value(text []byte, i, end int) (cell, *lines.Fault) {
	switch c := text[i]; c {
	case '"':
		to, escapes, f := stringEnd(text, i, end)
		if f != nil {
			return cell{}, f
		}
		if escapes {
			return cell{i, to, escaped}, nil
		}
		return cell{i, to, classify(text[i+1 : to-1])}, nil
	case '{', '[':
		to, f := nestedEnd(text, i, end)
		return cell{i, to, nested}, f
	case 't', 'f', 'n', 'N':
		for _, w := range [...]struct {
			word string
			sort sort
		}{{"true", number}, {"false", number}, {"null", absent}, {"NaN", absent}} {
			if bytes.HasPrefix(text[i:end], []byte(w.word)) {
				return cell{i, i + len(w.word), w.sort}, nil
			}
		}
	}
	to := numberEnd(text, i)
	if to < 0 {
		return cell{}, syntaxFault(text, i, end, "this is no value: a number, a string, true, false or null is wanted")
	}
	return cell{i, to, number}, nil
}

// classify classifies a string without escapes.
func classify(s []byte) sort {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] {
		if word := binary.LittleEndian.Uint64(rest); (word-' '*ones)&^word&high != 0 {
			return escaped // control characters are reported
		}
	}
	for _, c := range rest {
		if c < ' ' {
			return escaped
		}
	}
	if len(s) > 0 && (s[0] == ' ' || s[len(s)-1] == ' ') || bytes.IndexByte(s, ',') >= 0 {
		return quoted
	}
	return plain
}

// numberEnd returns the position after the number at i, -1 if there is none.
func numberEnd(text []byte, i int) int {
	digits := func() bool {
		from := i
		for text[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if text[i] == '-' {
		i++
	}
	if !digits() {
		return -1
	}
	if text[i] == '.' {
		if i++; !digits() {
			return -1
		}
	}
	if text[i]|0x20 == 'e' {
		if i++; text[i] == '+' || text[i] == '-' {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}

// deepest bounds the nesting of objects and arrays.
const deepest = 100

// nestedEnd returns the position after the object or array at i. It checks the content only as far as needed to find
// the end.
func nestedEnd(text []byte, i, end int) (int, *lines.Fault) {
	var open []byte
	for at := i; at < end; at++ {
		switch c := text[at]; c {
		case '{', '[':
			if open = append(open, c); len(open) > deepest {
				return 0, syntaxFault(text, at, end,
					fmt.Sprintf("objects and arrays lie more than %d deep in each other", deepest))
			}
		case '}', ']':
			if open[len(open)-1] != c-2 {
				return 0, syntaxFault(text, at, end, "there is no opening bracket for this one")
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return at + 1, nil
			}
		case '"':
			to, _, f := stringEnd(text, at, end)
			if f != nil {
				return 0, f
			}
			at = to - 1
		}
	}
	return 0, syntaxFault(text, i, end, "what is opened here is never closed")
}

// unescape appends the decoded string. It calls put for each escaped or control character.
func unescape(out, text []byte, i, end int, put func(out []byte, at int, r rune) []byte) ([]byte, *lines.Fault) {
	for i < end {
		if text[i] != '\\' {
			if c := text[i]; c < ' ' {
				out = put(out, i, rune(c))
			} else { // the parser checks that they are UTF-8
				out = append(out, c)
			}
			i++
			continue
		}
		at, c := i, text[i+1]
		i += 2
		r := rune(0)
		switch c {
		case '"', '\\', '/':
			r = rune(c)
		case 'b', 'f', 'n', 'r', 't':
			r = rune("\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)])
		case 'u':
			if r = hex(text[i:end]); r >= 0 {
				i += 4
				if utf16.IsSurrogate(r) {
					r, i = pair(text, r, i, end)
				}
			}
		default:
			r = -1
		}
		if r < 0 {
			return out, &lines.Fault{At: at, Width: 2, What: "the escape " + lines.Quote(text[at:min(i, end)]) +
				" is none of JSON", How: `JSON knows \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`}
		}
		out = put(out, at, r)
	}
	return out, nil
}

// hex returns the value of four hexadecimal digits, -1 for anything else.
func hex(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(s[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// pair decodes a surrogate pair whose first half was read. A lone surrogate is no character.
func pair(text []byte, first rune, i, end int) (rune, int) {
	if i+6 <= end && text[i] == '\\' && text[i+1] == 'u' {
		if r := utf16.DecodeRune(first, hex(text[i+2:end])); r != utf8.RuneError {
			return r, i + 6
		}
	}
	return utf8.RuneError, i
}

func checkEnd(text []byte, i, end int) *lines.Fault {
	if i = blanks(text, i); i < end {
		return syntaxFault(text, i, end, "text follows the object")
	}
	return nil
}

const oneLine = "each line is one object, as jq -c writes it"

// syntaxFault returns the fault of text that is not JSON.
func syntaxFault(text []byte, i, end int, what string) *lines.Fault {
	width := 1
	if i < end && text[i] >= ' ' {
		for i+width < end && text[i+width] > ' ' && bytes.IndexByte([]byte(`,:{}[]"`), text[i+width]) < 0 {
			width++
		}
	}
	return &lines.Fault{At: i, Width: width, What: "the line is not JSON: " + what, How: oneLine}
}

func notObject(text []byte, i, end int) *lines.Fault {
	if text[i] == '[' {
		return &lines.Fault{At: i, Width: max(1, end-i), What: "the line is an array, where an object is expected",
			How: "write an object on each line, for example with jq -c '.[]'"}
	}
	return syntaxFault(text, i, end, "an object is expected")
}

// Keys returns the keys of the objects in some lines, in order of appearance, at most most of them.
func Keys(text []byte, most int) (keys []string, f *lines.Fault) {
	r := newRow(nil)
	seen := map[string]bool{}
	r.other = func(name []byte, at, end int) *lines.Fault {
		switch {
		case seen[string(name)]:
			return nil
		case !utf8.Valid(name):
			return &lines.Fault{At: at, Width: end - at, What: "the key " + lines.Quote(name) + " is not UTF-8",
				How: lines.ToUTF8}
		case slices.ContainsFunc(name, func(c byte) bool { return c < ' ' }):
			return &lines.Fault{At: at, Width: end - at, What: "the key " + lines.Quote(name) +
				" holds a control character", How: "give it another name"}
		case len(keys) == most:
			return &lines.Fault{At: at, Width: end - at, What: fmt.Sprintf("the objects have more than %d keys", most),
				How: "leave some out, or write the rows as LIBSVM"}
		}
		seen[string(name)] = true
		keys = append(keys, string(name))
		return nil
	}
	for i := 0; i < len(text); {
		end := i + bytes.IndexByte(text[i:], '\n')
		if at := blanks(text, i); at < end {
			if f := r.object(text, at, end); f != nil {
				return nil, f
			}
		}
		i = end + 1
	}
	return keys, nil
}

// Sample returns the lines as CSV. Values that CSV cannot hold are missing in it.
func Sample(text []byte, keys []string) (csv []byte) {
	l := &Rows{Keys: keys, row: newRow(keys)}
	for i := 0; i < len(text); {
		end := i + bytes.IndexByte(text[i:], '\n')
		if at := blanks(text, i); at < end && l.row.object(text, at, end) == nil {
			from := len(l.csv)
			for k := range l.row.cells {
				if l.row.cells[k].sort == nested {
					l.row.cells[k].sort = absent
				}
			}
			if l.write(text) != nil {
				l.csv = l.csv[:from]
			}
		}
		i = end + 1
	}
	return l.csv
}

// Header returns the keys as the first line of a CSV file.
func Header(keys []string) (line []byte) {
	for i, key := range keys {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, '"')
		line = append(line, bytes.ReplaceAll([]byte(key), []byte(`"`), []byte(`""`))...)
		line = append(line, '"')
	}
	return line
}
