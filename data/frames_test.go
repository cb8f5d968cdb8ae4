package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// framed makes record batches of rows from JSON, a batch for each text.
func framed(t testing.TB, s *arrow.Schema, batches ...string) []arrow.RecordBatch {
	t.Helper()
	var out []arrow.RecordBatch
	for _, text := range batches {
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// asArrow and asStream write batches, as asParquet does; a file of Arrow has one.
func asArrow(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(s), ipc.WithZstd())
	var columns []arrow.Array // a file has one dictionary of a column
	rows := int64(0)
	for i := range s.Fields() {
		var parts []arrow.Array
		for _, b := range batches {
			parts = append(parts, b.Column(i))
		}
		column, failed := array.Concatenate(parts, memory.DefaultAllocator)
		err, rows = errors.Join(err, failed), int64(column.Len())
		columns = append(columns, column)
	}
	if err = errors.Join(err, w.Write(array.NewRecordBatch(s, columns, rows)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func asStream(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	var err error
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writers are the three forms.
var writers = []struct {
	name string
	as   func(testing.TB, *arrow.Schema, []arrow.RecordBatch) []byte
}{{"a.parquet", asParquet}, {"a.arrow", asArrow}, {"a.arrows", asStream}}

// written writes a file of a test and returns its path.
func written(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func field(name string, kind arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: kind, Nullable: true}
}

// tableSchema has a column of each sort that a table may have.
var tableSchema = arrow.NewSchema([]arrow.Field{
	field("whole", arrow.PrimitiveTypes.Int64), field("small", arrow.PrimitiveTypes.Uint8),
	field("half", arrow.PrimitiveTypes.Float32),
	field("real", arrow.PrimitiveTypes.Float64), field("flag", arrow.FixedWidthTypes.Boolean),
	field("colour", arrow.BinaryTypes.String),
	field("town", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
	field("price", &arrow.Decimal128Type{Precision: 10, Scale: 2}), field("label", arrow.BinaryTypes.String),
}, nil)

var tableBatches = []string{
	`[{"whole": 1, "small": 200, "half": 0.5, "real": 1.25, "flag": true, "colour": "red", "town": "Ulm", "price": "-12.50", "label": "yes"},
	  {"whole": 2, "small": 7, "half": null, "real": -3e5, "flag": false, "colour": null, "town": "Bern", "price": "0.05", "label": "no"}]`,
	`[{"whole": -3, "small": 0, "half": 2.5, "real": 0, "flag": true, "colour": "blue", "town": null, "price": "100.00", "label": "no"}]`,
}

// tableText is the same as CSV.
const tableText = `whole,small,half,real,flag,colour,town,price,label
1,200,0.5,1.25,true,red,Ulm,-12.5,yes
2,7,,-300000,false,,Bern,0.05,no
-3,0,2.5,0,true,blue,,100,no
`

// TestFramesAreWhatCSVIs reads a table in all three forms, on one worker and on several, and wants what the same table
// gives as CSV.
func TestFramesAreWhatCSVIs(t *testing.T) {
	want, err := Read(t.Context(), []string{written(t, "a.csv", []byte(tableText))}, Examples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range writers {
		path := written(t, form.name, form.as(t, tableSchema, framed(t, tableSchema, tableBatches...)))
		for _, opt := range []Options{{Workers: 1}, {Workers: 3}, {Label: "label", Workers: 2}, {Cache: t.TempDir()}} {
			got, err := Read(t.Context(), []string{path}, Examples, opt)
			if err != nil {
				t.Fatal(form.name, err)
			}
			if !reflect.DeepEqual(got.Examples, want.Examples) {
				t.Errorf("%s: %+v, want %+v", form.name, got.Examples, want.Examples)
			}
			if !reflect.DeepEqual(got.Reading.Features, want.Reading.Features) {
				t.Errorf("%s: features %+v, want %+v", form.name, got.Reading.Features, want.Reading.Features)
			}
			if got.Detected.Filled != 1 || got.Detected.Rows != 3 {
				t.Errorf("%s: %+v", form.name, got.Detected)
			}
		}
	}
}

// TestFramesByTheModel reads rows to predict as a model knows them that was trained on CSV, with the columns in another
// order and no label.
func TestFramesByTheModel(t *testing.T) {
	train, err := Read(t.Context(), []string{written(t, "a.csv", []byte(tableText))}, Examples,
		Options{Ignore: []string{"town"}})
	if err != nil {
		t.Fatal(err)
	}
	order := []int{5, 7, 3, 2, 4, 1, 0}
	var fields []arrow.Field
	for _, i := range order {
		fields = append(fields, tableSchema.Field(i))
	}
	s := arrow.NewSchema(fields, nil)
	path := written(t, "b.parquet", asParquet(t, s,
		framed(t, s, `[{"whole": 2, "small": 7, "half": 1, "real": 3, "flag": false, "colour": "green", "price": "0.05"}]`)))
	opt := Options{}.ForTest(train)
	opt.Unlabelled = true
	got, err := Read(t.Context(), []string{path}, Examples, opt)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Examples; e.Features != train.Examples.Features || got.Detected.Unknown != 1 {
		t.Errorf("%d features, %d unknown", e.Features, got.Detected.Unknown)
	}
}

var ratingSchema = arrow.NewSchema([]arrow.Field{field("stars", arrow.PrimitiveTypes.Float32),
	field("user_id", arrow.PrimitiveTypes.Int64), field("item_id", arrow.BinaryTypes.String),
	field("timestamp", &arrow.TimestampType{Unit: arrow.Millisecond})}, nil)

// TestFramesOfRatings finds the columns by their names, and instants.
func TestFramesOfRatings(t *testing.T) {
	rows := []string{
		`[{"stars": 4, "user_id": 7, "item_id": "a", "timestamp": "2024-01-31 10:00:00"}, {"stars": 2.5, "user_id": 900719925474099, "item_id": "b", "timestamp": "2024-02-01 00:00:00.250"}]`,
		`[{"stars": 1, "user_id": 7, "item_id": "b", "timestamp": "1970-01-01 00:00:01"}]`}
	for _, form := range writers {
		path := written(t, form.name, form.as(t, ratingSchema, framed(t, ratingSchema, rows...)))
		set, err := Read(t.Context(), []string{path}, Ratings, Options{Timed: true, Workers: 3})
		if err != nil {
			t.Fatal(form.name, err)
		}
		r := set.Ratings
		if !reflect.DeepEqual(r.Users, []string{"7", "900719925474099"}) ||
			!reflect.DeepEqual(r.Items, []string{"a", "b"}) ||
			!reflect.DeepEqual(r.User, []int32{0, 1, 0}) || !reflect.DeepEqual(r.Item, []int32{0, 1, 1}) ||
			!reflect.DeepEqual(r.Rating, []float32{4, 2.5, 1}) {
			t.Errorf("%s: %+v", form.name, r)
		}
		if !reflect.DeepEqual(set.Time, []float64{0, 50400.25, 1 - 1706695200}) ||
			set.Detected.TimesFrom != 1706695200 {
			t.Errorf("%s: times %v", form.name, set.Time)
		}
	}
}

// TestFramesOfDocuments takes the column of text, and a stream from standard input.
func TestFramesOfDocuments(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64),
		field("text", arrow.BinaryTypes.String)}, nil)
	raw := asStream(t, s, framed(t, s, `[{"id": 1, "text": "An ape\nand a bee"}, {"id": 2, "text": "the ape"}]`))
	set, err := Read(t.Context(), []string{"-"}, Documents, Options{Stdin: bytes.NewReader(raw)})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Documents.Vocab; !reflect.DeepEqual(got, []string{"an", "ape", "and", "bee", "the"}) {
		t.Errorf("words %v", got)
	}
}

// TestFramesOfManyBatches wants rows in order over row groups that are larger than what is read at a time, over files,
// and with values missing here and there.
func TestFramesOfManyBatches(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "y", Type: arrow.PrimitiveTypes.Int32},
		field("x", arrow.PrimitiveTypes.Float64)}, nil)
	var paths []string
	next, gaps := 0, 0
	for n := range 3 {
		var batches []arrow.RecordBatch
		for range 2 {
			b := array.NewRecordBuilder(memory.DefaultAllocator, s)
			for range 20_000 {
				b.Field(0).(*array.Int32Builder).Append(int32(next))
				if x := b.Field(1).(*array.Float64Builder); next%7 == 3 {
					x.AppendNull()
					gaps++
				} else {
					x.Append(float64(next) / 2)
				}
				next++
			}
			batches = append(batches, b.NewRecordBatch())
		}
		paths = append(paths, written(t, fmt.Sprintf("%d.parquet", n), asParquet(t, s, batches)))
	}
	set, err := Read(t.Context(), paths, Examples, Options{Label: "y", Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	e := set.Examples
	if e.Rows() != next || set.Detected.Filled != gaps {
		t.Fatalf("%d rows of %d, %d of %d missing", e.Rows(), next, set.Detected.Filled, gaps)
	}
	for i, y := range e.Label {
		if y != float32(i) || i%7 != 3 && e.Dense[i] != float32(i)/2 {
			t.Fatalf("row %d is %v with %v", i, y, e.Dense[i])
		}
	}
}

// TestBadFrames wants an error that says what is wrong and what to do.
func TestBadFrames(t *testing.T) {
	one := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64),
		field("x", arrow.PrimitiveTypes.Float64)}, nil)
	rows := `[{"y": 1, "x": 2}, {"y": 0, "x": 3}]`
	good := asParquet(t, one, framed(t, one, rows))
	stream := asStream(t, one, framed(t, one, rows))
	lists := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64),
		field("x", arrow.ListOf(arrow.PrimitiveTypes.Int64))}, nil)
	listed := framed(t, lists, `[{"y": 1, "x": [2]}]`)
	b := array.NewRecordBuilder(memory.DefaultAllocator, one)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 0}, nil)
	b.Field(1).(*array.Float64Builder).AppendValues([]float64{1, math.Inf(1)}, nil)
	infinite := asParquet(t, one, []arrow.RecordBatch{b.NewRecordBatch()})
	words := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64),
		field("x", arrow.BinaryTypes.String)}, nil)
	golden, err := filepath.Abs(filepath.Join(badFolder, "frames"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		kind    Kind
		opt     Options
		want    []string
	}{
		{"short.parquet", good[:len(good)-9], Examples, Options{}, []string{"cannot be read"}},
		{"tail.parquet", append([]byte("PAR1"), good[len(good)-200:]...), Examples, Options{}, []string{"damaged"}},
		{"empty.parquet", nil, Examples, Options{}, []string{"the file is empty"}},
		{"text.parquet", []byte("a,b\n1,2\n"), Examples, Options{}, []string{"neither a Parquet file", "--format"}},
		{"csv.parquet", good, Examples, Options{Format: CSV}, []string{"this is Parquet, and --format says csv"}},
		{"sep.parquet", good, Examples, Options{Separator: ","}, []string{"leave out --sep"}},
		{"header.parquet", good, Examples, Options{Header: HeaderNo}, []string{"leave out --header no"}},
		{"bits.parquet", good, Examples, Options{HashBits: 9}, []string{"leave out --hash-bits"}},
		{"base.arrows", stream, Examples, Options{IndexBase: "1"}, []string{"leave out --base"}},
		{"rows.parquet", good, Examples, Options{Limits: Limits{Rows: 1}}, []string{"2 rows, the limit is 1"}},
		{"rows.arrows", stream, Examples, Options{Limits: Limits{Rows: 1}}, []string{"more rows than the limit, 1"}},
		{"columns.parquet", good, Examples, Options{Limits: Limits{Features: 1}},
			[]string{"2 columns, the limit is 1"}},
		{"short.arrows", stream[:len(stream)-40], Examples, Options{}, []string{"it ends early"}},
		{"lists.parquet", asParquet(t, lists, listed), Examples, Options{},
			[]string{"holds lists", "--ignore x.list.element"}},
		{"lists.arrows", asStream(t, lists, listed), Examples, Options{},
			[]string{`column "x" holds lists`, "--ignore x"}},
		{"infinite.parquet", infinite, Examples, Options{},
			[]string{`row 2: value "+Inf" of column "x" is not finite`}},
		{"label.parquet", asParquet(t, one, framed(t, one, `[{"y": 1, "x": 2}, {"y": null, "x": 3}]`)), Examples,
			Options{}, []string{`row 2: label of column "y" is missing`}},
		{"word.parquet", asParquet(t, words,
			framed(t, words, `[{"y": 1, "x": "2"}, {"y": 1, "x": "3"}, {"y": 2, "x": "two"}]`)), Examples, Options{},
			[]string{`row 3: value "two" of column "x" is not a number`, "--categorical x"}},
		{"none.parquet", good, Examples, Options{Label: "z"}, []string{`no column is named "z"`, "y, x"}},
		{"user.parquet", good, Ratings, Options{}, []string{"user"}},
		{"text-column.parquet", good, Documents, Options{}, []string{"no column is known to hold the text", "--text"}},
		{"numbers.parquet", good, Documents, Options{Text: "x"}, []string{"has numbers"}},
		{"norows.parquet", asParquet(t, one, nil), Examples, Options{}, []string{"no rows"}},
		{"stdin", good, Examples, Options{Stdin: bytes.NewReader(good)}, []string{"read from its end"}},
		{"model.parquet", good, Examples, Options{Features: 3, Unlabelled: true}, []string{"have no names"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "-"
			if t.Chdir(t.TempDir()); c.opt.Stdin == nil {
				if path = c.name; os.WriteFile(path, c.content, 0o600) != nil {
					t.Fatal("it cannot be written")
				}
			}
			_, err := Read(t.Context(), []string{path}, c.kind, c.opt)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
			checkShape(t, c.name, e)
			compareGolden(t, filepath.Join(golden, c.name+".golden"), e.Error()+"\n")
			for _, part := range c.want {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("no %q in: %s", part, e)
				}
			}
		})
	}
	csv, other := written(t, "a.csv", []byte("y,x\n1,2\n")), written(t, "a.parquet", good)
	lacking := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64)}, nil)
	less := written(t, "less.parquet", asParquet(t, lacking, framed(t, lacking, `[{"y": 1}]`)))
	for _, c := range []struct {
		paths []string
		want  string
	}{{[]string{csv, other}, "the file is Parquet"}, {[]string{other, csv}, "neither Parquet nor Arrow"},
		{[]string{other, written(t, "b.arrows", stream)}, "the file is Arrow"},
		{[]string{other, less}, `column "x" is missing`}} {
		if _, err := Read(t.Context(), c.paths, Examples, Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// fuzzFrames reads what is no file on one worker and on several: both end in an *Error, or in a set that holds
// together.
func fuzzFrames(t *testing.T, content []byte, format Format) {
	path := written(t, "input", content)
	for _, kind := range []Kind{Examples, Ratings, Documents} {
		for _, workers := range []int{1, 3} {
			set, err := Read(context.Background(), []string{path}, kind,
				Options{Format: format, Limits: fuzzLimits, Workers: workers})
			var e *Error
			switch {
			case err == nil:
				checkSet(t, set)
			case !errors.As(err, &e) || e.What == "" || e.File == "":
				t.Fatalf("not an *Error: %v", err)
			default:
				checkShape(t, "fuzzed", e)
			}
		}
	}
}

// framesSeed returns files of all sorts of columns.
func framesSeed(f *testing.F, as func(testing.TB, *arrow.Schema, []arrow.RecordBatch) []byte) {
	f.Add(as(f, tableSchema, framed(f, tableSchema, tableBatches...)))
	f.Add(as(f, ratingSchema, framed(f, ratingSchema,
		`[{"stars": 4, "user_id": 7, "item_id": "a", "timestamp": "2024-01-31 10:00:00"}]`)))
	s := arrow.NewSchema([]arrow.Field{field("text", arrow.BinaryTypes.String),
		field("day", arrow.FixedWidthTypes.Date32), field("list", arrow.ListOf(arrow.PrimitiveTypes.Int8))}, nil)
	f.Add(as(f, s, framed(f, s, `[{"text": "an ape", "day": "2024-01-31", "list": [1]}]`)))
}

func FuzzParquet(f *testing.F) {
	framesSeed(f, asParquet)
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFrames(t, content, Parquet) })
}

func FuzzArrow(f *testing.F) {
	framesSeed(f, asStream)
	framesSeed(f, asArrow)
	framesSeed(f, packedStream)
	f.Add(asStream(f, damageSchema, framed(f, damageSchema, damageRows)))
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFrames(t, content, Arrow) })
}
