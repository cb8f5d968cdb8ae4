package models

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"
)

// Bounds of a vocabulary: a line, its names, those that its rows have in all, and the names of one feature that are shown.
const (
	vocabularyLine  = 16 << 20
	vocabularyMost  = 1 << 23
	vocabularyRows  = 1 << 27
	vocabularyAlike = 8
)

// qualified is a feature's name and its namespace, "" for that without a name.
type qualified struct{ namespace, name string }

// String returns the name as Vowpal Wabbit's own tools write it.
func (q qualified) String() string {
	if q.namespace == "" {
		return q.name
	}
	return q.namespace + "^" + q.name
}

// recovered is the names of features: at most vocabularyAlike of each, and how many more there are.
type recovered struct {
	names map[int32][]string
	more  map[int32]int
	taken map[string]bool // of features that have all that are shown
}

// put adds a name of a feature that somebody asks for, once.
func (r *recovered) put(j int32, name string) {
	list, asked := r.names[j]
	switch {
	case !asked || slices.Contains(list, name) || r.taken[name]:
	case len(list) < vocabularyAlike:
		r.names[j] = append(list, name)
	default:
		r.taken[name] = true
		r.more[j]++
	}
}

// recover finds the names of the vocabulary of the features that are asked for, as package data reads them: a name is put into a row of its own. What two names make together is found of rows
// that have both.
func (s *showing) recover(ctx context.Context, dir string, m *model.Model, features bool, asked []int32) (*recovered, error) {
	wrong := func(format string, args ...any) error {
		return line.BadFlag("vocabulary", s.vocabulary, format, args...).Hinted("leave it out")
	}
	if !features {
		return nil, wrong("a model of %s has no weights of features", m.App)
	}
	var as *data.Reading
	if len(m.Input) > 0 {
		var err error
		if as, err = data.ParseReading(m.Input); err != nil {
			return nil, refuse(bellows.BadData, "open model", dir, "its input is not one of this version: %w", err).Hinted("train the model again")
		}
	}
	if as == nil || as.HashBits == 0 {
		return nil, wrong("the features of %s were not hashed", dir)
	}
	v, err := s.names(as)
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	for _, q := range v.names {
		fmt.Fprintf(&rows, "|%s %s\n", q.namespace, q.name)
	}
	set, err := data.Read(ctx, []string{"-"}, data.Examples, data.Options{Format: data.VW, HashBits: as.HashBits, Unlabelled: true, Stdin: &rows})
	if err != nil {
		return nil, refuse(bellows.BadData, "read vocabulary", s.vocabulary, "%w", err)
	}
	defer set.Close()
	found := &recovered{names: map[int32][]string{}, more: map[int32]int{}, taken: map[string]bool{}}
	for _, j := range asked {
		found.names[j] = nil
	}
	for r, q := range v.names {
		for _, j := range set.Examples.Index[set.Examples.Offset[r]:set.Examples.Offset[r+1]] {
			found.put(j, q.String())
		}
	}
	var row []word
	for _, places := range v.rows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row = row[:0]
		for _, at := range places {
			q := v.names[at]
			row = append(row, word{letter: q.letter(), at: set.Examples.Index[set.Examples.Offset[at]], first: q})
		}
		if !found.pairWords(row, as) {
			return nil, refuse(bellows.BadData, "read vocabulary", s.vocabulary, "the pairs of a row make more than %d features", pairsMost).Hinted("give fewer rows, or a list of names")
		}
	}
	return found, nil
}

// word is a feature of a row: a name, or two that follow each other.
type word struct {
	letter        byte
	at            int32
	first, second qualified
}

func (w word) String() string {
	if w.second.name == "" {
		return w.first.String()
	}
	return w.first.String() + "^" + w.second.name
}

// pairsMost bounds the pairs of a row, as package data does.
const pairsMost = 1 << 22

// pairWords appends the pairs that the words of a row make, named after the words that are known alone. It returns
// false if they are too many.
func (r *recovered) pairWords(row []word, as *data.Reading) bool {
	if own := len(row); as.Ngrams == 2 {
		last := map[byte]int{}
		for i, w := range row[:own] {
			if before, ok := last[w.letter]; ok {
				row = append(row, word{w.letter, data.GramOf(row[before].at, w.at, as.HashBits), row[before].first, w.first})
			}
			last[w.letter] = i
		}
		for _, w := range row[own:] {
			if _, asked := r.names[w.at]; asked {
				r.put(w.at, w.String())
			}
		}
	}
	of := func(letter byte) (list []word) {
		for _, w := range row {
			if w.letter == letter {
				list = append(list, w)
			}
		}
		return list
	}
	made := 0
	for _, pair := range as.Quadratic {
		left, right := of(pair[0]), of(pair[1])
		if made += len(left) * len(right); made > pairsMost {
			return false
		}
		for i, a := range left {
			if pair[0] == pair[1] {
				right = left[i:]
			}
			for _, b := range right {
				at := data.PairOf(a.at, b.at, as.HashBits)
				if _, asked := r.names[at]; asked {
					r.put(at, a.String()+"*"+b.String())
				}
			}
		}
	}
	return true
}

// letter returns what the namespace begins with, as Options.Quadratic has it.
func (q qualified) letter() byte {
	if q.namespace == "" {
		return ' '
	}
	return q.namespace[0]
}

// vocabulary is different names, and where two of a row make features together the names of each row, as they stand.
type vocabulary struct {
	names []qualified
	rows  [][]int32
}

// names reads the file: rows of Vowpal Wabbit where a line has a bar, else a name a line. Namespaces that the model leaves out have no names.
func (s *showing) names(as *data.Reading) (v vocabulary, err error) {
	f, err := os.Open(s.vocabulary)
	if err != nil {
		return v, &bellows.Error{Kind: bellows.NoInput, Op: "read vocabulary", Subject: s.vocabulary, Err: bellows.Pathless(err), Hint: "name a file of names with --vocabulary"}
	}
	defer f.Close()
	ignored := map[string]bool{}
	for _, c := range as.Ignored {
		ignored[c.Name] = true
	}
	seen, together, all := map[qualified]int32{}, as.Ngrams == 2 || len(as.Quadratic) > 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), vocabularyLine)
	number := 0
	bad := func(format string, args ...any) error {
		return refuse(bellows.BadData, "read vocabulary", fmt.Sprintf("%s:%d", s.vocabulary, number), format, args...).Hinted("write Vowpal Wabbit text, or a name a line, as name or namespace^name")
	}
	for lines.Scan() {
		number++
		var row []int32
		list, zero := namesIn(lines.Text())
		for i, q := range list {
			if q.name == "" || strings.ContainsAny(q.name+q.namespace, " \t:|") || bytes.ContainsFunc([]byte(q.name+q.namespace), func(r rune) bool { return r < ' ' }) {
				return v, bad("%.80q is no name of a feature", q.String())
			}
			if ignored[q.namespace] {
				continue
			}
			at, known := seen[q]
			if !known {
				if len(v.names) == vocabularyMost {
					return v, bad("it has more than %d names", vocabularyMost)
				}
				at = int32(len(v.names))
				seen[q] = at
				v.names = append(v.names, q)
			}
			if together && !zero[i] {
				row = append(row, at)
			}
		}
		if len(row) == 0 {
			continue
		}
		if all += len(row); all > vocabularyRows {
			return v, bad("its rows have more than %d names", vocabularyRows)
		}
		v.rows = append(v.rows, row)
	}
	if err := lines.Err(); err != nil {
		number++
		return v, bad("the line cannot be read: %w", err)
	}
	if len(v.names) == 0 {
		number = 1
		return v, bad("it has no names")
	}
	return v, nil
}

// namesIn returns the names of a line, and which of them have the value 0 there, which leaves a feature out.
func namesIn(text string) (list []qualified, zero []bool) {
	text = strings.TrimSuffix(text, "\r")
	_, rest, row := strings.Cut(text, "|")
	if !row {
		if text = strings.Trim(text, " \t"); text == "" {
			return nil, nil
		}
		namespace, name, two := strings.Cut(text, "^")
		if !two {
			namespace, name = "", text
		}
		return []qualified{{namespace, name}}, []bool{false}
	}
	none := func(value string) bool {
		x, err := strconv.ParseFloat(value, 32)
		return err == nil && x == 0
	}
	for part := range strings.SplitSeq(rest, "|") {
		words, namespace, weight := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' || r == '\t' }), "", ""
		if len(words) > 0 && !strings.HasPrefix(part, " ") && !strings.HasPrefix(part, "\t") {
			namespace, weight, _ = strings.Cut(words[0], ":")
			words = words[1:]
		}
		for _, w := range words {
			name, value, _ := strings.Cut(w, ":")
			list, zero = append(list, qualified{namespace, name}), append(zero, none(weight) || none(value))
		}
	}
	return list, zero
}
