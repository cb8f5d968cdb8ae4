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

// Sampled is what the first rows hold in one column.
type Sampled struct {
	numbers, words, wrong int
	kept                  int  // words for what is missing that are kept as text
	truths                int  // words that are true or false
	repeats               bool // one of them is the field of the first line
	values                origins.Sample
}

// Text reports whether the column is one of text: more of its values are words than numbers.
func (s Sampled) Text() bool {
	return s.words > s.numbers+s.wrong || s.kept > 0 && s.numbers+s.wrong == 0
}

// onlyTruths reports whether all values are true or false. A model with numbers as labels may have learned them as 1
// and 0.
func (s Sampled) onlyTruths() bool { return s.truths > 0 && s.truths == s.words && s.kept == 0 }

// Add takes one field, by the rule of what is missing.
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

// Sample looks at the rows below a first line.
func Sample(rule *missing.Rule, rows []byte, separator string, first []lines.Field) []Sampled {
	seen := make([]Sampled, len(first))
	for line := range bytes.Lines(rows) {
		fields, f := lines.Fields(bytes.TrimRight(line, "\r\n"), separator)
		if f != nil || len(fields) != len(first) {
			continue // the parser will say why
		}
		if Same(fields, first) { // a header may stand here again: what it holds says nothing of the columns
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

// NotUTF8 is the fault of a header with a name that is not UTF-8.
func NotUTF8(fields []lines.Field) *lines.Fault {
	for i, field := range fields {
		if !utf8.Valid(field.Text) {
			return &lines.Fault{At: field.At, Width: len(field.Text), What: fmt.Sprintf("the name of column %d, %s, is not UTF-8", i+1, lines.Quoted(field.Text)), How: lines.ToUTF8}
		}
	}
	return nil
}

// Headed decides whether the first line names the columns. It does if a word stands above a column of numbers, and no
// number stands
// in the line. Where words are above words alone it does if no two are the same and none is a value of its column.
// Whole numbers that
// count the columns may stand in a header, as a data frame without names writes them; a line that has other numbers
// and a word above
// numbers could be either, and is refused. So is one of numbers that count and words that none of the rows has, unless
// known says that
// it is known what rows look like.
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
		return false, &lines.Fault{What: "the first line has names and numbers", How: "say with --header yes that it names the columns, or with --header no that it is a row"}
	}
	return numbers == 0 && wrong == 0 && apart, nil
}
