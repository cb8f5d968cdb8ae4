package inputs

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// defaultWords are the default words for missing values of docs/3-formats.md.
var defaultWords = []string{"?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", `\N`}

// missingNumbers trains least squares of a feature with missing values. These become its mean, and are counted.
func missingNumbers(in *input) {
	rows := 100 + in.rand.IntN(100)
	f := pick(in, nearby, nearby, farColumns[0], farColumns[3], farColumns[7])
	t, _, tv := f.columns(in, "t", in.units(rows, f.span))
	x := in.noise("x", rows)
	words := []string{""}
	args := []string{"--set", "l2=1e-9", "--label", "y"}
	name := pick(in, "empty", "default words", "default words", "number", "own words", "own words beside default words")
	switch name {
	case "default words":
		words = append(slices.Clone(defaultWords), "")
	case "number":
		words = []string{"-999"}
		args = append(args, "--missing", "-999")
	case "own words":
		words = []string{"unknown", "n.a.", ""}
		args = append(args, "--missing", "unknown,n.a.")
	case "own words beside default words":
		words = []string{"unknown", "NaN", "NA", "-999"}
		args = append(args, "--missing", "unknown,-999")
	}
	form := pick(in, tableForms...)
	if name == "number" || name == "empty" {
		t.kind = pick(in, f.kinds...)
	} else {
		t.kind, t.quoted = nil, true
	}
	var sum float64
	gaps := []int{}
	for i := range rows {
		if i > 2 && in.one(5) {
			gaps = append(gaps, i)
			t.cells[i] = words[in.rand.IntN(len(words))]
			if name == "number" && t.kind == arrow.DataType(arrow.PrimitiveTypes.Uint64) {
				t.kind = arrow.PrimitiveTypes.Float64
			}
		} else {
			sum += tv[i]
		}
	}
	if len(gaps) == 0 {
		return
	}
	mean := sum / float64(rows-len(gaps))
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Float64}
	sd := deviation(tv)
	for i := range rows {
		y.cells = append(y.cells, fmt.Sprintf("%.4f", 3*tv[i]/sd+x.floats()[i]+0.2*in.rand.Float64()))
	}
	if d, ok := t.kind.(*arrow.Decimal128Type); ok && d.Scale > 0 && name == "number" {
		t.kind = arrow.PrimitiveTypes.Float64
	}
	in.describe(name, f.name, form, "ridge")
	file := in.write("train", form, table{y, t, x}, "y", "")
	r := in.train("ridge", file, append(args, "--test", file)...)
	if !in.mustRead(r) {
		return
	}
	a := in.last(r)
	if a.Missing != 2*len(gaps) && a.Missing != len(gaps) {
		in.wrong("train counts %d missing values; there are %d, twice with the test", a.Missing, len(gaps))
	}
	fill := in.fill(f.offset) // rows that may be kept aside are not counted in it
	if !in.close("mean in place of missing values", fill, mean, sd/3) {
		return
	}
	for _, g := range gaps {
		tv[g] = fill
	}
	expected, _ := fit(y.floats(), nil, tv, x.floats())
	r2, _ := scores(y.floats(), expected, nil)
	in.close("R2", a.Metrics["test_r2"], r2, 2e-6)
	in.predictedNear(in.predict(file), "0", expected, 2e-5)
	if e, ok := in.eval(file); ok && e.Missing != len(gaps) {
		in.wrong("eval counts %d missing values, want %d", e.Missing, len(gaps))
	}
	p := in.bellows("predict", in.path("model"), file, "--json")
	if in.mustRead(p) {
		if got := in.last(p).Missing; got != len(gaps) {
			in.wrong("predict counts %d missing values, want %d", got, len(gaps))
		}
	}
}

// missingWords puts a missing word among labels, ids, ratings and categories. By --missing it is refused, merged with the empty field, or an ordinary value.
func missingWords(in *input) {
	word := pick(in, defaultWords...)
	form := pick(in, tableForms...)
	rows := 90
	which := in.deal(rows, 3)
	z := in.noise("z", rows)
	use := pick(in, "label", "number to predict", "user", "item", "rating", "category", "category")
	in.describe(word, use, form)
	switch use {
	case "label":
		in.labelWord(word, form, which, z)
	case "category":
		in.categoryWord(word, form, which, z)
	case "number to predict", "rating":
		n := in.noise("rating", rows)
		n.cells[in.rand.IntN(rows)] = word
		n.kind, n.quoted = nil, true
		app, t, args := "mf", table{wholes("user", which), wholes("item", in.deal(rows, 9)), n}, []string{"--epochs", "2"}
		if use != "rating" {
			n.name = "y"
			app, t, args = "ridge", table{n, z}, []string{"--label", "y"}
		}
		if in.one(2) {
			args = append(args, "--missing", pick(in, "", word, "absent"))
		}
		in.mustRefuse(in.train(app, in.write("train", form, t, "y", ""), args...))
	default:
		values := []string{"ann", "bob", word}
		id := &column{name: use, quoted: true}
		for _, w := range which {
			id.cells = append(id.cells, values[w])
		}
		other := wholes(map[string]string{"user": "item", "item": "user"}[use], in.deal(rows, 9))
		n := in.noise("rating", rows)
		file := in.write("train", form, table{id, other, n}, "", "")
		in.mustRefuse(in.train("mf", file, "--epochs", "2"), "--missing")
		if in.one(2) {
			in.mustRefuse(in.train("mf", file, "--epochs", "2", "--missing", word+",other"), "--missing")
		}
		if r := in.train("mf", file, "--epochs", "2", "--missing", pick(in, "", "other")); in.mustRead(r) {
			in.same(use+"s.txt", sorted(in.lines("model/"+use+"s.txt")), sorted(values))
			in.eval(file)
		}
		in.report.Outcome = "exact"
	}
}

// wholes returns a column of whole numbers from 100 on.
func wholes(name string, which []int) *column {
	c := &column{name: name, kind: arrow.PrimitiveTypes.Int64}
	for _, w := range which {
		c.cells = append(c.cells, fmt.Sprint(100+w))
	}
	return c
}

// labelWord trains three classes. The name of one is a word for missing values.
func (in *input) labelWord(word, form string, which []int, z *column) {
	y := &column{name: "y", quoted: true}
	for _, w := range which {
		y.cells = append(y.cells, []string{"some", "all", word}[w])
	}
	file := in.write("train", form, append(table{y, z}, indicators(which, 3)...), "y", "")
	args := []string{"--label", "y", "--epochs", "12"}
	in.mustRefuse(in.train("mlr", file, args...), "--missing")
	in.mustRefuse(in.train("mlr", file, append(args, "--missing", word)...), "--missing")
	if in.mustRead(in.train("mlr", file, append(args, "--missing", pick(in, "", "other"))...)) {
		in.report.Outcome = "exact"
		in.same("labels.txt", in.lines("model/labels.txt"), sorted(y.cells))
		if a, ok := in.eval(file); ok && a.Metrics["accuracy"] != 1 {
			in.wrong("accuracy %v, want 1", a.Metrics["accuracy"])
		}
		in.same("predict", in.predict(file), y.cells)
	}
}

// categoryWord trains on a column of text with a missing word, which decides, and the empty field.
func (in *input) categoryWord(word, form string, which []int, z *column) {
	k := &column{name: "k", quoted: true}
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Int64}
	for _, w := range which {
		k.cells = append(k.cells, []string{word, "DE", ""}[w])
		y.cells = append(y.cells, []string{"1", "0", "0"}[w])
	}
	args := []string{"--label", "y"}
	app := pick(in, "mlr", "logistic")
	if app == "mlr" {
		args = append(args, "--epochs", "20")
	}
	flag, merged := pick(in, "none", "''", "other", "the word"), false
	switch flag {
	case "''":
		args = append(args, "--missing", "")
	case "other":
		args = append(args, "--missing", "other")
	case "the word":
		merged = true
		args = append(args, "--missing", word+",other")
	}
	in.describe("--missing "+flag, app)
	file := in.write("train", form, table{y, k, z}, "y", "")
	r := in.train(app, file, args...)
	if !in.mustRead(r) {
		return
	}
	a := in.last(r)
	if flag == "none" && !in.warned(a, "k") {
		in.wrong("no warning shows %s in column k: %q", word, a.Warnings)
	}
	columns := in.lines("model/columns.txt")
	if slices.Contains(columns, "k="+word) == merged {
		in.wrong("columns.txt: %q; merged with the empty field: want %t", columns, merged)
	}
	e, ok := in.eval(file)
	if !ok {
		return
	}
	if right := e.Metrics["accuracy"] == 1; right == merged {
		in.wrong("accuracy %v; merged with the empty field: want %t", e.Metrics["accuracy"], merged)
	}
	gaps := 0
	for _, cell := range k.cells {
		if cell == "" || cell == word && (merged || flag == "none") { // by default the word counts as missing, and stays a category
			gaps++
		}
	}
	if e.Missing != gaps {
		in.wrong("eval counts %d missing values, want %d", e.Missing, gaps)
	}
}

// dresses are ways to write a number that are not read.
var dresses = []struct{ name, format string }{
	{"percent", "%d%%"}, {"percent with blank", "%d %%"}, {"dollar", "$%d.5"}, {"euro", "%d €"}, {"code of a currency", "USD %d"}, {"thousands", "1,%03d"}, {"thousands with point", "1.%03d,25"},
	{"apostrophe", "1'%03d"}, {"narrow blank", "1\u202F%03d"}, {"no-break blank", "1\u00A0%03d"}, {"minus", "\u2212%d"}, {"width of zero", "%d\u200B"}, {"Fortran", "%d.5D+02"}, {"comma", "%d,5"},
	{"parentheses", "(%d)"}, {"plus or minus", "-$%d"}, {"underscore", "1_%03d"}, {"Arabic", "a"}, {"full width", "f"}, {"trailing minus", "%d-"}, {"blank of thousands", "1 %03d"},
}

// dressed writes a number in a notation.
func dressed(format string, n int) string {
	zero := map[string]rune{"a": '\u0660', "f": '\uFF10'}[format]
	if zero == 0 {
		return fmt.Sprintf(format, n)
	}
	return strings.Map(func(r rune) rune { return zero + r - '0' }, fmt.Sprint(n))
}

// notations writes numbers in another notation where a number is wanted. They are refused by place. A flag takes them as text or leaves them out.
func notations(in *input) {
	d := pick(in, dresses...)
	use := pick(in, "feature", "feature", "feature", "number to predict", "class", "rating", "weight", "time", "user")
	form := pick(in, tableForms...)
	rows := 80
	c := &column{name: "c", quoted: true}
	many := in.one(2) || use == "class"
	for r := range rows {
		if many || r%20 == 7 {
			c.cells = append(c.cells, dressed(d.format, 100+in.rand.IntN(5)))
		} else {
			c.cells = append(c.cells, fmt.Sprint(100+in.rand.IntN(5)))
		}
	}
	in.describe(d.name, use, form, map[bool]string{true: "all", false: "some"}[many])
	z := in.noise("z", rows)
	y := wholes("y", in.deal(rows, 2))
	switch use {
	case "user":
		file := in.write("train", form, table{{name: "user", quoted: true, cells: c.cells}, wholes("item", in.deal(rows, 9)), in.noise("rating", rows)}, "", "")
		if in.mustRead(in.train("mf", file, "--epochs", "2")) {
			in.same("users.txt", sorted(in.lines("model/users.txt")), sorted(c.cells))
		}
	case "rating":
		file := in.write("train", form, table{wholes("user", in.deal(rows, 9)), wholes("item", in.deal(rows, 7)), {name: "rating", quoted: true, cells: c.cells}}, "", "")
		in.mustRefuse(in.train("mf", file, "--epochs", "2"), "rating")
	case "number to predict":
		in.mustRefuse(in.train("ridge", in.write("train", form, table{c, z}, "c", ""), "--label", "c"), `"c"`)
	case "class":
		file := in.write("train", form, append(table{c, z}, y), "c", "")
		if in.refused(in.train("mlr", file, "--label", "c", "--epochs", "2"), `"c"`) {
			if in.mustRead(in.train("mlr", file, "--label", "c", "--categorical", "c", "--epochs", "2")) {
				in.report.Outcome = "exact"
			} else {
				return
			}
		}
		in.same("labels.txt", in.lines("model/labels.txt"), sorted(c.cells))
	case "weight":
		in.mustRefuse(in.train("ridge", in.write("train", form, table{y, c, z}, "y", ""), "--label", "y", "--weight", "c"), `"c"`, "weight")
	case "time":
		in.mustRefuse(in.train("ridge", in.write("train", form, table{y, c, z}, "y", ""), "--label", "y", "--holdout", "time", "--time", "c"), `"c"`, "time")
	default:
		file := in.write("train", form, table{y, c, z}, "y", "")
		app := pick(in, "mlr", "ridge", "logistic")
		in.mustRefuse(in.train(app, file, "--label", "y"), `"c"`)
		if in.mustRead(in.train(app, file, "--label", "y", "--categorical", "c")) {
			var want []string
			for _, cell := range c.cells {
				want = append(want, "c="+cell)
			}
			in.same("columns.txt", sorted(in.lines("model/columns.txt")), sorted(append(want, "z")))
		}
		if in.mustRead(in.train(app, file, "--label", "y", "--ignore", "c")) {
			in.same("columns.txt", in.lines("model/columns.txt"), []string{"z"})
		}
	}
}

// text returns a value as JSON.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// fill returns what the model has in place of missing values of its first feature, less an offset.
func (in *input) fill(offset string) float64 {
	var manifest struct {
		Input struct {
			Features []struct{ Fill, Origin float64 }
		}
	}
	data, err := os.ReadFile(in.path("model/manifest.json"))
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil || len(manifest.Input.Features) == 0 {
		in.wrong("the manifest has no features: %v", err)
		return math.NaN()
	}
	f := manifest.Input.Features[0]
	from := new(big.Rat).SetFloat64(f.Origin)
	less, _ := from.Sub(from, number(offset)).Float64()
	return less + f.Fill
}
