package columns

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
	"bellows/data/internal/origins"
)

// Sampled summarises the fields of one column in the first rows.
type Sampled struct {
	numbers, words, wrong int
	kept                  int  // words for a missing value that are kept as text
	truths                int  // number of words that are true or false
	repeats               bool // one of the fields equals the one in the first line
	values                origins.Sample
}

// Text reports whether the column is one of text: it has more words than numbers, or only words for a missing value
// that are kept as text.
func (s Sampled) Text() bool {
	return s.words > s.numbers+s.wrong || s.kept > 0 && s.numbers+s.wrong == 0
}

// onlyTruths reports whether all values are true or false. A model with numbers as labels may have been trained on them
// as 1 and 0.
func (s Sampled) onlyTruths() bool { return s.truths > 0 && s.truths == s.words && s.kept == 0 }

// Add adds one field. rule decides which values are missing.
func (s *Sampled) Add(rule *missing.Rule, field, first []byte) {
	switch sortOf(rule, field) {
	case numberField:
		s.numbers++
		if !s.values.Full() {
			if v, err := lines.Number64(field); err == nil {
				s.values.Add(v)
			}
		}
	case wordField:
		if s.words++; string(field) == "true" || string(field) == "false" {
			s.truths++
		}
	case wrongField:
		s.wrong++
	case keptField:
		s.kept++
	}
	s.repeats = s.repeats || bytes.Equal(field, first)
}

// Sample summarises the rows below a first line.
func Sample(rule *missing.Rule, rows []byte, separator string, first []lines.Field) []Sampled {
	seen := make([]Sampled, len(first))
	for line := range bytes.Lines(rows) {
		fields, f := lines.Fields(bytes.TrimRight(line, "\r\n"), separator)
		if f != nil || len(fields) != len(first) {
			continue // the parser will report it
		}
		if Same(fields, first) { // a repeated header tells nothing about the columns
			for i := range seen {
				seen[i].repeats = true
			}
			continue
		}
		for i, field := range fields {
			seen[i].Add(rule, field.Text, first[i].Text)
		}
	}
	return seen
}

// Same reports whether two lines have the same fields.
func Same(a, b []lines.Field) bool {
	return slices.EqualFunc(a, b, func(x, y lines.Field) bool { return bytes.Equal(x.Text, y.Text) })
}

// NotUTF8 returns the fault of a header with a name that is not UTF-8.
func NotUTF8(fields []lines.Field) *lines.Fault {
	for i, field := range fields {
		if !utf8.Valid(field.Text) {
			return &lines.Fault{At: field.At, Width: len(field.Text),
				What: fmt.Sprintf("the name of column %d, %s, is not UTF-8", i+1, lines.Quote(field.Text)),
				How:  lines.ToUTF8}
		}
	}
	return nil
}

// Headed decides whether the first line names the columns. It does if a word stands above a column of numbers and the
// line has no number. If all columns are words, it does if no two names are equal and none is a value of its column.
// Whole numbers that count the columns may stand in a header, as a data frame without names writes them. A line that
// has other numbers and a word above numbers is ambiguous and is refused. So is a line of counting numbers and of words
// that no row has, unless known says that the form of rows is known.
func Headed(fields []lines.Field, seen []Sampled, known bool) (bool, *lines.Fault) {
	var numbers, above, wrong, words int
	counts, apart, last, new := true, true, -1, true
	names := map[string]bool{}
	for i, field := range fields {
		overNumbers := seen[i].numbers > 0 && seen[i].words == 0
		switch sortOf(nil, field.Text) {
		case numberField:
			numbers++
			n, err := strconv.Atoi(string(field.Text))
			counts = counts && err == nil && (last < 0 && n <= 1 || n == last+1)
			last = n
		case wordField:
			words++
			new = new && !seen[i].repeats && seen[i].words > 1
			if overNumbers {
				above++
			}
		case wrongField:
			wrong++
		}
		apart = apart && len(field.Text) > 0 && !names[string(field.Text)] && !seen[i].repeats
		names[string(field.Text)] = true
	}
	switch {
	case above > 0 && numbers == 0:
		return true, nil
	case above > 0 && counts && wrong == 0:
		return true, nil
	case above > 0, !known && words > 0 && new && numbers > 1 && counts && wrong == 0:
		return false, &lines.Fault{What: "the first line has names and numbers",
			How: "say with --header yes that it names the columns, or with --header no that it is a row"}
	}
	return numbers == 0 && wrong == 0 && apart, nil
}
