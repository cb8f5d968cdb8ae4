package frames

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Open opens an input with the given stream. Its errors are *lines.Error. If limits set no bytes, they follow from the
// file's size.
func Open(s *source.Stream, limits Limits) (f File, close func() error, err error) {
	in := s.In
	fail := func(what, how string) (File, func() error, error) {
		s.Close()
		return nil, nil, &lines.Error{File: in.Shown(), What: what, How: how}
	}
	if limits.Bytes <= 0 {
		limits.Bytes = source.OutputFloor + 256*in.Size
	}
	switch form := FormOf(s.Head); {
	case form == Neither && len(s.Head) == 0:
		return fail("the file is empty", "name a file with data, or leave it out")
	case form == Neither:
		return fail("this is neither a Parquet file, which begins with PAR1, nor an Arrow file or stream",
			"name its true format with --format, or write it again")
	case form == Arrow && bytes.HasPrefix(s.Head, arrowMagic) && s.Packing == "" && !in.Pipe && !in.IsBlob():
		return openAt(s, limits, OpenArrowFile)
	case form == Arrow:
		size := in.Size
		if in.Pipe || s.Packing != "" {
			size = 0
		}
		if f, err = OpenArrow(s, size, limits); err != nil {
			s.Close()
			return nil, nil, Explain(in, err)
		}
		return f, s.Close, nil
	case s.Packing != "":
		return fail("a Parquet file is packed as a whole, and is read from its end",
			"decompress it; what it holds is packed already")
	case in.Pipe:
		return fail("a Parquet file is read from its end, and this can only be read from its beginning",
			"name the file itself, or give an Arrow stream")
	}
	if in.IsBlob() {
		if f, close, err = openCopy(s, limits); err != nil {
			return nil, nil, Explain(in, err)
		}
		return f, close, nil
	}
	return openAt(s, limits, OpenParquet)
}

// openAt opens a file for random access.
func openAt(s *source.Stream, limits Limits,
	open func(at io.ReaderAt, size int64, limits Limits) (File, error)) (f File, close func() error, err error) {
	in := s.In
	s.Close()
	at, err := os.Open(in.Path)
	if err != nil {
		return nil, nil, &lines.Error{File: in.Shown(), What: "cannot be opened: " + err.Error(),
			How: "check the path and its permissions", Err: err}
	}
	if f, err = open(at, in.Size, limits); err != nil {
		at.Close()
		return nil, nil, Explain(in, err)
	}
	return f, at.Close, nil
}

// openCopy opens a Parquet file of a store in a local copy: several workers read pages at random, and only a reader of
// the whole file can check it against its checksum. The copy has no name.
func openCopy(s *source.Stream, limits Limits) (f File, close func() error, err error) {
	defer s.Close()
	at, err := os.CreateTemp("", "parquet-*")
	if err != nil {
		return nil, nil, err
	}
	gone := os.Remove(at.Name()) == nil
	close = func() error {
		err := at.Close()
		if !gone { // a system that keeps the name of an open file
			err = cmp.Or(os.Remove(at.Name()), err)
		}
		return err
	}
	if _, err = io.Copy(at, s); err == nil {
		f, err = OpenParquet(at, s.In.Size, limits)
	}
	if err != nil {
		_ = close() // the first error counts
		return nil, nil, err
	}
	return f, close, nil
}

// Explain converts the error of a read.
func Explain(in source.Input, err error) *lines.Error {
	if known := (*lines.Error)(nil); errors.As(err, &known) {
		return known
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "parquet: "), "arrow/ipc: ")
	e := &lines.Error{File: in.Shown(), What: "its columns cannot be read: " + oneLine(text),
		How: "the file is damaged or cut short; copy it again, or write it again", Err: err}
	switch {
	case errors.Is(err, errNoSchema):
		e.What, e.How = text, "name the file itself, as it is on this machine and unpacked, or give an Arrow stream"
	case errors.Is(err, ErrLimit):
		e.How = "it is damaged, or its row groups or record batches are too large; write it with smaller ones"
	case strings.Contains(text, "the limit"):
		e.What, e.How = text, "raise the limit, or read fewer rows or columns"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.What = "it ends early: " + oneLine(text)
	case strings.Contains(text, "ncrypt"):
		e.How = "write it without encryption"
	}
	return e
}

// oneLine returns a library's message in one line.
func oneLine(text string) string {
	const most = 160
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if text = strings.ToValidUTF8(text, "\ufffd"); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimRight(text, ". ")
}

// Sample returns the first rows as lines of CSV, of at most the given number of bytes, and the parts that it found them
// in, which are still to be read. Its error is like that of Read.
func Sample(f File, most int) (csv []byte, ahead []Chunk, err error) {
	var readable []int
	width := len(f.Columns())
	for i, c := range f.Columns() {
		if c.Odd == "" {
			readable = append(readable, i)
		}
	}
	const rows = 1000
	for left := rows; left > 0; {
		chunk, err := f.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, ahead, err
		}
		ahead = append(ahead, chunk)
		for vs, err := range chunk.Read(readable) {
			if err != nil {
				return nil, ahead, err
			}
			n := min(left, RowsOf(vs))
			if left -= n; left == 0 || len(csv) < most {
				csv = appendCSV(csv, vs, readable, width, n, most)
			}
			break
		}
		if len(readable) == 0 {
			break
		}
	}
	return csv, ahead, nil
}

// RowsOf returns the number of rows of vectors.
func RowsOf(vs []Vector) int {
	if len(vs) == 0 {
		return 0
	}
	return vs[0].Rows()
}

// Above returns the first rows of vectors.
func Above(vs []Vector, rows int) []Vector {
	out, kept := make([]Vector, len(vs)), make([]int, rows)
	for i := range kept {
		kept[i] = i
	}
	for i := range vs {
		out[i] = vs[i].picked(kept)
	}
	return out
}

// appendCSV appends rows as those of a CSV file with a number of columns, up to a number of bytes.
func appendCSV(csv []byte, vs []Vector, columns []int, width, rows, most int) []byte {
	var field []byte
	for row := range rows {
		from, next := len(csv), 0
		for at := range width {
			if at > 0 {
				csv = append(csv, ',')
			}
			if next == len(columns) || columns[next] != at {
				continue
			}
			field = vs[next].Append(field[:0], row)
			next++
			csv = append(csv, '"')
			for _, c := range field {
				switch {
				case c < ' ':
					c = ' '
				case c == '"':
					csv = append(csv, '"')
				}
				csv = append(csv, c)
			}
			csv = append(csv, '"')
		}
		if csv = append(csv, '\n'); len(csv) > most && from > 0 {
			return csv[:from]
		}
	}
	return csv
}
