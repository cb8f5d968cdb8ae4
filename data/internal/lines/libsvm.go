package lines

import (
	"bytes"
	"fmt"
	"math"
)

// LIBSVM parses "label index:value index:value ... # comment" lines. Indices must ascend within a line and are kept as
// written, because the base is known only after the whole input. A line with only a label is a row of zeros.
//
// LibFM lines have the same form with other rules: indices count from 0 and may stand in any order, and labels are
// numbers.
type LIBSVM struct {
	LibFM    bool
	Least    int       // smallest index allowed: the base, 0 while it is undecided
	IndexMax int       // largest index allowed
	Labels   *Levels   // for labels that are text; nil if they are numbers
	Numerals *Numerals // spellings of labels that are numbers; nil: not noted
	Shifts
	row unsorted
}

// Parse appends the rows of a block.
func (l *LIBSVM) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		c := text[i]
		switch c {
		case '\n', ' ', '\t', '\r':
			i++
			continue
		case '#':
			i = lineEnd(text, i)
			continue
		}
		label, end := ordinary(text, i)
		if end < 0 || text[end] > ' ' || l.Labels != nil || l.LabelOrigin != 0 {
			var f *Fault
			if label, end, f = l.label(text, i); f != nil {
				return f
			}
		}
		l.Numerals.Note(text, i, end, p)
		from := len(p.Index)
		next, f := l.features(text, end, p)
		if f != nil {
			return f
		}
		if l.Origins != nil {
			l.shift(text[end:], p, from)
		}
		i = next
		p.Label = append(p.Label, label)
		p.Ends = append(p.Ends, int64(len(p.Index)))
	}
	return nil
}

// label parses a label that is text, unusual or bad.
func (l *LIBSVM) label(text []byte, i int) (label float32, end int, f *Fault) {
	field := token(text, i)
	end = i + len(field)
	if l.Labels == nil {
		y, err := Shifted(field, l.LabelOrigin)
		if err != nil {
			f := badLabel(i, field)
			if l.LibFM && f.How == decimal {
				f.How = "labels of libFM are numbers; words are labels of LIBSVM, for which say --format libsvm"
			}
			return 0, 0, f
		}
		return y, end, nil
	}
	if l.Labels.Missing.Text(field) && len(field) > 0 {
		f := MissingLabel(field, "")
		f.At = i
		return 0, 0, f
	}
	if bytes.IndexByte(field, ':') >= 0 || len(field) == 0 {
		return 0, 0, badLabel(i, field)
	}
	label, ok := l.Labels.Number(field)
	if !ok {
		return 0, 0, unprintable(i, len(field), "label "+Quote(field), field)
	}
	return label, end, nil
}

// features parses the rest of a line, after its label, and returns the position after the newline.
func (l *LIBSVM) features(text []byte, i int, p *Piece) (int, *Fault) {
	previous := l.Least - 1
	indices, values, from, loose := p.Index, p.Value, len(p.Index), false
	for {
		for text[i] == ' ' || text[i] == '\t' {
			i++
		}
		first := i
		index := 0
		for {
			d := text[i] - '0'
			if d > 9 {
				break
			}
			index = index*10 + int(d)
			i++
		}
		if text[i] != ':' || i == first || i-first > 10 {
			if next, ok := rowEnd(text, first); ok {
				p.Index, p.Value = indices, values
				if loose {
					return next, l.order(text, first, indices[from:], values[from:], p)
				}
				if from < len(indices) { // ascending: the first and last are the extremes
					p.Low, p.High = min(p.Low, indices[from]), max(p.High, int32(previous))
				}
				return next, nil
			}
			return 0, l.badEntry(text, first)
		}
		if index <= previous || index > l.IndexMax {
			if !l.LibFM || index < l.Least || index > l.IndexMax {
				return 0, l.badIndex(text[first:i], first, index, previous)
			}
			loose = true
		}
		previous = index
		indices = append(indices, int32(index))
		if d := text[i+1] - '0'; d <= 9 && text[i+2] <= ' ' { // counts and one-hot rows
			values = append(values, float32(d))
			i += 2
			continue
		}
		value, end := ordinary(text, i+1)
		if end < 0 || text[end] > ' ' {
			field := token(text, i+1)
			v, err := Number(field)
			if err != nil {
				return 0, badValue(i+1, field, string(text[first:i+1]))
			}
			value, end = v, i+1+len(field)
		}
		i = end
		values = append(values, value)
	}
}

// order sorts a row whose indices do not ascend, of the line that ends at end. An index that occurs twice is an error.
func (l *LIBSVM) order(text []byte, end int, indices []int32, values []float32, p *Piece) *Fault {
	if index := l.row.sort(indices, values); index >= 0 {
		at, width := entryAt(text, bytes.LastIndexByte(text[:end], '\n')+1, index)
		return &Fault{At: at, Width: width, What: fmt.Sprintf("feature index %d occurs twice in a line", index), How: "keep one value a feature"}
	}
	p.Low, p.High = min(p.Low, indices[0]), max(p.High, indices[len(indices)-1])
	return nil
}

// rowEnd reports whether the line ends at i, by a newline or a comment.
func rowEnd(text []byte, i int) (next int, ok bool) {
	switch {
	case text[i] == '\n':
		return i + 1, true
	case text[i] == '\r' && text[i+1] == '\n':
		return i + 2, true
	case text[i] == '#':
		return lineEnd(text, i), true
	}
	return 0, false
}

// lineEnd returns the position after the newline that ends the line of i.
func lineEnd(text []byte, i int) int {
	for text[i] != '\n' {
		i++
	}
	return i + 1
}

// token returns the field that starts at i, up to a blank or the end of the line.
func token(text []byte, i int) []byte {
	end := i
	for text[end] > ' ' || text[end] < '\t' || text[end] > '\r' && text[end] < ' ' {
		end++
	}
	return text[i:end]
}

// badValue returns the fault of a field after a colon.
func badValue(at int, field []byte, prefix string) *Fault {
	f := BadNumber(at, field, "feature value", "", prefix)
	switch {
	case len(field) == 0:
		f.How = "write index:value; a feature that is 0 is left out"
	case bytes.IndexByte(field, ':') >= 0:
		f.How = "write index:value; field:index:value, as of libffm, is not read"
	}
	return f
}

func badLabel(at int, field []byte) *Fault {
	f := BadNumber(at, field, "label", "", "")
	if bytes.IndexByte(field, ',') >= 0 {
		f.How = "a line has one label, with a point for its decimals"
	}
	for i, c := range field {
		if c == ':' && IsNumber(field[:i]) {
			f.How = "each line starts with its label, then index:value"
		}
	}
	return f
}

func (l *LIBSVM) badEntry(text []byte, at int) *Fault {
	field := token(text, at)
	f := &Fault{At: at, Width: max(1, len(field))}
	colon := 0
	for colon < len(field) && field[colon] != ':' {
		colon++
	}
	switch {
	case colon == len(field):
		f.What = fmt.Sprintf("feature %s has no colon", Quote(field))
		f.How = "write index:value, such as 3:0.5; a feature that is 0 may be left out"
	case colon == 0:
		f.What = fmt.Sprintf("feature %s has no index", Quote(field))
		f.How = "write index:value, such as 3:0.5"
	case string(field[:colon]) == "qid":
		f.Width = colon
		f.What = "query ids are for ranking, which is not supported"
		f.How = "remove the qid: fields"
	case field[0] == '-':
		f.Width = colon
		f.What = fmt.Sprintf("feature index %s is negative", field[:colon])
		f.How = "indices count from 0 or 1"
		if l.LibFM {
			f.How = "indices count from 0"
		}
	case colon > 10 && IsDigits(field[:colon]):
		return l.badIndex(field[:colon], at, math.MaxInt, 0)
	default:
		f.Width = colon
		f.What = fmt.Sprintf("feature index %s is not a whole number", Quote(field[:colon]))
		f.How = fmt.Sprintf("number the features from %d; names belong into a CSV header", l.firstIndex())
	}
	return f
}

// IsDigits reports whether a field is one or more decimal digits.
func IsDigits(field []byte) bool {
	for _, c := range field {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(field) > 0
}

// firstIndex returns the index that the first feature should have.
func (l *LIBSVM) firstIndex() int {
	if l.LibFM {
		return 0
	}
	return 1
}

func (l *LIBSVM) badIndex(field []byte, at, index, previous int) *Fault {
	f := &Fault{At: at, Width: len(field)}
	switch {
	case index > l.IndexMax:
		f.What = fmt.Sprintf("feature index %s is larger than %d", field[:min(24, len(field))], l.IndexMax)
		f.How = fmt.Sprintf("number the features anew, from %d and in any order: only those that occur need a number", l.firstIndex())
	case index < l.Least:
		f.What = fmt.Sprintf("feature index %d in a file whose indices count from %d", index, l.Least)
		f.How = "count from the same base in training and test files, or name the base"
	case index == previous:
		f.What = fmt.Sprintf("feature index %d occurs twice in a line", index)
		f.How = "keep one value a feature"
	default:
		f.What = fmt.Sprintf("feature index %d comes after %d", index, previous)
		f.How = "sort the features of each line by index"
	}
	return f
}
