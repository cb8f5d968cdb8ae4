package inputs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// labels trains classes with labels that a float merges, on features that separate them. So the right accuracy is 1.
func labels(in *input) {
	n := 2 + in.rand.IntN(3)
	c := in.numberClass(n)
	if in.one(3) {
		c = in.wordClass(n)
	}
	in.labelled(c)
}

// codes trains classes with labels of digits after zeros, or of one number in several spellings.
func codes(in *input) {
	c := in.codeClass(4)
	if c.name == "spelled numbers" {
		c.values = []string{"+7", "7", "7.0", "8", "8.00", "9"}
	}
	in.labelled(c)
}

// labelled trains, evaluates and predicts classes of a class of values.
func (in *input) labelled(c class) {
	rows := 60 + in.rand.IntN(60)
	which := in.deal(rows, len(c.values))
	y := c.column("y", which)
	byText := c.words || strings.Contains(c.name, "codes")
	list, of := spelled(y.cells, byText)
	if byText && !c.words {
		slices.SortStableFunc(list, func(a, b string) int { return number(a).Cmp(number(b)) })
	}
	place := map[string]int{}
	for i, l := range list {
		place[l] = i
	}
	classes := make([]int, rows)
	for r := range classes {
		classes[r] = place[of[r]]
	}
	t := append(table{y}, indicators(classes, len(list))...)
	t = append(t, in.noise("z", rows))
	forms := c.allowed(append(slices.Clone(tableForms), sparseForms...))
	form := pick(in, forms...)
	app := "mlr"
	if len(list) == 2 {
		app = pick(in, "mlr", "logistic", "svm", "linear")
	} else if c.words || in.one(2) {
		app = pick(in, "mlr", "softmax")
	}
	in.describe(c.name, form, app)
	file := in.write("train", form, t, "y", "")
	args := []string{}
	if slices.Contains(tableForms, form) {
		args = append(args, "--label", "y")
	}
	if app == "mlr" || app == "softmax" {
		args = append(args, "--epochs", "12")
	}
	if app == "linear" {
		args = append(args, "--set", "loss=logistic")
	}
	if c.name == "missing words" {
		r := in.train(app, file, args...)
		in.mustRefuse(r, "--missing")
		in.report.Outcome = ""
		args = append(args, "--missing", "")
	}
	if !in.mustRead(in.train(app, file, args...)) {
		return
	}
	got := in.lines("model/labels.txt")
	if byText && !c.words {
		got, list = sorted(got), sorted(list)
	}
	in.same("labels.txt", got, list)
	second := file
	if slices.Contains(tableForms, form) && in.one(2) {
		other := pick(in, tableForms...)
		in.describe("scored as " + other)
		second = in.write("test", other, t, "y", "")
	}
	if a, ok := in.eval(second); ok {
		if a.Metrics["accuracy"] != 1 || len(a.Unknown) > 0 {
			in.wrong("eval: accuracy %v, unknown %v; want 1 and none", a.Metrics["accuracy"], a.Unknown)
		}
	}
	in.same("predict", in.predict(second), of)
}

// textClass draws values that are text for a model: numbers that a float merges, words, or codes.
func (in *input) textClass(n int) class {
	c := in.numberClass(n)
	switch in.rand.IntN(3) {
	case 0:
		c = in.wordClass(n)
	case 1:
		c = in.codeClass(n)
	}
	return c
}

// ids trains ratings of users or items with ids that a float merges, and looks for all of them in the model.
func ids(in *input) {
	n := 4 + in.rand.IntN(4)
	c := in.textClass(n)
	n = len(c.values)
	name, file := "user", "users.txt"
	if in.one(2) {
		name, file = "item", "items.txt"
	}
	const others = 40
	rows := n * others
	exact, other, rating := &column{name: name, kind: c.kind, quoted: c.quoted}, &column{name: "user", kind: arrow.PrimitiveTypes.Int64}, &column{name: "rating", kind: arrow.PrimitiveTypes.Float64}
	if name == "user" {
		other.name = "item"
	}
	for _, at := range in.rand.Perm(rows) {
		exact.cells = append(exact.cells, c.values[at%n])
		other.cells = append(other.cells, fmt.Sprint(1000+at/n))
		rating.cells = append(rating.cells, fmt.Sprint(10*(at%n)+at/n%3))
	}
	t := table{exact, other, rating}
	if name == "item" {
		t = table{other, exact, rating}
	}
	form := pick(in, tableForms...)
	in.describe(c.name, form, name, "mf")
	in.bare = in.one(3) && strings.Contains("csv.gz tsv.gz", form)
	data := in.write("train", form, t, "", "")
	args := []string{"--epochs", "40", "--set", "rank=2"}
	if c.name == "missing words" {
		in.mustRefuse(in.train("mf", data, args...), "--missing")
		in.report.Outcome = ""
		args = append(args, "--missing", "")
	}
	if !in.mustRead(in.train("mf", data, args...)) {
		return
	}
	in.same(file, sorted(in.lines("model/"+file)), sorted(c.values))
	second := data
	if in.one(2) && !in.bare {
		form = pick(in, tableForms...)
		in.describe("scored as " + form)
		second = in.write("test", form, t, "", "")
	}
	if a, ok := in.eval(second); ok {
		if len(a.Unknown) > 0 {
			in.wrong("eval: unknown %v, want none", a.Unknown)
		}
	}
	if got := in.predict(second); len(got) != rows {
		in.wrong("predict: %d rows, want %d", len(got), rows)
	} else {
		in.checkApart(exact, got, c.values)
	}
}

// checkApart records a finding unless the mean prediction rises by 5 at least, of 10, from one id to the next.
func (in *input) checkApart(ids *column, predicted, values []string) {
	sums := map[string]float64{}
	for r, p := range predicted {
		x, err := strconv.ParseFloat(p, 64)
		if err != nil {
			in.wrong("predict: row %d: %q is no number", r+1, p)
			return
		}
		sums[ids.cells[r]] += x * float64(len(values)) / float64(len(predicted))
	}
	for i, v := range values[1:] {
		if rise := sums[v] - sums[values[i]]; rise < 5 {
			in.wrong("predict: the ratings of %q are %.3g above those of %q, want about 10", v, rise, values[i])
		}
	}
}

// categories trains on a column of text with values that a float merges. The label or the number to predict depends on the value alone.
func categories(in *input) {
	n := 3 + in.rand.IntN(3)
	c := in.textClass(n)
	n = len(c.values)
	rows := 80 + in.rand.IntN(40)
	which := in.deal(rows, n)
	app := pick(in, "mlr", "ridge", "linear")
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Int64}
	for _, w := range which {
		if app == "ridge" {
			y.cells = append(y.cells, fmt.Sprint(w*w*10))
		} else {
			y.cells = append(y.cells, []string{"no", "yes", "maybe"}[w%min(n, 3)])
			y.kind, y.quoted = nil, true
		}
	}
	t := table{y, c.column("k", which), in.noise("z", rows)}
	form := pick(in, tableForms...)
	in.describe(c.name, form, app)
	file := in.write("train", form, t, "y", "")
	args := []string{"--label", "y", "--categorical", "k"}
	switch app {
	case "ridge":
		args = append(args, "--set", "l2=1e-5")
	default:
		args = append(args, "--set", "l2=1e-4", "--epochs", "20")
	}
	if c.name == "missing words" && in.one(2) {
		in.describe("--missing ''")
		args = append(args, "--missing", "")
	}
	r := in.train(app, file, args...)
	if !in.mustRead(r) {
		return
	}
	if c.name == "missing words" && !slices.Contains(args, "") {
		if a := in.last(r); !in.warned(a, "--missing") {
			in.wrong("no warning names the missing values of column k: %q", a.Warnings)
		}
	}
	var want []string
	for _, v := range c.values {
		want = append(want, "k="+v)
	}
	got := in.lines("model/columns.txt")
	in.same("columns.txt", sorted(got), sorted(append(want, "z")))
	if form = pick(in, tableForms...); in.one(2) {
		in.describe("scored as " + form)
		file = in.write("test", form, t, "y", "")
	}
	if a, ok := in.eval(file); ok {
		if acc, is := a.Metrics["accuracy"]; is && acc != 1 || len(a.Unknown) > 0 || app == "ridge" && !(a.Metrics["rmse"] < 0.01) {
			in.wrong("eval: metrics %v, unknown %v; the value of k decides all", a.Metrics, a.Unknown)
		}
	}
	// A value that training did not have is counted, however close it is to one that it had.
	if c.kind == nil || c.quoted {
		return
	}
	last := len(c.values[0]) - 1
	stranger := c.values[0][:last] + map[bool]string{true: "3", false: "8"}[c.values[0][last] >= '5']
	if slices.Contains(c.values, stranger) {
		return
	}
	k := &column{name: "k", kind: c.kind, cells: []string{stranger, c.values[1]}}
	small := table{{name: "y", kind: y.kind, quoted: y.quoted, cells: y.cells[:2]}, k, {name: "z", kind: arrow.PrimitiveTypes.Float64, cells: []string{"0.1", "0.2"}}}
	if a, ok := in.eval(in.write("stranger", form, small, "y", "")); ok && len(a.Unknown) == 0 {
		in.wrong("eval: %s counts as a value of k that training had", stranger)
	}
}

// sparseNames trains on sparse rows with names of features of many digits: exact, or refused.
func sparseNames(in *input) {
	form := pick(in, "vw", "svm", "libfm")
	names := pick(in,
		[]string{"4294967296", "4294967297"}, []string{"18446744073709551616", "18446744073709551617"}, []string{"9007199254740993", "9007199254740992"},
		[]string{"4294967295", "4294967294"}, []string{"16777217", "16777216"}, []string{"2147483648", "2147483647"})
	rows := 60
	var out strings.Builder
	for r := range rows {
		at := in.rand.IntN(2)
		if form == "vw" {
			fmt.Fprintf(&out, "%d |f %s:1 z:%s\n", at, names[at], thousandths(int64(r)))
		} else {
			fmt.Fprintf(&out, "%d 1:%s %s:1\n", at, thousandths(int64(r)), names[at])
		}
	}
	in.describe(names[0], form, "logistic")
	file := in.save("train."+form, []byte(out.String()))
	r := in.train("logistic", file)
	if in.refused(r, names[0], names[1]) {
		return
	}
	if a, ok := in.eval(file); ok && a.Metrics["accuracy"] != 1 {
		in.wrong("accuracy %v, want 1: features %v are merged", a.Metrics["accuracy"], names)
	}
}
