package inputs

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// batches returns the rows of a table as two record batches. Those of an Arrow file have one dictionary of a column at most, and so have none here.
func (in *input) batches(t table, dictionaries bool) (*arrow.Schema, []arrow.RecordBatch) {
	var fields []arrow.Field
	for _, c := range t {
		kind := c.kind
		if kind == nil {
			if kind = pick[arrow.DataType](in, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString); dictionaries && in.one(3) {
				kind = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
			}
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: kind, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	var out []arrow.RecordBatch
	rows := len(t[0].cells)
	for _, part := range [][2]int{{0, rows / 3}, {rows / 3, rows}} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, c := range t {
			for _, cell := range c.cells[part[0]:part[1]] {
				if cell == "" {
					b.Field(i).AppendNull()
				} else if err := b.Field(i).AppendValueFromString(cell); err != nil {
					in.err = errors.Join(in.err, err)
				}
			}
		}
		out = append(out, b.NewRecordBatch())
	}
	return schema, out
}

// parquet returns the table as a Parquet file of two row groups.
func (in *input) parquet(t table) []byte {
	schema, batches := in.batches(t, true)
	var out bytes.Buffer
	codec := pick(in, compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip)
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithDictionaryDefault(in.one(2))), pqarrow.DefaultWriterProps())
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	in.err = errors.Join(in.err, err, w.Close())
	return out.Bytes()
}

// arrowFile returns the table as an Arrow IPC file.
func (in *input) arrowFile(t table) []byte {
	schema, batches := in.batches(t, false)
	var out seekBuffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	in.err = errors.Join(in.err, err, w.Close())
	return out.Bytes()
}

// arrowStream returns the table as an Arrow IPC stream.
func (in *input) arrowStream(t table) []byte {
	schema, batches := in.batches(t, true)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	var err error
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	in.err = errors.Join(in.err, err, w.Close())
	return out.Bytes()
}

// footerAlone overwrites the schema at the head of an Arrow file with zeros, so that only the footer has it.
func footerAlone(file []byte) []byte {
	file = bytes.Clone(file)
	length := int(binary.LittleEndian.Uint32(file[12:]))
	clear(file[8 : 16+length])
	return file
}

// seekBuffer is a buffer that knows its place, as the writer of Arrow files wants it.
type seekBuffer struct{ bytes.Buffer }

// Seek returns the current place, the only one that is asked for.
func (b *seekBuffer) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != 1 {
		return 0, errors.New("only the current place is known")
	}
	return int64(b.Len()), nil
}
