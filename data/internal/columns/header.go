package columns

import (
	"bytes"
	"strconv"

	"bellows/data/internal/lines"
)

// Sampled is what the first rows hold in one column.
type Sampled struct {
	numbers, words, wrong int
	repeats               bool // one of them is the field of the first line
}

// Text reports whether the column is one of text: more of its values are words than numbers.
func (s Sampled) Text() bool { return s.words > s.numbers+s.wrong }

// Add takes one field.
func (s *Sampled) Add(field, first []byte) {
	switch lines.SortOf(field) {
	case lines.SortNumber:
		s.numbers++
	case lines.SortWord:
		s.words++
	case lines.SortWrong:
		s.wrong++
	}
	s.repeats = s.repeats || bytes.Equal(field, first)
}

// Sample looks at the rows below a first line.
func Sample(rows []byte, separator string, first []lines.Field) []Sampled {
	seen := make([]Sampled, len(first))
	for line := range bytes.Lines(rows) {
		fields, f := lines.Fields(bytes.TrimSuffix(line, []byte("\n")), separator)
		if f != nil || len(fields) != len(first) {
			continue // the parser will say why
		}
		for i, field := range fields {
			seen[i].Add(field.Text, first[i].Text)
		}
	}
	return seen
}

// Headed decides whether the first line names the columns. It does if a word stands above a column of numbers, and no number stands
// in the line. Where words are above words alone it does if no two are the same and none is a value of its column. Whole numbers that
// count the columns may stand in a header, as a data frame without names writes them; a line that has other numbers and a word above
// numbers could be either, and is refused.
func Headed(fields []lines.Field, seen []Sampled) (bool, *lines.Fault) {
	var numbers, above, wrong int
	counts, apart, last := true, true, -1
	names := map[string]bool{}
	for i, field := range fields {
		overNumbers := seen[i].numbers > 0 && seen[i].words == 0
		switch lines.SortOf(field.Text) {
		case lines.SortNumber:
			numbers++
			n, err := strconv.Atoi(string(field.Text))
			counts = counts && err == nil && (last < 0 && n <= 1 || n == last+1)
			last = n
		case lines.SortWord:
			if overNumbers {
				above++
			}
		case lines.SortWrong:
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
	case above > 0:
		return false, &lines.Fault{What: "the first line has names and numbers", How: "say with --header yes that it names the columns, or with --header no that it is a row"}
	}
	return numbers == 0 && wrong == 0 && apart, nil
}
