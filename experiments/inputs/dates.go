package inputs

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// clocks are kinds of times: how the nth of them is written, in steps that a float may not tell apart.
var clocks = []struct {
	name   string
	write  func(n int64) string
	kind   arrow.DataType
	quoted bool
}{
	{"seconds", func(n int64) string { return fmt.Sprint(1764297407 + n) }, arrow.PrimitiveTypes.Int64, false},
	{"milliseconds", func(n int64) string { return fmt.Sprint(1764297407000 + n) }, arrow.PrimitiveTypes.Int64, false},
	{"microseconds", func(n int64) string { return fmt.Sprint(1764297407000000 + n) }, arrow.PrimitiveTypes.Int64, false},
	{"nanoseconds", func(n int64) string { return fmt.Sprint(1764297407000000000 + n) }, arrow.PrimitiveTypes.Int64, false},
	{"63 bits", func(n int64) string { return fmt.Sprint(9223372036854775000 + n) }, arrow.PrimitiveTypes.Int64, false},
	{"64 bits", func(n int64) string {
		return new(big.Int).Add(new(big.Int).SetUint64(18446744073709551000), big.NewInt(n)).String()
	}, arrow.PrimitiveTypes.Uint64, false},
	{"fractions of seconds", func(n int64) string { return fmt.Sprintf("1764297407.%06d", n) }, arrow.PrimitiveTypes.Float64, false},
	{"fractions below floats", func(n int64) string { return fmt.Sprintf("1764297407.%09d", n) }, &arrow.Decimal128Type{Precision: 20, Scale: 9}, false},
	{"days", func(n int64) string { return time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format("2006-01-02") }, nil, true},
	{"instants", func(n int64) string { return time.Unix(1764297407+n*60, 0).UTC().Format(time.RFC3339) }, nil, true},
	{"instants of zones", func(n int64) string {
		return time.Unix(1764297407+n*600, 0).In(time.FixedZone("", int(n%5-2)*3600)).Format(time.RFC3339)
	}, nil, true},
	{"nanoseconds of ISO 8601", func(n int64) string { return fmt.Sprintf("2025-11-28T02:36:47.%09dZ", n) }, nil, true},
	{"TIMESTAMP of nanoseconds", func(n int64) string { return fmt.Sprintf("2025-11-28T02:36:47.%09dZ", n) }, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, true},
	{"TIMESTAMP of milliseconds", func(n int64) string { return fmt.Sprintf("2025-11-28 02:36:47.%03d", n) }, &arrow.TimestampType{Unit: arrow.Millisecond}, true},
	{"DATE", func(n int64) string { return time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format("2006-01-02") }, arrow.FixedWidthTypes.Date32, true},
}

// times holds out the latest rows, which are far from what the others say: the error on them is known if just these are held out.
func times(in *input) {
	c := pick(in, clocks...)
	const rows, late, jump = 200, 20, 1000.0
	at := &column{name: "when", kind: c.kind, quoted: c.quoted}
	x, y := in.noise("x", rows), &column{name: "y", kind: arrow.PrimitiveTypes.Float64}
	user, item := &column{name: "user", kind: arrow.PrimitiveTypes.Int64}, &column{name: "item", kind: arrow.PrimitiveTypes.Int64}
	for i, n := range in.rand.Perm(rows) {
		at.cells = append(at.cells, c.write(int64(n)))
		v := x.floats()[i]
		if n >= rows-late {
			v += jump
		}
		y.cells = append(y.cells, fmt.Sprintf("%.3f", v))
		user.cells, item.cells = append(user.cells, fmt.Sprint(n%7)), append(item.cells, fmt.Sprint(n%11))
	}
	app := pick(in, "ridge", "mf", "linear")
	t, args := table{y, x, at}, []string{"--label", "y", "--set", "l2=1e-9", "--holdout", "time", "--time", "when"}
	switch app {
	case "mf":
		y.name = "rating"
		t, args = table{user, item, y, at}, []string{"--epochs", "10", "--set", "rank=2", "--holdout", "time", "--time", "when"}
	case "linear":
		args = append(args, "--set", "loss=squared")
	}
	form := pick(in, tableForms...)
	if c.kind != nil && c.quoted {
		form = pick(in, "parquet", "arrow", "arrows")
	}
	in.describe(c.name, form, app)
	r := in.train(app, in.write("train", form, t, "y", ""), args...)
	if in.refused(r, `"when"`, "when") {
		return
	}
	a := in.last(r)
	if !in.close("RMSE of the latest rows", a.Metrics["test_rmse"], jump, 3) && in.warned(a, "when") {
		in.report.Findings = slices.Delete(in.report.Findings, len(in.report.Findings)-1, len(in.report.Findings))
	}
}
