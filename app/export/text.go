package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"bellows/model"
)

// textMost bounds the numbers of a text: with few and far-between features or ids most would be zeros.
const textMost = 1 << 28

func quotedAs(c int, label string) string { return fmt.Sprintf("%d = %q", c, label) }

// newLinearText makes the text that LIBLINEAR's predict loads (its README, "Library Usage": struct model). Scores of
// two
// classes are one row of weights, and the first label is that of positive scores. Softmax of more is MCSVM_CS, which
// has a row for each class and predicts the largest score; LIBLINEAR gives no probabilities for it, and those of its
// other kinds would not be softmax's. The bias is the weight of a feature that is always 1.
func newLinearText(m *model.Model) (*File, error) {
	s, err := calibrated(m, LIBLINEAR)
	if err != nil {
		return nil, err
	}
	t, f := &linearText{scores: s, lines: s.features}, &File{Format: LIBLINEAR}
	if len(s.narrow) > 0 {
		t.lines = int(s.narrow[len(s.narrow)-1]) + 1
	}
	if int64(t.lines)*int64(len(s.bias)) > textMost {
		return nil, refused(LIBLINEAR, "the text would have a line for each of %d features, %d numbers in all", t.lines, int64(t.lines)*int64(len(s.bias))).Hinted("npz has the weights of those that occur")
	}
	switch s.loss {
	case lossSoftmax:
		t.solver = "MCSVM_CS"
		if len(s.labels) == 2 { // one score tells them apart, and its sigmoid is their softmax
			t.solver, t.differ = "L2R_LR", true
		} else {
			f.Notes = append(f.Notes, "LIBLINEAR has no softmax: it predicts the same labels by these weights, and no probabilities")
		}
	case lossLogistic:
		t.solver = "L2R_LR"
	case lossHinge:
		t.solver = "L2R_L1LOSS_SVC_DUAL"
	case lossSquaredHinge:
		t.solver = "L2R_L2LOSS_SVC"
	case lossInsensitive:
		t.solver = "L2R_L1LOSS_SVR_DUAL"
	default:
		t.solver = "L2R_L2LOSS_SVR"
		if s.labels != nil {
			return nil, refused(LIBLINEAR, "nothing in it stands for loss %s of classes", s.loss).Hinted("it can be written as npz")
		}
	}
	if s.labels != nil && !t.number() {
		f.Notes = append(f.Notes, "LIBLINEAR's labels are whole numbers; here they are the lines of labels.txt from 0: "+named(s.labels))
	}
	if s.columns != nil {
		f.Notes = append(f.Notes, "LIBLINEAR's features are numbers; here they are the lines of columns.txt from 1")
	} else if s.base == 0 {
		f.Notes = append(f.Notes, "LIBLINEAR counts features from 1: feature 0 of the data is its 1")
	}
	notes, err := rowNotes(m, LIBLINEAR)
	if err != nil {
		return nil, err
	}
	f.Notes, f.write = append(f.Notes, notes...), t.write
	return f, nil
}

// linearText is the text in its parts.
type linearText struct {
	*scores
	solver  string
	differ  bool  // the second class's weights less the first's are the one row
	lines   int   // features of the text
	numbers []int // by class
}

// number gives each class its number: its label where all are whole numbers, each another. It says whether they are.
func (t *linearText) number() bool {
	seen := map[int]bool{}
	for _, label := range t.labels {
		y, err := strconv.ParseFloat(label, 64)
		if err != nil || y != math.Trunc(y) || math.Abs(y) > math.MaxInt32 || seen[int(y)] {
			break
		}
		seen[int(y)] = true
		t.numbers = append(t.numbers, int(y))
	}
	if whole := len(t.numbers) == len(t.labels); whole {
		return true
	}
	t.numbers = t.numbers[:0]
	for c := range t.labels {
		t.numbers = append(t.numbers, c)
	}
	return false
}

func (t *linearText) write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	classes := max(2, len(t.labels)) // for numbers LIBLINEAR also has two, and no labels
	fmt.Fprintf(b, "solver_type %s\nnr_class %d\n", t.solver, classes)
	if t.labels != nil {
		b.WriteString("label")
		for c := range t.numbers {
			if len(t.numbers) == 2 { // the first is that of positive scores, which here is the second
				c = 1 - c
			}
			fmt.Fprintf(b, " %d", t.numbers[c])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "nr_feature %d\nbias 1\nw\n", t.lines)
	column := 0
	for j := range t.lines {
		if t.narrow != nil && int(t.narrow[column]) != j {
			t.line(b, func(int) float32 { return 0 })
			continue
		}
		t.line(b, func(c int) float32 { return t.weights[c*t.features+column] })
		column++
	}
	if t.origin == 0 && len(t.origins) == 0 {
		t.line(b, func(c int) float32 { return t.bias[c] })
	} else if t.differ {
		fmt.Fprintf(b, "%.17g \n", t.raised(1)-t.raised(0))
	} else {
		for c := range t.bias {
			fmt.Fprintf(b, "%.17g ", t.raised(c))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// line writes the weights of a feature, one a row, each followed by a blank as LIBLINEAR does.
func (t *linearText) line(b *bufio.Writer, weight func(c int) float32) {
	var text []byte
	bits := 32
	if len(t.origins) > 0 { // the bias belongs to the very numbers
		bits = 64
	}
	put := func(v float64, bits int) {
		text = strconv.AppendFloat(text[:0], v, 'g', -1, bits)
		b.Write(append(text, ' '))
	}
	if t.differ {
		put(float64(weight(1))-float64(weight(0)), 64)
	} else {
		for c := range t.bias {
			put(float64(weight(c)), bits)
		}
	}
	b.WriteByte('\n')
}

// The ids of models of mf.
const (
	usersFile = "users.txt"
	itemsFile = "items.txt"
)

// factors is a model of mf: the rating of a user and an item is mean + userBias + itemBias + their factors' product.
type factors struct {
	rank           int
	users, items   []string
	uf, qf, ub, qb []float32
	mean           float32
	origin         float64 // what is added to all that is predicted
}

func readFactors(m *model.Model) (*factors, error) {
	r := m.Reader(mfName)
	f := &factors{users: m.Names(usersFile), items: m.Names(itemsFile)}
	f.uf = r.Floats("user_factors", len(f.users), model.Any)
	f.rank = len(f.uf) / max(1, len(f.users))
	f.qf, f.ub, f.qb = r.Floats("item_factors", len(f.items), f.rank), r.Floats("user_bias", len(f.users)), r.Floats("item_bias", len(f.items))
	if mean := r.Floats("mean", 1); len(mean) == 1 {
		f.mean = mean[0]
	}
	if len(m.Details) > 0 {
		var d struct {
			Origin float64 `json:"origin"`
		}
		r.ReadDetails(&d)
		f.origin = d.Origin
	}
	return f, r.Err()
}

// newLIBMF makes the text that LIBMF's mf-predict loads. It has no biases, so they become two more factors: a user's
// bias and the mean times 1, and 1 times an item's. If all ids are whole numbers from 0 they are LIBMF's, so that it
// reads the same ratings; otherwise its numbers are lines of users.txt and items.txt.
func newLIBMF(m *model.Model) (*File, error) {
	t, err := readFactors(m)
	if err != nil {
		return nil, err
	}
	f := &File{Format: LIBMF}
	if t.origin != 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("LIBMF's numbers have 32 bits, and the ratings are far from 0: to what it predicts, %.17g is to be added", t.origin))
	}
	users, items := wholes(t.users), wholes(t.items)
	if users == nil || items == nil {
		users, items = nil, nil
		f.Notes = append(f.Notes, "LIBMF's users and items are numbers; here they are the lines of users.txt and items.txt from 0")
	}
	f.Notes = append(f.Notes, fmt.Sprintf("of a user or an item that the model does not know LIBMF predicts the mean, %g, without the bias of the other", t.mean))
	f.write = func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		fmt.Fprintf(b, "f 0\nm %d\nn %d\nk %d\nb %s\n", extent(users, len(t.users)), extent(items, len(t.items)), t.rank+2, strconv.FormatFloat(float64(t.mean), 'g', -1, 32))
		t.rows(b, 'p', users, t.uf, func(u int) (float32, float32) { return t.ub[u] + t.mean, 1 })
		t.rows(b, 'q', items, t.qf, func(i int) (float32, float32) { return 1, t.qb[i] })
		return b.Flush()
	}
	return f, nil
}

// wholes returns, by number, the place of an id in a list of whole numbers from 0, and -1: none. It is nil if an id is
// not a whole number, is written differently, or the numbers are far apart.
func wholes(ids []string) []int32 {
	top, numbers := -1, make([]int, len(ids))
	for i, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 || strconv.Itoa(n) != id || n > 16*len(ids)+1024 {
			return nil
		}
		numbers[i], top = n, max(top, n)
	}
	place := make([]int32, top+1)
	for i := range place {
		place[i] = -1
	}
	for i, n := range numbers {
		place[n] = int32(i)
	}
	return place
}

func extent(place []int32, lines int) int {
	if place == nil {
		return lines
	}
	return len(place)
}

// rows writes the rows of one side: T and its factors, or F and zeros where no id has the number.
func (t *factors) rows(b *bufio.Writer, side byte, place []int32, factors []float32, biases func(i int) (float32, float32)) {
	var text []byte
	for n := range extent(place, len(factors)/max(1, t.rank)) {
		i := n
		if place != nil {
			i = int(place[n])
		}
		text = strconv.AppendInt(append(text[:0], side), int64(n), 10)
		if i < 0 {
			text = append(text, " F "...)
			for range t.rank + 2 {
				text = append(text, "0 "...)
			}
		} else {
			text = append(text, " T "...)
			for _, v := range factors[i*t.rank : (i+1)*t.rank] {
				text = append(strconv.AppendFloat(text, float64(v), 'g', -1, 32), ' ')
			}
			one, other := biases(i)
			text = append(strconv.AppendFloat(text, float64(one), 'g', -1, 32), ' ')
			text = append(strconv.AppendFloat(text, float64(other), 'g', -1, 32), ' ')
		}
		b.Write(append(text, '\n'))
	}
}
