package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// flowSchema has what tables, ratings and documents need.
var flowSchema = arrow.NewSchema([]arrow.Field{{Name: "label", Type: arrow.BinaryTypes.String},
	field("x", arrow.PrimitiveTypes.Float64), field("colour", arrow.BinaryTypes.String),
	field("user", arrow.PrimitiveTypes.Int64), field("item", arrow.BinaryTypes.String),
	field("rating", arrow.PrimitiveTypes.Float32), field("text", arrow.BinaryTypes.String),
	field("weight", arrow.PrimitiveTypes.Int8)}, nil)

// flowBatches returns rows of it, some with missing values; wrong is the row with an infinite x and a missing user, -1:
// none.
func flowBatches(sizes []int, wrong int) (out []arrow.RecordBatch) {
	next := 0
	for _, size := range sizes {
		b := array.NewRecordBuilder(memory.DefaultAllocator, flowSchema)
		text := func(column int, s string) { b.Field(column).(*array.StringBuilder).Append(s) }
		for range size {
			text(0, []string{"no", "yes"}[next%2])
			x, user := b.Field(1).(*array.Float64Builder), b.Field(3).(*array.Int64Builder)
			switch {
			case next == wrong:
				x.Append(math.Inf(1))
				user.AppendNull()
			case next%7 == 3:
				x.AppendNull()
				user.Append(int64(next % 17))
			default:
				x.Append(float64(next) / 2)
				user.Append(int64(next % 17))
			}
			text(2, []string{"red", "blue", "green"}[next%3])
			text(4, fmt.Sprint("i", next%11))
			b.Field(5).(*array.Float32Builder).Append(float32(next % 5))
			text(6, []string{"red sea", "", "blue sky blue", "unknown"}[next%4])
			b.Field(7).(*array.Int8Builder).Append(int8(next%3 + 1))
			next++
		}
		out = append(out, b.NewRecordBatch())
	}
	return out
}

// flows is what is read of it.
var flowReads = map[string]struct {
	kind Kind
	opt  Options
}{
	"a table":      {Examples, Options{Label: "label", Ignore: []string{"text", "item"}}},
	"with weights": {Examples, Options{Label: "label", Weight: "weight", Ignore: []string{"text", "item"}}},
	"ratings":      {Ratings, Options{}}, "documents": {Documents, Options{}},
}

// TestFramesStream: block by block the rows are those of a whole read, for any number of workers, from several files of
// several parts.
func TestFramesStream(t *testing.T) {
	t.Parallel()
	sizes := []int{20_000, 3, 17_000}
	for _, form := range writers {
		content := form.as(t, flowSchema, flowBatches(sizes, -1))
		paths := []string{written(t, form.name, content), written(t, form.name, content)}
		for name, c := range flowReads {
			t.Run(form.name+" of "+name, func(t *testing.T) {
				t.Parallel()
				train, err := Read(t.Context(), paths[:1], c.kind, c.opt)
				if err != nil {
					t.Fatal(err)
				}
				opt := c.opt.ForTest(train)
				whole, err := Read(t.Context(), paths, c.kind, opt)
				if err != nil {
					t.Fatal(err)
				}
				want := rowsInWords(whole)
				for _, opt.Workers = range []int{1, 3} {
					got, blocks, d, err := streamOf(t, paths, c.kind, opt)
					if err != nil || blocks < 4 || !slices.Equal(got, want) {
						t.Errorf("%d workers: %d rows in %d blocks, not %d rows: %v", opt.Workers, len(got), blocks,
							len(want), err)
					}
					d.Users, d.Items, d.Constant, d.Counting = whole.Detected.Users, whole.Detected.Items,
						whole.Detected.Constant, whole.Detected.Counting
					if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", whole.Detected) {
						t.Errorf("%+v, not\n%+v", d, whole.Detected)
					}
				}
			})
		}
	}
}

// TestFramesAboveADefectAreTaken checks that all rows before the defect are taken, none after it, and that the error is
// that of Read.
func TestFramesAboveADefectAreTaken(t *testing.T) {
	t.Parallel()
	sizes := []int{20_000, 3, 17_000}
	for _, form := range writers {
		good := written(t, form.name, form.as(t, flowSchema, flowBatches(sizes, -1)))
		bad := map[int]string{}
		for _, wrong := range []int{0, 16_384, 20_002, 30_000} {
			bad[wrong] = written(t, form.name, form.as(t, flowSchema, flowBatches(sizes, wrong)))
		}
		for name, kind := range map[string]Kind{"a table": Examples, "ratings": Ratings} {
			train, err := Read(t.Context(), []string{good}, kind, flowReads[name].opt)
			if err != nil {
				t.Fatal(err)
			}
			rows, opt := rowsInWords(train), flowReads[name].opt.ForTest(train)
			for wrong, path := range bad {
				_, want := Read(t.Context(), []string{path}, kind, opt)
				got, _, _, err := streamOf(t, []string{path}, kind, opt)
				if want == nil || err == nil || err.Error() != want.Error() ||
					!strings.Contains(err.Error(), fmt.Sprintf("row %d: ", wrong+1)) ||
					!slices.Equal(got, rows[:wrong]) {
					t.Errorf("%s, %s, row %d: %d rows, %v\nnot\n%v", form.name, name, wrong, len(got), err, want)
				}
			}
		}
	}
}

// TestDamagedFramesEndAStream: what was read before the damage is given away.
func TestDamagedFramesEndAStream(t *testing.T) {
	t.Parallel()
	content := asStream(t, flowSchema, flowBatches([]int{20_000, 20_000}, -1))
	good, bad := written(t, "a.arrows", content), written(t, "b.arrows", content[:len(content)-1000])
	train, err := Read(t.Context(), []string{good}, Ratings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := streamOf(t, []string{bad}, Ratings, Options{}.ForTest(train))
	if err == nil || !strings.Contains(err.Error(), "it ends early") ||
		!slices.Equal(got, rowsInWords(train)[:20_000]) {
		t.Errorf("%d rows, %v", len(got), err)
	}
}
