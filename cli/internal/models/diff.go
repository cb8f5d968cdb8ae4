package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"bellows"
	"bellows/app/export"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/model"

	"github.com/spf13/cobra"
)

// diffReport is what `model diff --json` prints.
type diffReport struct {
	A        string         `json:"a"`
	B        string         `json:"b"`
	Same     bool           `json:"same"` // in all that predictions are made of: tensors, names, and how data is read
	Apps     [2]string      `json:"apps"`
	Settings []changed      `json:"settings"`
	Metrics  []changed      `json:"metrics"`
	Versions []changed      `json:"versions"`
	Details  bool           `json:"details"` // the application's own details differ
	Input    bool           `json:"input"`   // how data is read differs
	Tensors  []tensorChange `json:"tensors"`
	IDs      []idsChange    `json:"ids"`
}

// changed is a value that differs; "" where the model has none of the name.
type changed struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// tensorChange is a tensor of either model. Values are compared where both have them: cells of the same ids.
type tensorChange struct {
	Name     string        `json:"name"`
	A        *tensorReport `json:"a"` // null where it is not there
	B        *tensorReport `json:"b"`
	Compared int64         `json:"compared"` // cells
	Differ   int64         `json:"differ"`   // of these
	Max      float64       `json:"max"`      // largest |b - a|
	Mean     float64       `json:"mean"`     // mean |b - a|
	Relative *float64      `json:"relative"` // root of sum (b - a)² / sum a²; null where a is 0 or nothing is compared
}

// idsChange is a list of ids that differs.
type idsChange struct {
	File  string    `json:"file"`
	A     int       `json:"a"` // how many there are
	B     int       `json:"b"`
	OnlyA idsReport `json:"only_a"`
	OnlyB idsReport `json:"only_b"`
	Moved bool      `json:"moved"` // ids of both stand in another order
}

func (t *tool) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two models: settings, names, values",
		Annotations: line.Details("It compares the application, settings, metrics, shapes and names. For each tensor it prints how many values differ, the " +
			"largest and the mean difference, and the length of the difference relative to the first tensor. Values are matched by the names of " +
			"their users, items, features, labels and words, in whatever order they are stored. Names that only one model has are counted.\n\n" +
			"The exit code is 0 whether they differ or not; programs read \"same\" of --json."),
		Example: "model diff " + t.sample + " " + t.sample + "b\nmodel diff " + t.sample + " " + t.sample + "b --json",
		Args:    line.Exactly("A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			a, _, err := t.open(args[0])
			if err != nil {
				return err
			}
			b, _, err := t.open(args[1])
			if err != nil {
				return err
			}
			r, err := compare(a, b)
			if err != nil {
				return err
			}
			r.A, r.B = args[0], args[1]
			r.print(t.Console)
			return t.Object(r)
		},
	}
}

// compare returns the report without the names of the models.
func compare(a, b *model.Model) (*diffReport, error) {
	r := &diffReport{
		Apps: [2]string{a.App, b.App}, Settings: changes(a.Settings, b.Settings, func(s string) string { return s }),
		Metrics:  changes(a.Metrics, b.Metrics, func(v float64) string { return fmt.Sprintf("%.6g", v) }),
		Versions: changes(a.Versions, b.Versions, func(s string) string { return s }),
		Details:  !sameJSON(a.Details, b.Details), Input: !sameJSON(a.Input, b.Input), Tensors: []tensorChange{}, IDs: []idsChange{},
	}
	listsA, err := listsOf(a)
	if err != nil {
		return nil, err
	}
	listsB, err := listsOf(b)
	if err != nil {
		return nil, err
	}
	pairs := map[string]*matched{}
	for _, file := range slices.Sorted(maps.Keys(union(listsA, listsB))) {
		m := match(listsA[file], listsB[file])
		pairs[file] = m
		if c := m.change(file, listsA[file], listsB[file]); c != nil {
			r.IDs = append(r.IDs, *c)
		}
	}
	r.Same = a.App == b.App && len(r.IDs) == 0 && !r.Input
	seen := map[string]bool{}
	for _, t := range append(slices.Clone(a.Tensors), b.Tensors...) {
		if seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		c := compareTensor(a.Tensor(t.Name), b.Tensor(t.Name), axes(a, b, t.Name), pairs)
		r.Tensors = append(r.Tensors, c)
		r.Same = r.Same && c.Differ == 0 && c.A != nil && c.B != nil && c.A.DType == c.B.DType && slices.Equal(c.A.Shape, c.B.Shape)
	}
	// What is left is what the numbers mean: the loss that the application reads out of the details.
	r.Same = r.Same && sameMeaning(a, b)
	return r, nil
}

// sameMeaning compares what of the details decides predictions.
func sameMeaning(a, b *model.Model) bool {
	type meaning struct {
		Loss        string `json:"loss"`
		IndexBase   int    `json:"index_base"`
		Features    int    `json:"features"`
		Unobserved  float64
		Calibration struct{ Slope, Offset float64 }
		Scaling     struct{ Center []float32 }
		Alpha       []float64 // of topics
		Beta        float64
	}
	read := func(m *model.Model) (d meaning) {
		if len(m.Details) > 0 {
			_ = json.Unmarshal(m.Details, &d) // of other applications they are what they are
		}
		return d
	}
	return reflect.DeepEqual(read(a), read(b))
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 || json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// changes returns the values of two maps that differ, by name.
func changes[V comparable](a, b map[string]V, show func(V) string) []changed {
	list := []changed{}
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		x, inA := a[name]
		y, inB := b[name]
		if inA && inB && x == y {
			continue
		}
		c := changed{Name: name}
		if inA {
			c.A = show(x)
		}
		if inB {
			c.B = show(y)
		}
		list = append(list, c)
	}
	return list
}

func union[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// featuresList goes for the columns of weights: their names, or their numbers in the data.
const featuresList = "features"

// listsOf returns the lists of ids of a model by their files, and of linear and mlr what the columns of their weights
// are of.
func listsOf(m *model.Model) (map[string][]string, error) {
	lists := map[string][]string{}
	for _, ids := range m.IDs {
		lists[ids.File] = ids.Names
	}
	f, err := export.FeaturesOf(m)
	if f == nil || err != nil {
		return lists, err
	}
	delete(lists, "columns.txt")
	delete(lists, "features.txt")
	names := make([]string, f.Width)
	for j := range names {
		names[j] = nameOf(f, int32(j))
	}
	lists[featuresList] = names
	return lists, nil
}

// axes returns the lists that the dimensions of a tensor go by; "" is one that goes by its place.
func axes(a, b *model.Model, tensor string) []string {
	if a.App != b.App {
		return nil
	}
	app := a.App
	if w := a.Tensor("weights"); app == "linear" && w != nil && len(w.Shape) == 2 {
		app = "mlr" // a score for each class
	}
	known := map[string][]string{
		"mf/user_factors": {"users.txt", ""}, "mf/item_factors": {"items.txt", ""}, "mf/user_bias": {"users.txt"}, "mf/item_bias": {"items.txt"},
		"mlr/weights": {"labels.txt", featuresList}, "mlr/bias": {"labels.txt"}, "linear/weights": {featuresList}, "lda/word_topic": {"vocab.txt", ""},
	}
	return known[app+"/"+tensor]
}

// matched is the places of the ids that two lists have in common.
type matched struct {
	a, b         []int32
	onlyA, onlyB []int32
}

// match matches names, each once; where the lists are the same, places, so that of names that stand twice each is compared.
func match(a, b []string) *matched {
	m := &matched{}
	if slices.Equal(a, b) {
		for i := range a {
			m.a, m.b = append(m.a, int32(i)), append(m.b, int32(i))
		}
		return m
	}
	at := make(map[string]int32, len(b))
	for j, name := range b {
		at[name] = int32(j)
	}
	taken := make([]bool, len(b))
	for i, name := range a {
		if j, there := at[name]; there && !taken[j] {
			taken[j] = true
			m.a, m.b = append(m.a, int32(i)), append(m.b, j)
		} else {
			m.onlyA = append(m.onlyA, int32(i))
		}
	}
	for j, t := range taken {
		if !t {
			m.onlyB = append(m.onlyB, int32(j))
		}
	}
	return m
}

// change returns how two lists of names differ; nil if they are equal.
func (m *matched) change(file string, a, b []string) *idsChange {
	c := &idsChange{File: file, A: len(a), B: len(b), OnlyA: reportIDs(file, a, m.onlyA), OnlyB: reportIDs(file, b, m.onlyB), Moved: !slices.IsSorted(m.b)}
	if slices.Equal(a, b) {
		return nil
	}
	return c
}

func reportIDs(file string, names []string, at []int32) idsReport {
	r := idsReport{File: file, Count: len(at), First: []string{}}
	for _, i := range at[:min(idsShown, len(at))] {
		r.First = append(r.First, names[i])
	}
	return r
}

// compareTensor compares the cells that both have.
func compareTensor(a, b *model.Tensor, axes []string, pairs map[string]*matched) tensorChange {
	c := tensorChange{}
	for _, one := range []struct {
		t  *model.Tensor
		to **tensorReport
	}{{a, &c.A}, {b, &c.B}} {
		if one.t != nil {
			c.Name, *one.to = one.t.Name, &tensorReport{one.t.Name, one.t.DType(), one.t.Shape}
		}
	}
	if a == nil || b == nil || a.DType() != b.DType() || len(a.Shape) != len(b.Shape) {
		return c
	}
	inA, inB := []int{0}, []int{0} // cells of all dimensions but the last
	var last *matched
	for d := range a.Shape {
		var m *matched
		if len(axes) == len(a.Shape) && axes[d] != "" {
			m = pairs[axes[d]]
		}
		switch {
		case m != nil && (len(m.a)+len(m.onlyA) != a.Shape[d] || len(m.b)+len(m.onlyB) != b.Shape[d]), m == nil && a.Shape[d] != b.Shape[d]:
			return c // places say nothing
		case d < len(a.Shape)-1:
			inA, inB = spread(inA, a.Shape[d], m, true), spread(inB, b.Shape[d], m, false)
		default:
			last = m
		}
	}
	c.cells(a, b, inA, inB, last)
	return c
}

// spread goes from the cells of some dimensions to those of one more.
func spread(at []int, size int, m *matched, first bool) []int {
	places := make([]int32, size)
	switch {
	case m != nil && first:
		places = m.a
	case m != nil:
		places = m.b
	default:
		for i := range places {
			places[i] = int32(i)
		}
	}
	out := make([]int, 0, len(at)*len(places))
	for _, base := range at {
		for _, p := range places {
			out = append(out, base*size+int(p))
		}
	}
	return out
}

// cells compares along the last dimension, whose places are those of m, or the same of both.
func (t *tensorChange) cells(a, b *model.Tensor, inA, inB []int, m *matched) {
	widthA, widthB := 1, 1
	if n := len(a.Shape); n > 0 {
		widthA, widthB = a.Shape[n-1], b.Shape[n-1]
	}
	squares, own, sum := 0.0, 0.0, 0.0
	add := func(i, j int) {
		x, y := cell(a, i), cell(b, j)
		d := math.Abs(y - x)
		if d != 0 || a.Keys != nil && a.Keys[i] != b.Keys[j] {
			t.Differ++
		}
		t.Max = max(t.Max, d)
		sum, squares, own = sum+d, squares+d*d, own+x*x
		t.Compared++
	}
	for k, i := range inA {
		if m == nil {
			for p := range widthA {
				add(i*widthA+p, inB[k]*widthB+p)
			}
			continue
		}
		for p, q := range m.a {
			add(i*widthA+int(q), inB[k]*widthB+int(m.b[p]))
		}
	}
	if t.Compared == 0 {
		return
	}
	t.Mean = sum / float64(t.Compared)
	if own > 0 {
		relative := math.Sqrt(squares / own)
		t.Relative = &relative
	}
}

func cell(t *model.Tensor, i int) float64 {
	switch {
	case t.Keys != nil:
		return float64(t.Keys[i])
	case t.Bytes != nil:
		return float64(t.Bytes[i])
	case t.Counts != nil:
		return float64(t.Counts[i])
	}
	return float64(t.Floats[i])
}

func (r *diffReport) print(c *screen.Console) {
	c.Printf("%s: %s\n%s: %s\n", r.A, r.Apps[0], r.B, r.Apps[1])
	printChanges(c, "settings", r.Settings)
	printChanges(c, "metrics", r.Metrics)
	if len(r.IDs) > 0 {
		c.Printf("\nnames\n")
	}
	for _, ids := range r.IDs {
		c.Printf("  %-16s %s, and %s", ids.File, figures.Grouped(int64(ids.A)), figures.Grouped(int64(ids.B)))
		for i, only := range []idsReport{ids.OnlyA, ids.OnlyB} {
			if only.Count > 0 {
				c.Printf("; %s only in %s: %s", figures.Grouped(int64(only.Count)), []string{r.A, r.B}[i], only.quoted())
			}
		}
		if ids.Moved {
			c.Printf("; those of both in another order")
		}
		c.Printf("\n")
	}
	c.Printf("\ntensors\n")
	for _, t := range r.Tensors {
		t.print(c, r)
	}
	printChanges(c, "versions", r.Versions)
	if r.Same {
		c.Printf("\nthey predict the same\n")
	} else {
		c.Printf("\nthey differ\n")
	}
}

// quoted returns the first ids, and … where there are more.
func (r idsReport) quoted() string {
	text := ""
	for i, name := range r.First {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%q", bellows.Printable(name, nameMost))
	}
	if r.Count > len(r.First) {
		text += " …"
	}
	return text
}

func (t *tensorChange) print(c *screen.Console, r *diffReport) {
	switch {
	case t.B == nil:
		c.Printf("  %-16s only in %s: %s %v\n", t.Name, r.A, t.A.DType, t.A.Shape)
		return
	case t.A == nil:
		c.Printf("  %-16s only in %s: %s %v\n", t.Name, r.B, t.B.DType, t.B.Shape)
		return
	}
	c.Printf("  %-16s %s %v", t.Name, t.A.DType, t.A.Shape)
	if t.A.DType != t.B.DType || !slices.Equal(t.A.Shape, t.B.Shape) {
		c.Printf(" and %s %v", t.B.DType, t.B.Shape)
	}
	switch {
	case t.Compared == 0:
		c.Printf(": nothing to compare\n")
	case t.Differ == 0:
		c.Printf(": the same in %s\n", figures.Plural(int(t.Compared), "value"))
	default:
		c.Printf(": %s of %s differ, by %.3g at most and %.3g in the mean", figures.Grouped(t.Differ), figures.Plural(int(t.Compared), "value"), t.Max, t.Mean)
		if t.Relative != nil {
			c.Printf(", %.3g of the first's length", *t.Relative)
		}
		c.Printf("\n")
	}
}

func printChanges(c *screen.Console, title string, list []changed) {
	if len(list) == 0 {
		return
	}
	c.Printf("\n%s\n", title)
	for _, one := range list {
		show := func(s string) string {
			if s == "" {
				return "-"
			}
			return s
		}
		c.Printf("  %-16s %s, and %s\n", one.Name, show(one.A), show(one.B))
	}
}
