package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// damageSchema has columns with many properties in their batches: dictionaries, some with further buffers, lists, and
// values that take no bytes.
var damageSchema = arrow.NewSchema([]arrow.Field{
	field("label", arrow.PrimitiveTypes.Int64), field("colour", arrow.BinaryTypes.String), field("nothing", arrow.Null),
	field("view", arrow.BinaryTypes.StringView),
	field("town", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
	field("list", arrow.ListOf(arrow.PrimitiveTypes.Int8)),
	field("both", arrow.StructOf(field("a", arrow.PrimitiveTypes.Int32),
		field("b", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}))),
}, nil)

var damageRows = `[{"label": 1, "colour": "red", "view": "a view that is longer than twelve bytes", "town": "Ulm", "list": [1, 2], "both": {"a": 1, "b": "x"}},
	{"label": 2, "colour": null, "view": "short", "town": "Bern", "list": [], "both": {"a": 2, "b": "y"}}]`

// packedStream returns a stream with compressed buffers.
func packedStream(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s), ipc.WithZstd())
	var err error
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// claimsApart is how many numbers take turns at the places of TestDamagedArrowTakesLittle. The soak writes each number
// over each place.
var claimsApart = 3

// TestDamagedArrowTakesLittle writes large and small numbers over each place of files of Arrow: whatever they then
// claim to have, reading them takes little memory, and ends in an *Error or in rows.
func TestDamagedArrowTakesLittle(t *testing.T) {
	// bytes that a whole read may take, mostly room for workers, buffers and what unpacks
	const most = 48 << 20
	for name, as := range map[string]func(testing.TB, *arrow.Schema, []arrow.RecordBatch) []byte{"a file": asArrow,
		"a stream": asStream, "a packed stream": packedStream} {
		good := as(t, damageSchema, framed(t, damageSchema, damageRows))
		opt := Options{Label: "label", Ignore: []string{"list", "both"}, Workers: 1,
			Limits: Limits{OutputBytes: 4 << 20, Rows: 1 << 20}}
		if set, err := Read(t.Context(), []string{written(t, "a.arrow", good)}, Examples, opt); err != nil ||
			set.Rows() != 2 {
			t.Fatal(name, err)
		}
		var before, after runtime.MemStats
		for at := 8; at+8 <= len(good); at += 4 {
			for k, x := range []uint64{1<<31 - 1, 1 << 40, 1<<64 - 1} {
				if at/4%claimsApart != k%claimsApart {
					continue
				}
				bad := bytes.Clone(good)
				if binary.LittleEndian.PutUint64(bad[at:], x); x == 1<<31-1 {
					copy(bad[at+4:], good[at+4:])
				}
				runtime.ReadMemStats(&before)
				o := opt
				o.Stdin = bytes.NewReader(bad)
				_, err := Read(t.Context(), []string{"-"}, Examples, o)
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > most {
					t.Errorf("%s with %#x at byte %d takes %d MiB: %v", name, x, at, took>>20, err)
				}
				if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
					t.Errorf("%s with %#x at byte %d: %v", name, x, at, err)
				}
			}
		}
	}
}

// TestArrowClaims checks that errors name the false claims of a damaged file, and not their consequences in the
// library.
func TestArrowClaims(t *testing.T) {
	t.Parallel()
	s := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64), field("x", arrow.Null)}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 1001 {
		b.Field(0).(*array.Int64Builder).Append(int64(i % 2))
		b.Field(1).AppendNull()
	}
	good := asStream(t, s, []arrow.RecordBatch{b.NewRecordBatch()})
	put := func(from, to uint64, which int) []byte { // the whole number from, where it stands for the which-th time
		bad, at := bytes.Clone(good), 0
		for range which + 1 {
			next := bytes.Index(bad[at:], binary.LittleEndian.AppendUint64(nil, from))
			if next < 0 {
				t.Fatal(from, which)
			}
			at += next + 1
		}
		binary.LittleEndian.PutUint64(bad[at-1:], to)
		return bad
	}
	one := arrow.NewSchema([]arrow.Field{field("y", arrow.PrimitiveTypes.Int64),
		field("x", arrow.PrimitiveTypes.Int64)}, nil)
	file := asArrow(t, one, framed(t, one, `[{"y": 1, "x": 2}, {"y": 2, "x": 5}]`))
	footer := bytes.LastIndex(file, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a body":                 {put(8008, 1<<40, 0), "a message claims 1099511627776 bytes"},
		"rows":                   {put(1001, 1<<40, 0), "it has more rows than the limit"},
		"rows that fit":          {put(1001, 1<<30, 0), "a record batch claims 1073741824 rows"},
		"a node":                 {put(1001, 1<<50, 1), "counts more than it has"},
		"a file without its end": {file[:footer], "the mark of its end is missing"},
	} {
		_, err := Read(t.Context(), []string{written(t, "a.arrow", c.content)}, Examples, Options{Label: "y"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
	if set, err := Read(t.Context(), []string{written(t, "a.arrow", file)}, Examples,
		Options{Label: "y"}); err != nil || set.Rows() != 2 {
		t.Error(fmt.Sprint(set, err))
	}
}
