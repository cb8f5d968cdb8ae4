package frames

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// onePage returns a Parquet file of one column with one uncompressed page of the first version, after a row group
// without rows and pages, such as Arrow's writer makes. deep is the number of optional nodes of the schema: the column,
// and groups around it.
func onePage(t *testing.T, kind format.Type, rows, deep int, crc uint32, body []byte) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	n := int32(len(body))
	page := marshal(&format.PageHeader{Type: format.DataPage, UncompressedPageSize: n, CompressedPageSize: n,
		CRC: int32(crc),
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(rows), Encoding: format.Plain,
			DefinitionLevelEncoding: format.BitPacked, RepetitionLevelEncoding: format.BitPacked})})
	page = append(page, body...)
	schema, path := []format.SchemaElement{{Name: "root", NumChildren: thrift.New[int32](1)}}, []string(nil)
	for k := range deep - 1 {
		name := strings.Repeat("g", k+1)
		schema = append(schema, format.SchemaElement{Name: name, NumChildren: thrift.New[int32](1),
			RepetitionType: thrift.New(format.Optional)})
		path = append(path, name)
	}
	repetition := format.Required
	if deep > 0 {
		repetition = format.Optional
	}
	schema = append(schema, format.SchemaElement{Name: "v", Type: thrift.New(kind),
		RepetitionType: thrift.New(repetition)})
	size := int64(len(page))
	meta := marshal(&format.FileMetaData{Version: 1, Schema: schema, NumRows: int64(rows),
		RowGroups: []format.RowGroup{{
			Columns: []format.ColumnChunk{{
				MetaData: format.ColumnMetaData{Type: kind, PathInSchema: append(path, "v")},
			}},
		}, {NumRows: int64(rows), TotalByteSize: size,
			Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{Type: kind,
				Encoding: []format.Encoding{format.Plain}, PathInSchema: append(path, "v"),
				NumValues: int64(rows), TotalUncompressedSize: size, TotalCompressedSize: size, DataPageOffset: 4}}}}}})
	file := append([]byte("PAR1"), page...)
	file = binary.LittleEndian.AppendUint32(append(file, meta...), uint32(len(meta)))
	return append(file, "PAR1"...)
}

// numbersOf returns the plain encoding of whole numbers of 32 bits.
func numbersOf(values ...uint32) (b []byte) {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// TestHandmadeParquet reads pages that no library at hand writes.
func TestHandmadeParquet(t *testing.T) {
	t.Parallel()
	three := numbersOf(7, 8, 9)
	sum := crc32.ChecksumIEEE(three)
	// The nanoseconds of 17:30:00.5, and Julian days: 2460341 is 2024-01-31, 2440588 is 1970-01-01.
	const half = uint64(17*3600+30*60)*1e9 + 5e8
	days := func(list ...uint32) (b []byte) {
		for _, day := range list {
			b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(b, half), day)
		}
		return b
	}
	for name, c := range map[string]struct {
		kind       format.Type
		rows, deep int
		crc        uint32
		body       []byte
		want       string // the rows
		err        string
	}{
		"no checksum":  {kind: format.Int32, rows: 3, body: three, want: "7 8 9"},
		"its checksum": {kind: format.Int32, rows: 3, crc: sum, body: three, want: "7 8 9"},
		"another checksum": {kind: format.Int32, rows: 3, crc: sum ^ 1, body: three,
			err: "the checksum of a page differs"},
		"packed bits": {kind: format.Int32, rows: 9, deep: 1,
			body: append([]byte{0b1011_0010, 0b1000_0000}, numbersOf(1, 3, 4, 7, 9)...), want: "1 - 3 4 - - 7 - 9"},
		"pairs of packed bits": {kind: format.Int32, rows: 5, deep: 2,
			body: append([]byte{0b10_00_01_10, 0b10_00_00_00}, numbersOf(1, 4, 5)...), want: "1 - - 4 5"},
		"too few packed bits": {kind: format.Int32, rows: 9, deep: 1, body: []byte{0b1111_1111},
			err: "unexpected EOF"},
		"instants of 96 bits": {kind: format.Int96, rows: 3, body: days(2460341, 2440588, 2440587),
			want: "2024-01-31T17:30:00.5Z 1970-01-01T17:30:00.5Z 1969-12-31T17:30:00.5Z"},
		"instants with missing": {kind: format.Int96, rows: 2, deep: 1,
			body: append([]byte{0b0100_0000}, days(2460341)...), want: "- 2024-01-31T17:30:00.5Z"},
	} {
		text, err := written(onePage(t, c.kind, c.rows, c.deep, c.crc, c.body), limitsOfTests)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, not %s", name, err, c.err)
			}
			continue
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for i, line := range lines {
			if lines[i] = strings.Trim(line, `"`); lines[i] == "" {
				lines[i] = "-"
			}
		}
		if got := strings.Join(lines[1:], " "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}
