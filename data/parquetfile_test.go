package data

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go"
)

// asParquet writes record batches to a Parquet file, a row group each.
func asParquet(t testing.TB, s *arrow.Schema, batches []arrow.RecordBatch) []byte {
	t.Helper()
	root := orderedGroup{Group: parquet.Group{}}
	for _, f := range s.Fields() {
		root.names = append(root.names, f.Name)
		root.Group[f.Name] = parquetNode(t, f)
	}
	var out bytes.Buffer
	w := parquet.NewWriter(&out, parquet.NewSchema("schema", root), parquet.Compression(&parquet.Zstd))
	var err error
	for _, b := range batches {
		rows := make([]parquet.Row, b.NumRows())
		for k, column := range b.Columns() {
			for r := range rows {
				rows[r] = appendValues(t, rows[r], column, r, k, s.Field(k).Nullable)
			}
		}
		_, failed := w.WriteRows(rows)
		err = errors.Join(err, failed, w.Flush())
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// orderedGroup is a group that keeps the order of its fields.
type orderedGroup struct {
	parquet.Group
	names []string
}

// Fields implements parquet.Node.
func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.names,
			a.Name()) - slices.Index(g.names, b.Name())
	})
	return fields
}

// parquetNode returns the schema of a column.
func parquetNode(t testing.TB, f arrow.Field) parquet.Node {
	t.Helper()
	var node parquet.Node
	switch kind := f.Type.(type) {
	case *arrow.Int8Type:
		node = parquet.Int(8)
	case *arrow.Int32Type:
		node = parquet.Int(32)
	case *arrow.Int64Type:
		node = parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)
	case *arrow.Uint8Type:
		node = parquet.Uint(8)
	case *arrow.Uint32Type:
		node = parquet.Uint(32)
	case *arrow.Uint64Type:
		node = parquet.Uint(64)
	case *arrow.Float32Type:
		node = parquet.Leaf(parquet.FloatType)
	case *arrow.Float64Type:
		node = parquet.Leaf(parquet.DoubleType)
	case *arrow.BooleanType:
		node = parquet.Leaf(parquet.BooleanType)
	case *arrow.Date32Type:
		node = parquet.Date()
	case *arrow.TimestampType:
		node = parquet.Timestamp(parquet.Millisecond)
	case *arrow.StringType, *arrow.DictionaryType:
		node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case *arrow.Decimal128Type:
		node = parquet.Decimal(int(kind.Scale), int(kind.Precision), parquet.FixedLenByteArrayType(16))
	case *arrow.Decimal256Type:
		node = parquet.Decimal(int(kind.Scale), int(kind.Precision), parquet.FixedLenByteArrayType(32))
	case *arrow.ListType:
		node = parquet.List(parquetNode(t, kind.ElemField()))
	default:
		t.Fatalf("Parquet files of tests have no columns of the type %s", f.Type)
	}
	if f.Nullable {
		node = parquet.Optional(node)
	}
	return node
}

// appendValues appends the value of a row of column k, or those of its list.
func appendValues(t testing.TB, row parquet.Row, column arrow.Array, r, k int, optional bool) parquet.Row {
	t.Helper()
	level := 0
	if optional {
		level = 1
	}
	list, is := column.(*array.List)
	switch {
	case column.IsNull(r):
		return append(row, parquet.NullValue().Level(0, 0, k))
	case !is:
		return append(row, parquetValue(t, column, r).Level(0, level, k))
	}
	from, to := list.ValueOffsets(r)
	for i := from; i < to; i++ { // elements may be missing, but none is
		row = append(row, parquetValue(t, list.ListValues(), int(i)).Level(int(min(i-from, 1)), level+2, k))
	}
	return row
}

// parquetValue returns a value that is there.
func parquetValue(t testing.TB, column arrow.Array, r int) parquet.Value {
	t.Helper()
	wide := func(x *big.Int, width int) parquet.Value {
		if x.Sign() < 0 {
			x = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
		}
		return parquet.FixedLenByteArrayValue(x.FillBytes(make([]byte, width)))
	}
	switch c := column.(type) {
	case *array.Int8:
		return parquet.Int32Value(int32(c.Value(r)))
	case *array.Int32:
		return parquet.Int32Value(c.Value(r))
	case *array.Int64:
		return parquet.Int64Value(c.Value(r))
	case *array.Uint8:
		return parquet.Int32Value(int32(c.Value(r)))
	case *array.Uint32:
		return parquet.Int32Value(int32(c.Value(r)))
	case *array.Uint64:
		return parquet.Int64Value(int64(c.Value(r)))
	case *array.Float32:
		return parquet.FloatValue(c.Value(r))
	case *array.Float64:
		return parquet.DoubleValue(c.Value(r))
	case *array.Boolean:
		return parquet.BooleanValue(c.Value(r))
	case *array.Date32:
		return parquet.Int32Value(int32(c.Value(r)))
	case *array.Timestamp:
		return parquet.Int64Value(int64(c.Value(r)))
	case *array.String:
		return parquet.ByteArrayValue([]byte(c.Value(r)))
	case *array.Dictionary:
		return parquetValue(t, c.Dictionary(), c.GetValueIndex(r))
	case *array.Decimal128:
		return wide(c.Value(r).BigInt(), 16)
	case *array.Decimal256:
		return wide(c.Value(r).BigInt(), 32)
	}
	t.Fatalf("Parquet files of tests have no values of the type %s", column.DataType())
	return parquet.Value{}
}
