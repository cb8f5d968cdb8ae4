package data

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bellows/data/decimal"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
)

// numerals records how labels that are numbers are written. Label has their values.
//
// Invariants: names ascend by value and then by text, and no two are the same label: they have different values, or one
// begins with a zero that its value does not need. row is nil if the 32-bit values of the labels tell them apart; for
// labels counted from an origin it never is. Without names, a label is written as strconv.FormatFloat writes its value
// (lines.Numerals says why that is right).
type numerals struct {
	names []string // of each label, as the data first writes it
	row   []int32  // for each row, the place of its label in names; nil: Label identifies it
	many  bool     // there are too many labels to be classes, and Label may merge some
}

// digitsTold is the number of decimal digits that a 32-bit float always tells apart.
const digitsTold = 6

// values returns the values of names by their places.
func (n *numerals) values() []float32 {
	out := make([]float32, len(n.names))
	for i, name := range n.names {
		y, _ := lines.Number([]byte(name)) // it was read as one
		out[i] = y
	}
	return out
}

// TextLabels reports whether labels are text instead of numbers.
func (e *ExampleSet) TextLabels() bool { return e.LabelNames != nil }

// Labels returns the different labels of the rows, as the data first writes them, ascending: numbers by value, text by
// text. It returns nil if there are more than limit, which is at most 4,096.
func (e *ExampleSet) Labels(limit int) []string {
	switch {
	case e.LabelNames != nil:
		return occurringNames(e.distinct(limit), e.LabelNames)
	case e.written.many:
		return nil
	case e.written.row != nil:
		seen, names := make([]bool, len(e.written.names)), []string{}
		for _, at := range e.written.row {
			seen[at] = true
		}
		for at, name := range e.written.names {
			if seen[at] {
				names = append(names, name)
			}
		}
		if len(names) > limit {
			return nil
		}
		return names
	}
	values := e.distinct(limit)
	if values == nil {
		return nil
	}
	written := make(map[float32]string, len(e.written.names))
	for i, y := range e.written.values() {
		written[y] = e.written.names[i]
	}
	out := make([]string, len(values))
	for i, y := range values {
		if out[i] = written[y]; out[i] == "" {
			out[i] = e.formatLabel(y)
		}
	}
	return out
}

// occurringNames returns the names at some places; nil for nil.
func occurringNames(places []float32, names []string) []string {
	if places == nil {
		return nil
	}
	out := make([]string, len(places))
	for i, at := range places {
		out[i] = names[int(at)]
	}
	return out
}

// formatLabel writes a label that has no numeral: in the fewest digits that identify it, and without an exponent if it
// is a whole number that a float holds exactly.
func (e *ExampleSet) formatLabel(y float32) string {
	if e.LabelOrigin != 0 {
		return strconv.FormatFloat(e.Target(y), 'f', -1, 64)
	}
	return formatPlain(y)
}

// formatPlain writes a label that is counted from 0.
func formatPlain(y float32) string {
	if y >= -wholeMost && y <= wholeMost && y == float32(int32(y)) {
		return strconv.Itoa(int(y))
	}
	return strconv.FormatFloat(float64(y), 'g', -1, 32)
}

// wholeMost bounds the whole numbers that a 32-bit float holds exactly.
const wholeMost = 1 << 24

// Classes returns the Labels if they are text or whole numbers, else nil.
func (e *ExampleSet) Classes(limit int) []string {
	if e.LabelNames == nil && e.written.names == nil && e.wholeValues(limit) == nil { // so for most numbers to predict
		return nil
	}
	labels := e.Labels(limit)
	if e.LabelNames == nil && slices.ContainsFunc(labels, func(label string) bool { return !IsWhole(label) }) {
		return nil
	}
	return labels
}

// wholeValues returns the different labels of a set without numerals, ascending, if they are whole numbers and at most
// limit; else nil.
func (e *ExampleSet) wholeValues(limit int) []float32 {
	if e.written.many {
		return nil
	}
	values := e.distinct(limit)
	if slices.ContainsFunc(values, func(y float32) bool { return e.Target(y) != math.Trunc(e.Target(y)) }) {
		return nil
	}
	return values
}

// classCount returns the number of classes, 0 if the labels are no classes.
func (e *ExampleSet) classCount() int {
	if e.LabelNames == nil && e.written.names == nil {
		return len(e.wholeValues(layout.ClassesMost))
	}
	return len(e.Classes(layout.ClassesMost))
}

// IsWhole reports whether a label is a whole number.
func IsWhole(label string) bool {
	n, ok := decimal.Parse(label)
	return ok && n.Whole()
}

// Number maps each row's label to a number. It calls of at least once for each different label. In a set with too many
// labels to be classes, a label gets unknown unless its value identifies it for certain.
func (e *ExampleSet) Number(of func(label string) int32, unknown int32) []int32 {
	out := make([]int32, len(e.Label))
	if names := e.LabelNames; names != nil {
		table := mapNames(names, of)
		for r, at := range e.Label {
			out[r] = table[int(at)]
		}
		return out
	}
	table := mapNames(e.written.names, of)
	if e.written.row != nil {
		for r, at := range e.written.row {
			out[r] = table[at]
		}
		return out
	}
	known := make(map[float32]int32, len(table))
	for i, y := range e.written.values() {
		known[y] = table[i]
	}
	last, number := float32(math.NaN()), unknown
	for r, y := range e.Label {
		if y != last {
			found := false
			if number, found = known[y]; !found {
				number = unknown
				if text := formatPlain(y); e.LabelOrigin == 0 && (!e.written.many || isPlain(text)) {
					number = of(text)
				}
				known[y] = number
			}
			last = y
		}
		out[r] = number
	}
	return out
}

// mapNames calls of for each name.
func mapNames(names []string, of func(string) int32) []int32 {
	out := make([]int32, len(names))
	for i, name := range names {
		out[i] = of(name)
	}
	return out
}

// isPlain reports whether a 32-bit value is written with few digits before and after its point. Numbers with more
// digits may share a value.
func isPlain(text string) bool { return len(text) <= digitsTold && !strings.ContainsAny(text, "eE") }

// distinct returns the different values of Label, ascending, if there are at most limit; else nil.
func (e *ExampleSet) distinct(limit int) []float32 {
	var small [256]bool // labels 0 to 255 need no hashing
	seen := make(map[float32]struct{})
	last := float32(math.NaN())
	for _, y := range e.Label {
		if y == last || y >= 0 && y < 256 && small[uint8(y)] && y == float32(uint8(y)) {
			continue
		}
		last = y
		if y >= 0 && y < 256 && y == float32(uint8(y)) {
			small[uint8(y)] = true
		}
		if seen[y] = struct{}{}; len(seen) > limit {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// classKeys returns keys that tell the classes of several sets apart: text, values, or decimal numbers with more digits
// than values tell apart. It returns nil if labels are no classes.
func (e *ExampleSet) classKeys() (keys []any) {
	if e.LabelNames == nil && e.written.names == nil {
		for _, y := range e.wholeValues(layout.ClassesMost) {
			keys = append(keys, y)
		}
		return keys
	}
	for _, label := range e.Classes(layout.ClassesMost) {
		n, ok := decimal.Parse(label)
		switch {
		case e.LabelNames != nil || !ok || decimal.Padded(label):
			keys = append(keys, label)
		case n.Digits() <= digitsTold:
			y, _ := lines.Number([]byte(label))
			keys = append(keys, y)
		default:
			keys = append(keys, n)
		}
	}
	return keys
}

// A spelling is one way in which a label is written.
type spelling struct {
	text   string
	number decimal.Number
	label  int32 // its place among the different labels
}

// spellings numbers all ways in which the labels of a reader's pieces are written.
type spellings struct {
	all    []spelling
	byText map[string]int32
	own    [][]int32         // by worker: the spelling of each of its numerals
	plain  map[float32]int32 // spellings of labels identified by their values
}

// add returns the number of a spelling.
func (s *spellings) add(text string) int32 {
	at, known := s.byText[text]
	if !known {
		at = int32(len(s.all))
		n, _ := decimal.Parse(text)
		s.all = append(s.all, spelling{text: text, number: n})
		s.byText[text] = at
	}
	return at
}

// spellingAt returns the spelling of a row's label.
func (s *spellings) spellingAt(p *piece, row int) int32 {
	if row < len(p.Numeral) {
		if at := p.Numeral[row]; at >= 0 {
			return s.own[p.worker][at]
		}
	}
	return s.plain[p.Label[row]]
}

// numerals settles how labels that are numbers are written. It is called while the pieces still have their labels.
func (r *reader) numerals(e *ExampleSet) {
	if r.layout.WordLabels {
		return
	}
	noted := false
	for _, w := range r.workers {
		e.written.many = e.written.many || w.Numerals.Many()
	}
	for _, p := range r.pieces {
		noted = noted || len(p.Numeral) > 0
	}
	if e.written.many || !noted {
		return
	}
	s := &spellings{byText: map[string]int32{}, plain: map[float32]int32{}}
	for _, w := range r.workers {
		var own []int32
		for _, text := range w.Numerals.List() {
			own = append(own, s.add(text))
		}
		s.own = append(s.own, own)
	}
	if r.plainLabels(s); len(s.all) > lines.NumeralsMost {
		e.written.many = true
		return
	}
	first := r.mergeSpellings(s)
	if len(first) > layout.ClassesMost {
		e.written.many = true
		return
	}
	for _, at := range first {
		e.written.names = append(e.written.names, s.all[at].text)
	}
	if e.LabelOrigin == 0 && !e.written.ambiguous() {
		return
	}
	e.written.row = make([]int32, 0, len(e.Label))
	for _, p := range r.pieces {
		for row := range p.Label {
			e.written.row = append(e.written.row, s.all[s.spellingAt(p, row)].label)
		}
	}
}

// plainLabels adds the labels that are identified by their values.
func (r *reader) plainLabels(s *spellings) {
	var recent [64]float32 // of the values already added
	recent[0] = float32(math.NaN())
	for _, p := range r.pieces {
		for row, y := range p.Label {
			seen := &recent[math.Float32bits(y)*0x9e3779b9>>26]
			if row < len(p.Numeral) && p.Numeral[row] >= 0 || *seen == y {
				continue
			}
			if *seen = y; len(s.all) > lines.NumeralsMost {
				return
			}
			if _, known := s.plain[y]; !known {
				s.plain[y] = s.add(formatPlain(y))
			}
		}
	}
}

// mergeSpellings makes spellings of equal numbers one label, unless a number is padded with zeros, like a code: then
// each text is a label. It returns the first spelling of each label, ascending.
func (r *reader) mergeSpellings(s *spellings) (first []int32) {
	padded := slices.ContainsFunc(s.all, func(one spelling) bool { return decimal.Padded(one.text) })
	key := func(at int32) any {
		if padded {
			return s.all[at].text
		}
		return s.all[at].number
	}
	ways := map[any]int32{} // the first spelling of each label; -1 while it is not known
	for at := range s.all {
		if _, several := ways[key(int32(at))]; several {
			ways[key(int32(at))] = -1
		} else {
			ways[key(int32(at))] = int32(at)
		}
	}
	r.findFirstSpellings(s, ways, key)
	first = slices.Collect(maps.Values(ways))
	slices.SortFunc(first, func(a, b int32) int {
		x, y := s.all[a], s.all[b]
		return cmp.Or(decimal.Compare(x.number, y.number), cmp.Compare(x.text, y.text))
	})
	place := make(map[any]int32, len(first))
	for i, at := range first {
		place[key(at)] = int32(i)
	}
	for at := range s.all {
		s.all[at].label = place[key(int32(at))]
	}
	return first
}

// findFirstSpellings finds the first spelling, in the order of the input, of each label that has several.
func (r *reader) findFirstSpellings(s *spellings, ways map[any]int32, key func(at int32) any) {
	open := 0
	for _, at := range ways {
		if at < 0 {
			open++
		}
	}
	for _, p := range r.pieces {
		for row := range p.Label {
			if open == 0 {
				return
			}
			if at := s.spellingAt(p, row); ways[key(at)] < 0 {
				ways[key(at)] = at
				open--
			}
		}
	}
}

// ambiguous reports whether two labels have the same 32-bit value.
func (n *numerals) ambiguous() bool {
	seen := map[float32]bool{}
	for _, y := range n.values() {
		if seen[y] {
			return true
		}
		seen[y] = true
	}
	return false
}
