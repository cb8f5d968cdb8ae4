package inputs

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// far is a column of numbers and the same numbers less an offset.
type far struct {
	name   string
	places int // decimals
	offset string
	kinds  []arrow.DataType
	span   int64 // in units of the last place
	loses  bool  // a 64-bit float does not hold the numbers
}

// farColumns are kinds of numbers that a 32-bit float rounds to few values.
var farColumns = []far{
	{"milliseconds", 0, "1764297407000", []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64}, 60000, false},
	{"microseconds", 0, "1764297407000000", []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64}, 3000, false},
	{"nanoseconds", 0, "1764297407000000000", []arrow.DataType{arrow.PrimitiveTypes.Int64}, 500, false},
	{"survey", 3, "5412345.000", []arrow.DataType{arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 18, Scale: 3}}, 2000, false},
	{"cents", 0, "25000000", []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64}, 300, false},
	{"negative", 2, "-99999000.00", []arrow.DataType{arrow.PrimitiveTypes.Float64}, 900, false},
	{"53 bits", 0, "9007199254740992", []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64}, 1000, false},
	{"63 bits", 0, "9223372036854770000", []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64}, 5000, false},
	{"64 bits", 0, "18446744073709547000", []arrow.DataType{arrow.PrimitiveTypes.Uint64}, 1500, false},
	{"63 bits negative", 0, "-9223372036854775800", []arrow.DataType{arrow.PrimitiveTypes.Int64}, 5000, false},
	{"kelvin", 4, "1000000.0000", []arrow.DataType{arrow.PrimitiveTypes.Float64}, 9000, false},
	{"long decimals", 2, "12345678901234567.00", []arrow.DataType{&arrow.Decimal128Type{Precision: 38, Scale: 2}}, 300, false},
	{"rounded decimals", 6, "1700000000000.000000", []arrow.DataType{arrow.PrimitiveTypes.Float64}, 2000, true},
	{"near", 3, "0.000", []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32}, 2000, false},
}

// columns returns two columns of a name: as the file has it, and less the offset; and the latter as floats.
func (f far) columns(in *input, name string, units []int64) (at, base *column, values []float64) {
	kind := pick(in, f.kinds...)
	at, base = &column{name: name, kind: kind}, &column{name: name, kind: arrow.PrimitiveTypes.Float64}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.places)), nil)
	for _, u := range units {
		x := new(big.Rat).SetFrac(big.NewInt(u), scale)
		v, _ := x.Float64()
		values = append(values, v)
		base.cells = append(base.cells, x.FloatString(f.places))
		at.cells = append(at.cells, x.Add(x, number(f.offset)).FloatString(f.places))
	}
	return at, base, values
}

// units draws numbers from 0 to a span, in the order of a walk or by chance.
func (in *input) units(rows int, span int64) (out []int64) {
	for range rows {
		out = append(out, in.rand.Int64N(span+1))
	}
	if in.one(4) {
		slices.Sort(out)
		in.describe("ascending")
	}
	return out
}

// floats returns the cells as floats.
func (c *column) floats() (out []float64) {
	for _, cell := range c.cells {
		x, _ := strconv.ParseFloat(cell, 64)
		out = append(out, x)
	}
	return out
}

// fit returns what weighted least squares with a constant predicts for each row, and the mean of y. Weights may be nil.
func fit(y []float64, weights []float64, x ...[]float64) (predicted []float64, mean float64) {
	w := weights
	if w == nil {
		w = slices.Repeat([]float64{1}, len(y))
	}
	centre := func(v []float64) ([]float64, float64) {
		var sum, all float64
		for i := range v {
			sum, all = sum+w[i]*v[i], all+w[i]
		}
		out := make([]float64, len(v))
		for i := range v {
			out[i] = v[i] - sum/all
		}
		return out, sum / all
	}
	yc, mean := centre(y)
	d := len(x)
	xc := make([][]float64, d)
	for j := range x {
		xc[j], _ = centre(x[j])
	}
	m := make([][]float64, d) // normal equations with their right side
	for j := range m {
		m[j] = make([]float64, d+1)
		for i := range y {
			for k := range d {
				m[j][k] += w[i] * xc[j][i] * xc[k][i]
			}
			m[j][d] += w[i] * xc[j][i] * yc[i]
		}
	}
	for j := range m {
		for k := range m {
			if k == j || m[j][j] == 0 {
				continue
			}
			f := m[k][j] / m[j][j]
			for c := range m[k] {
				m[k][c] -= f * m[j][c]
			}
		}
	}
	predicted = make([]float64, len(y))
	for i := range y {
		predicted[i] = mean
		for j := range m {
			if m[j][j] != 0 {
				predicted[i] += m[j][d] / m[j][j] * xc[j][i]
			}
		}
	}
	return predicted, mean
}

// scores returns R2 and RMSE of predictions, weighted. Weights may be nil.
func scores(y, predicted, w []float64) (r2, rmse float64) {
	var sum, all, rest, spread float64
	weight := func(i int) float64 {
		if w == nil {
			return 1
		}
		return w[i]
	}
	for i := range y {
		sum, all = sum+weight(i)*y[i], all+weight(i)
	}
	for i := range y {
		rest += weight(i) * (y[i] - predicted[i]) * (y[i] - predicted[i])
		spread += weight(i) * (y[i] - sum/all) * (y[i] - sum/all)
	}
	return 1 - rest/spread, math.Sqrt(rest / all)
}

// deviation returns the standard deviation of values.
func deviation(v []float64) float64 {
	var sum, squares float64
	for _, x := range v {
		sum += x
	}
	for _, x := range v {
		squares += (x - sum/float64(len(v))) * (x - sum/float64(len(v)))
	}
	return math.Sqrt(squares / float64(len(v)))
}

// close records a finding unless two figures are within a distance.
func (in *input) close(what string, got, want, within float64) bool {
	if math.Abs(got-want) <= within {
		return true
	}
	in.wrong("%s: %.12g, want %.12g within %.2g", what, got, want, within)
	return false
}

// predictedNear records a finding unless predictions less an offset are within a distance of what is expected.
func (in *input) predictedNear(got []string, offset string, want []float64, within float64) {
	if len(got) != len(want) {
		if len(got) > 0 {
			in.wrong("predict: %d rows, want %d", len(got), len(want))
		}
		return
	}
	for i, text := range got {
		x, ok := new(big.Rat).SetString(text)
		if !ok {
			in.wrong("predict: row %d: %q is no number", i+1, text)
			return
		}
		v, _ := x.Sub(x, number(offset)).Float64()
		if math.Abs(v-want[i]) > within {
			in.wrong("predict: row %d: %s, which less %s is %.9g; want %.9g within %.2g", i+1, text, offset, v, want[i], within)
			return
		}
	}
}

// regression draws rows of a feature and a number to predict, and the same rows less their offsets. One of the two or both are far from 0.
func (in *input) regression(feature, target far) (at, base table, y, expected []float64) {
	rows := 120 + in.rand.IntN(260)
	t, t0, tv := feature.columns(in, "t", in.units(rows, feature.span))
	x := in.noise("x", rows)
	slope := pick(in, 0.5, -0.7, 0.9) * float64(target.span) / 2
	var units []int64
	for i := range rows {
		u := float64(target.span)/2 + slope*(tv[i]/(float64(feature.span)*math.Pow10(-feature.places))-0.5) + 0.05*float64(target.span)*x.floats()[i]
		units = append(units, int64(u)+in.rand.Int64N(max(1, target.span/20)))
	}
	l, l0, y := target.columns(in, "y", units)
	expected, _ = fit(y, nil, tv, x.floats())
	return table{l, t, x}, table{l0, t0, x}, y, expected
}

var nearby = farColumns[len(farColumns)-1]

// features trains on a feature far from 0.
func features(in *input) { in.shifted(pick(in, farColumns[:len(farColumns)-1]...), nearby) }

// targets trains on numbers to predict that are far from 0.
func targets(in *input) {
	feature := nearby
	if in.one(3) {
		feature = pick(in, farColumns...)
	}
	in.shifted(feature, pick(in, farColumns[:len(farColumns)-1]...))
}

// shifted trains least squares on data far from 0 and on the same data less the offset. Both must agree with each other and with the closed form.
func (in *input) shifted(feature, target far) {
	at, base, y, expected := in.regression(feature, target)
	form := pick(in, append(slices.Clone(tableForms), sparseForms...)...)
	app := pick(in, "ridge", "linear", "linreg")
	in.describe("t: "+feature.name, "y: "+target.name, form, app)
	args := []string{"--set", "l2=1e-9", "--set", "loss=squared"}
	if slices.Contains(tableForms, form) {
		args = append(args, "--label", "y")
	}
	if form == "vw" { // so few features are solved for at once
		args = append(args, "--hash-bits", "10")
	}
	file := in.write("far", form, at, "y", "")
	r := in.train(app, file, append(args, "--test", file)...)
	if feature.loses || target.loses {
		if in.refused(r, "y", "t") {
			return
		}
	}
	if !in.mustRead(r) {
		return
	}
	a := in.last(r)
	sd := deviation(y)
	tolerance := 1e-6
	if feature.loses || target.loses {
		if !in.warned(a, "64-bit", "lose", "lost", "rounded", "rounding") {
			in.wrong("no warning states what a 64-bit float loses: %q", a.Warnings)
		}
		tolerance = math.Inf(1)
	}
	got := in.predict(file)
	r2, rmse := scores(y, expected, nil)
	in.close("R2 of training, beside closed form", a.Metrics["test_r2"], r2, max(tolerance, 2e-6))
	in.close("RMSE of training, beside closed form", a.Metrics["test_rmse"], rmse, max(tolerance, 2e-6)*sd)
	in.predictedNear(got, target.offset, expected, max(2e-6*sd, tolerance*sd))
	if e, ok := in.eval(file); ok {
		in.close("R2 of eval", e.Metrics["r2"], a.Metrics["test_r2"], tolerance)
		in.close("RMSE of eval", e.Metrics["rmse"], a.Metrics["test_rmse"], tolerance*sd)
	}
	if slices.Contains(tableForms, form) && in.one(2) {
		other := pick(in, tableForms...)
		in.describe("scored as " + other)
		if e, ok := in.eval(in.write("other", other, at, "y", "")); ok {
			in.close("RMSE of eval of another format", e.Metrics["rmse"], a.Metrics["test_rmse"], tolerance*sd)
		}
	}
	zero := in.write("base", "csv", base, "y", "")
	r = in.train(app, zero, "--set", "l2=1e-9", "--set", "loss=squared", "--test", zero, "--label", "y")
	if !in.mustRead(r) {
		return
	}
	b := in.last(r)
	in.close("R2 beside data less the offset", a.Metrics["test_r2"], b.Metrics["test_r2"], tolerance)
	in.close("RMSE beside data less the offset", a.Metrics["test_rmse"], b.Metrics["test_rmse"], tolerance*sd)
}

// classFeatures trains the halves of a feature far from 0 as classes, and does so with the same data less the offset.
func classFeatures(in *input) {
	f := pick(in, farColumns[:len(farColumns)-2]...) // not the rounded ones
	rows := 150 + in.rand.IntN(200)
	units := in.units(rows, f.span)
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Int64}
	gap := f.span / 10
	for i, u := range units {
		side := 0
		if u > f.span/2 {
			side, units[i] = 1, u+gap
		}
		y.cells = append(y.cells, fmt.Sprint(side))
	}
	at, base, _ := f.columns(in, "t", units)
	x := in.noise("x", rows)
	form := pick(in, append(slices.Clone(tableForms), sparseForms...)...)
	app := pick(in, "mlr", "logistic", "svm", "softmax")
	in.describe(f.name, form, app)
	args := []string{"--set", "l2=1e-4"}
	if slices.Contains(tableForms, form) {
		args = append(args, "--label", "y")
	} else { // sparse rows that are near 0 are not centred: the offset is the origin, the median of the first 256 rows
		base = at.less(median(at.cells[:min(rows, 256)]))
	}
	if app == "mlr" || app == "softmax" {
		args = append(args, "--epochs", "40")
	}
	file := in.write("far", form, table{y, at, x}, "y", "")
	r := in.train(app, file, append(args, "--test", file)...)
	if !in.mustRead(r) {
		return
	}
	a := in.last(r)
	if e, ok := in.eval(file); ok {
		in.close("accuracy of eval", e.Metrics["accuracy"], a.Metrics["test_accuracy"], 1e-9)
	}
	zero := in.write("base", form, table{y, base, x}, "y", "")
	r = in.train(app, zero, append(args, "--test", zero)...)
	if !in.mustRead(r) {
		return
	}
	b := in.last(r)
	in.close("accuracy beside data less the offset", a.Metrics["test_accuracy"], b.Metrics["test_accuracy"], 1e-9)
	// The penalty pulls the bias too, so that the optimum depends a little on where the origin lies: by 0.0021 in one
	// drawn input, after 40 epochs as after 400.
	in.close("log-loss beside data less the offset", a.Metrics["test_logloss"], b.Metrics["test_logloss"], 4e-3)
	if a.Metrics["test_accuracy"] < 0.99 {
		in.wrong("accuracy %v of classes that t separates", a.Metrics["test_accuracy"])
	}
}

// median returns the middle one of numbers, the upper of two.
func median(cells []string) string {
	cells = slices.Clone(cells)
	slices.SortFunc(cells, func(a, b string) int { return number(a).Cmp(number(b)) })
	return cells[len(cells)/2]
}

// less returns the column less an offset.
func (c *column) less(offset string) *column {
	out := &column{name: c.name, kind: arrow.PrimitiveTypes.Float64}
	for _, cell := range c.cells {
		x := number(cell)
		_, places, _ := strings.Cut(cell, ".")
		out.cells = append(out.cells, x.Sub(x, number(offset)).FloatString(len(places)))
	}
	return out
}

// ratings trains ratings of any offset, and the same less the offset.
func ratings(in *input) {
	f := pick(in, farColumns[:len(farColumns)-1]...)
	const users, items = 12, 20
	user, item := &column{name: "user", kind: arrow.PrimitiveTypes.Int64}, &column{name: "item", kind: arrow.PrimitiveTypes.Int64}
	var units []int64
	step := f.span / 40
	for _, at := range in.rand.Perm(users * items) {
		u, i := at/items, at%items
		user.cells, item.cells = append(user.cells, fmt.Sprint(u)), append(item.cells, fmt.Sprint(i))
		units = append(units, int64(u*7%12+i*3%20)*step+int64(u*i%3))
	}
	at, base, y := f.columns(in, "rating", units)
	form := pick(in, tableForms...)
	in.describe(f.name, form, "mf")
	in.bare = in.one(3) && strings.Contains("csv.gz tsv.gz", form)
	args := []string{"--epochs", "30", "--set", "rank=4"}
	file := in.write("far", form, table{user, item, at}, "", "")
	r := in.train("mf", file, append(args, "--test", file)...)
	if f.loses && in.refused(r, "rating") {
		return
	}
	if !in.mustRead(r) {
		return
	}
	a, sd := in.last(r), deviation(y)
	tolerance := 1e-6 * sd
	if f.loses {
		if !in.warned(a, "64-bit", "lose", "lost", "rounded", "rounding") {
			in.wrong("no warning states what a 64-bit float loses: %q", a.Warnings)
		}
		tolerance = math.Inf(1)
	}
	e, ok := in.eval(file)
	if ok {
		in.close("RMSE of eval", e.Metrics["rmse"], a.Metrics["test_rmse"], tolerance)
	}
	zero := in.write("base", "csv", table{user, item, base}, "", "")
	r = in.train("mf", zero, append(args, "--test", zero)...)
	if !in.mustRead(r) {
		return
	}
	in.close("RMSE beside ratings less the offset", a.Metrics["test_rmse"], in.last(r).Metrics["test_rmse"], tolerance)
	if a.Metrics["test_rmse"] > sd/2 {
		in.wrong("RMSE %v of ratings with a deviation of %v that user and item explain", a.Metrics["test_rmse"], sd)
	}
	if f.loses {
		return
	}
	in.predictBase(file, zero, f)
}

// predictBase compares predictions of the model in the folder, which is of data less the offset, with those of one that is trained on data as it is.
func (in *input) predictBase(file, zero string, f far) {
	base := in.predict(zero)
	var want []float64
	for _, b := range base {
		x, _ := strconv.ParseFloat(b, 64)
		want = append(want, x)
	}
	if r := in.train("mf", file, "--epochs", "30", "--set", "rank=4", "--test", file); !in.mustRead(r) {
		return
	}
	in.predictedNear(in.predict(file), f.offset, want, 2e-6*deviation(want))
}

// weights trains least squares of rows that count differently.
func weights(in *input) {
	rows := 100 + in.rand.IntN(100)
	x, z := in.noise("x", rows), in.noise("z", rows)
	w := &column{name: "w", kind: arrow.PrimitiveTypes.Float64}
	name := pick(in, "small", "with zeros", "offset", "large", "fractions", "above the limit", "negative", "missing", "integers in Parquet", "not finite")
	bad := ""
	for i := range rows {
		v := fmt.Sprint(1 + in.rand.IntN(9))
		switch name {
		case "with zeros":
			v = fmt.Sprint(in.rand.IntN(4))
		case "offset":
			v = fmt.Sprint(900000000 + in.rand.IntN(99999999))
		case "large":
			v = fmt.Sprint(1 + in.rand.IntN(1000000000))
		case "fractions":
			v = fmt.Sprintf("%.6f", 1e-6+in.rand.Float64()*3)
		case "integers in Parquet":
			w.kind = pick[arrow.DataType](in, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64)
			if i > 0 {
				w.kind = arrow.PrimitiveTypes.Uint64
			}
			v = fmt.Sprint(1 + in.rand.IntN(1000))
		}
		if i == rows/2 {
			switch name {
			case "above the limit":
				v = pick(in, "1000000001", "1000000063", "9007199254740993", "18446744073709551615", "1e300")
			case "negative":
				v = "-1"
			case "missing":
				v = pick(in, "", "NA", "NaN", "null")
			case "not finite":
				v = pick(in, "Inf", "-inf", "1e999")
			}
			if slices.Contains([]string{"above the limit", "negative", "missing", "not finite"}, name) {
				bad = v
			}
		}
		w.cells = append(w.cells, v)
	}
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Float64}
	for i := range rows {
		y.cells = append(y.cells, fmt.Sprintf("%.4f", 2*x.floats()[i]-z.floats()[i]*z.floats()[i]+0.3*in.rand.Float64()))
	}
	forms := append(slices.Clone(tableForms), "vw")
	if bad != "" && name != "negative" {
		forms = []string{"csv", "tsv", "csv.gz", "jsonl"}
		w.quoted = true
	}
	form := pick(in, forms...)
	t := table{y, w, x, z}
	app := pick(in, "ridge", "linear")
	in.describe(name, form, app)
	args := []string{"--set", "l2=1e-9", "--label", "y", "--weight", "w"}
	if form == "vw" { // so few features are solved for at once
		args = append(args[:2], "--hash-bits", "10")
	}
	if app == "linear" {
		args = append(args, "--set", "loss=squared")
	}
	file := in.write("train", form, t, "y", "w")
	r := in.train(app, file, append(args, "--test", file)...)
	if name == "above the limit" || name == "negative" || name == "missing" || name == "not finite" {
		in.mustRefuse(r, `"w"`, "weight")
		return
	}
	if !in.mustRead(r) {
		return
	}
	a := in.last(r)
	expected, _ := fit(y.floats(), w.floats(), x.floats(), z.floats())
	r2, rmse := scores(y.floats(), expected, w.floats())
	in.close("R2", a.Metrics["test_r2"], r2, 2e-6)
	in.close("RMSE", a.Metrics["test_rmse"], rmse, 2e-6*deviation(y.floats()))
	if name != "with zeros" {
		in.predictedNear(in.predict(file), "0", expected, 3e-6)
	}
}
