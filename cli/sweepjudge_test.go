package cli

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// quotedText is a word of a `make` line, perhaps in double quotes.
var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// judge holds what came of a command line against one line of what is expected, and returns what is lacking.
func judge(o *outcome, w want) string {
	fault := judged(o, w)
	if fault == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %v", w.what, w.of, fault)
}

// judged returns judge by the kind of the line.
func judged(o *outcome, w want) error {
	words := strings.Fields(w.of)
	switch w.what {
	case "at":
		if !strings.Contains(o.err, w.of+":") {
			return fmt.Errorf("no such place")
		}
	case "cause", "remedy", "said":
		return matches(o.err+o.out, w.of, true)
	case "unsaid":
		return matches(o.err+o.out, w.of, false)
	case "prints":
		if got := strings.ReplaceAll(strings.TrimSuffix(o.out, "\n"), "\n", " | "); got != w.of {
			return fmt.Errorf("got %s", got)
		}
	case "first":
		var got []string
		for line := range strings.Lines(o.out) {
			field, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, strings.TrimSpace(field))
		}
		if !slices.Equal(got, words) {
			return fmt.Errorf("got %q", got)
		}
	case "lines":
		if got := strings.Count(o.out, "\n"); strconv.Itoa(got) != w.of {
			return fmt.Errorf("got %d", got)
		}
	case "file":
		text, err := os.ReadFile(words[0])
		if err != nil {
			return err
		}
		return matches(string(text), strings.TrimSpace(strings.TrimPrefix(w.of, words[0])), true)
	case "absent":
		if _, err := os.Lstat(w.of); err == nil {
			return fmt.Errorf("it is there")
		}
	case "json":
		got, err := o.last(words[0])
		if err != nil {
			return err
		}
		if text, _ := json.Marshal(got); strings.Trim(string(text), `"`) != strings.Join(words[1:], " ") {
			return fmt.Errorf("got %s", text)
		}
	case "rows":
		return rowsRead(o, w.of)
	case "labels", "columns", "users", "items", "vocab":
		return idsAre(o, w)
	default:
		return byHand(o, w.what, words)
	}
	return nil
}

// matches finds a regexp, or does not.
func matches(text, pattern string, wanted bool) error {
	re, err := regexp.Compile("(?is)" + pattern)
	if err != nil {
		return err
	}
	if re.MatchString(text) != wanted {
		return fmt.Errorf("said: %v", !wanted)
	}
	return nil
}

// rowsRead returns the rows that the first event of a run tells of.
func rowsRead(o *outcome, want string) error {
	text, err := os.ReadFile(filepath.Join(o.folder(), "events.jsonl"))
	if err != nil {
		return err
	}
	var first struct{ Rows int }
	if err := json.Unmarshal([]byte(strings.SplitN(string(text), "\n", 2)[0]), &first); err != nil {
		return err
	}
	if strconv.Itoa(first.Rows) != want {
		return fmt.Errorf("got %d", first.Rows)
	}
	return nil
}

// idsAre compares a file of ids. Users, items and words stand in any order; blanks divide names, or | where there is one.
func idsAre(o *outcome, w want) error {
	got, err := ids(o.folder(), w.what)
	if err != nil {
		return err
	}
	names := strings.Fields(w.of)
	if strings.Contains(w.of, "|") {
		names = strings.Split(w.of, "|")
	}
	if w.what != "labels" && w.what != "columns" {
		slices.Sort(got)
		slices.Sort(names)
	}
	if !slices.Equal(got, names) {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

// ids returns the lines of an id file of a model.
func ids(folder, what string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, what+".txt"))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// byHand judges by the tensors of the model, which are read here as docs/3 tells others to, and by tables that other code reads.
func byHand(o *outcome, what string, words []string) error {
	m, err := readTensors(o.folder())
	if err != nil {
		return err
	}
	switch what {
	case "learned":
		rows, err := m.softmax(words[0], words[1])
		if err != nil {
			return err
		}
		return atLeast(accuracy(rows), words[2])
	case "likens":
		return m.likens(o.out, words)
	case "misses":
		rows, err := m.numbers(words[0], words[1])
		if err != nil {
			return err
		}
		return atLeast(-missed(rows), "-"+words[2])
	case "foretells":
		rows, err := m.numbers(words[0], "")
		if err != nil {
			return err
		}
		return rates(o.out, rows)
	case "fits":
		all, err := m.ratings(words[0])
		if err != nil {
			return err
		}
		return atLeast(-missed(all), "-"+words[1])
	case "rates":
		all, err := m.ratings(words[0])
		if err != nil {
			return err
		}
		return rates(o.out, all)
	case "scores":
		return m.scores(o, words)
	case "holds":
		return m.holds(words[0])
	}
	return fmt.Errorf("no such expectation")
}

func atLeast(got float64, want string) error {
	least, err := strconv.ParseFloat(want, 64)
	if err == nil && !(got >= least) {
		err = fmt.Errorf("got %g", math.Abs(got))
	}
	return err
}

// tensors is a saved model, read by hand.
type tensors struct {
	folder string
	head   map[string]struct {
		Dtype   string
		Shape   []int
		Offsets []int `json:"data_offsets"`
	}
	data []byte
}

func readTensors(folder string) (*tensors, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	m := &tensors{folder: folder}
	size := binary.LittleEndian.Uint64(raw)
	m.data = raw[8+size:]
	return m, json.Unmarshal(raw[8:8+size], &m.head)
}

// tensor returns the values of one, in 64 bits.
func (m *tensors) tensor(name string) []float64 {
	h := m.head[name]
	if len(h.Offsets) != 2 {
		return nil
	}
	var values []float64
	for at := h.Offsets[0]; at < h.Offsets[1]; at += 4 {
		bits := binary.LittleEndian.Uint32(m.data[at:])
		if h.Dtype == "I32" {
			values = append(values, float64(int32(bits)))
		} else {
			values = append(values, float64(math.Float32frombits(bits)))
		}
	}
	return values
}

// scored is what a softmax model says of one row.
type scored struct {
	probabilities []float64
	said, truth   string
	of            float64 // the probability of the truth
}

func accuracy(rows []scored) float64 {
	right := 0.0
	for _, r := range rows {
		if r.said == r.truth {
			right++
		}
	}
	return right / float64(len(rows))
}

// table reads a plain CSV with a header, and finds which columns a model has. One without names of columns has those of the file, but the label's.
func (m *tensors) table(file, label string) (table [][]string, names []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if table, err = csv.NewReader(f).ReadAll(); err != nil {
		return nil, nil, err
	}
	if names, err = ids(m.folder, "columns"); err != nil {
		names = slices.DeleteFunc(slices.Clone(table[0]), func(name string) bool { return name == label })
	}
	return table, names, nil
}

// numbers returns what a linear model gives the rows of a plain CSV with a header, with the truth where there is a
// label.
func (m *tensors) numbers(file, label string) ([]rating, error) {
	table, names, err := m.table(file, label)
	if err != nil {
		return nil, err
	}
	weights, bias := m.tensor("weights"), m.tensor("bias")
	if len(bias) != 1 || len(weights) != len(names) {
		return nil, fmt.Errorf("%d weights and %d biases of %d columns", len(weights), len(bias), len(names))
	}
	var rows []rating
	for _, record := range table[1:] {
		x, err := features(names, table[0], record)
		if err != nil {
			return nil, err
		}
		r := rating{given: bias[0]}
		for j, v := range x {
			r.given += weights[j] * v
		}
		if at := slices.Index(table[0], label); at >= 0 {
			if r.truth, err = strconv.ParseFloat(record[at], 64); err != nil {
				return nil, err
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// softmax scores the rows of a plain CSV with a header. A linear model of two classes has the log-odds of the second alone.
func (m *tensors) softmax(file, label string) ([]scored, error) {
	table, names, err := m.table(file, label)
	if err != nil {
		return nil, err
	}
	labels, err := ids(m.folder, "labels")
	if err != nil {
		return nil, err
	}
	weights, bias := m.tensor("weights"), m.tensor("bias")
	if len(bias) == 1 && len(labels) == 2 {
		weights, bias = append(make([]float64, len(weights)), weights...), append([]float64{0}, bias...)
	}
	if len(bias) != len(labels) || len(weights) != len(labels)*len(names) {
		return nil, fmt.Errorf("%d weights and %d biases of %d labels and %d columns", len(weights), len(bias), len(labels), len(names))
	}
	var rows []scored
	for _, record := range table[1:] {
		x, err := features(names, table[0], record)
		if err != nil {
			return nil, err
		}
		r := scored{probabilities: slices.Clone(bias)}
		if at := slices.Index(table[0], label); at >= 0 {
			r.truth = record[at]
		}
		sum, best := 0.0, 0
		for k := range labels {
			for j, v := range x {
				r.probabilities[k] += weights[k*len(names)+j] * v
			}
			sum += math.Exp(r.probabilities[k])
			if r.probabilities[k] > r.probabilities[best] {
				best = k
			}
		}
		for k := range labels {
			r.probabilities[k] = math.Exp(r.probabilities[k]) / sum
		}
		r.said = labels[best]
		if at := slices.Index(labels, r.truth); at >= 0 {
			r.of = r.probabilities[at]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// features returns the values of one row in the order of a model's columns: a number of the column of that name, or 1
// or 0 for column=value.
func features(names, header, record []string) ([]float64, error) {
	x := make([]float64, len(names))
	for j, name := range names {
		if at := slices.Index(header, name); at >= 0 {
			v, err := strconv.ParseFloat(record[at], 64)
			if err != nil {
				return nil, err
			}
			x[j] = v
			continue
		}
		column, value, is := strings.Cut(name, "=")
		at := slices.Index(header, column)
		if !is || at < 0 {
			return nil, fmt.Errorf("the model has a column %s, and the file %v", name, header)
		}
		if record[at] == value || record[at] == "" && value == "(missing)" {
			x[j] = 1
		}
	}
	return x, nil
}

// near compares figures that are written with six digits, of 32-bit floats.
func near(got, want float64) bool { return math.Abs(got-want) <= 2e-4*max(1, math.Abs(want)) }

// likens compares the lines `label p p ...` of predict.
func (m *tensors) likens(out string, words []string) error {
	label := ""
	if len(words) > 1 {
		label = words[1]
	}
	rows, err := m.softmax(words[0], label)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(rows) {
		return fmt.Errorf("%d lines of %d rows", len(lines), len(rows))
	}
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		if fields[0] != rows[i].said || len(fields) != 1+len(rows[i].probabilities) {
			return fmt.Errorf("row %d: %s, want %s %v", i+1, line, rows[i].said, rows[i].probabilities)
		}
		for k, p := range rows[i].probabilities {
			if got, err := strconv.ParseFloat(fields[1+k], 64); err != nil || !near(got, p) {
				return fmt.Errorf("row %d: %s, want %v", i+1, line, rows[i].probabilities)
			}
		}
	}
	return nil
}

// rating is the number that a model gives a pair or a row.
type rating struct{ given, truth float64 }

// ratings gives the pairs of a plain TSV, with the truth in the third field where there is one.
func (m *tensors) ratings(file string) ([]rating, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	users, err := ids(m.folder, "users")
	if err != nil {
		return nil, err
	}
	items, err := ids(m.folder, "items")
	if err != nil {
		return nil, err
	}
	p, q, mean := m.tensor("user_factors"), m.tensor("item_factors"), m.tensor("mean")
	userBias, itemBias := m.tensor("user_bias"), m.tensor("item_bias")
	rank := len(p) / len(users)
	var all []rating
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		u, i := slices.Index(users, fields[0]), slices.Index(items, fields[1])
		r := rating{given: mean[0]}
		if u >= 0 {
			r.given += userBias[u]
		}
		if i >= 0 {
			r.given += itemBias[i]
		}
		for k := 0; u >= 0 && i >= 0 && k < rank; k++ {
			r.given += p[u*rank+k] * q[i*rank+k]
		}
		if len(fields) > 2 {
			if r.truth, err = strconv.ParseFloat(fields[2], 64); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// missed returns the root mean square of what numbers are off.
func missed(all []rating) float64 {
	sum := 0.0
	for _, r := range all {
		sum += (r.given - r.truth) * (r.given - r.truth)
	}
	return math.Sqrt(sum / float64(len(all)))
}

// rates compares the lines of predict.
func rates(out string, all []rating) error {
	lines := strings.Fields(out)
	if len(lines) != len(all) {
		return fmt.Errorf("%d lines of %d numbers", len(lines), len(all))
	}
	for i, line := range lines {
		if got, err := strconv.ParseFloat(line, 64); err != nil || !near(got, all[i].given) {
			return fmt.Errorf("row %d: %s, want %g", i+1, line, all[i].given)
		}
	}
	return nil
}

// scores compares a metric of the last line.
func (m *tensors) scores(o *outcome, words []string) error {
	got, err := o.last("metrics." + words[0])
	if err != nil {
		return err
	}
	want := 0.0
	switch {
	case words[0] == "rmse":
		var all []rating
		if len(words) > 2 {
			all, err = m.numbers(words[1], words[2])
		} else {
			all, err = m.ratings(words[1])
		}
		want = missed(all)
	default:
		var rows []scored
		if rows, err = m.softmax(words[1], words[2]); err != nil {
			return err
		}
		want = accuracy(rows)
		if words[0] == "logloss" {
			want = 0
			for _, r := range rows {
				want -= math.Log(max(r.of, 1e-15)) / float64(len(rows))
			}
		}
	}
	if v, ok := got.(float64); err != nil || !ok || !near(v, want) {
		return fmt.Errorf("got %v, want %g (%v)", got, want, err)
	}
	return nil
}

// holds compares a topic model's count of each word with the words of a text.
func (m *tensors) holds(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	counts, all, had := map[string]int{}, 0, 0
	for _, word := range strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		counts[word]++
	}
	words, err := ids(m.folder, "vocab")
	if err != nil {
		return err
	}
	values := m.tensor("word_topic")
	for w, word := range words {
		sum := 0
		for _, v := range values[w*len(values)/len(words) : (w+1)*len(values)/len(words)] {
			sum += int(v)
		}
		if sum > counts[word] {
			return fmt.Errorf("%q is there %d times, and the model has %d", word, counts[word], sum)
		}
		all, had = all+counts[word], had+sum
	}
	if 10*had < 7*all {
		return fmt.Errorf("the model has %d of %d tokens", had, all)
	}
	return nil
}
