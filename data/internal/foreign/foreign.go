// Package foreign recognises forms of data that bellows does not read, so that errors can name them. It knows
// containers and programs by their first bytes, texts by their first line, remote files by their address, and data
// after the end of a gzip stream.
//
// The caller asks in this order: Remote for a name, Container for a stream's first bytes, Text for its first line.
// Members reads gzip files.
//
// The package refuses nothing itself: it returns what a thing is and what to do, or nothing if the thing may be
// supported.
package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"bellows/data/internal/lines"

	"github.com/klauspost/compress/gzip"
)

// known lists compressed and binary containers, pictures and programs.
var known = []struct{ magic, what, how string }{
	{"\x1f\x8b", "is compressed twice", "decompress it once"},
	{"\x28\xb5\x2f\xfd", "is compressed twice", "decompress it once"},
	{"BZh", "is a bzip2 stream", "decompress it, or use gzip or zstd"},
	{"\xfd7zXZ\x00", "is an xz stream", "decompress it, or use gzip or zstd"},
	{"PK\x03\x04", "is a zip archive", "unpack it and name the file inside"},
	{"\x04\x22\x4d\x18", "is an lz4 stream", "decompress it, or use gzip or zstd"},
	{"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive", "unpack it and name the file inside"},
	{"\x93NUMPY", "is a NumPy array", "write it as CSV, for example with numpy.savetxt"},
	{"PARE", "is an encrypted Parquet file", "write it without encryption"},
	{"FEA1", "is a Feather file of the first version", "write it again as Feather 2, which is Arrow, or as Parquet"},
	{"Obj\x01", "is an Avro file", "write it as CSV"},
	{"\x89HDF", "is an HDF5 file", "write it as CSV"},
	{"SQLite format 3\x00", "is an SQLite database",
		"export the table, for example with sqlite3 -header -csv FILE 'select * from TABLE'"},
	{"\xd0\xcf\x11\xe0", "is an old Excel file or another one of Office", "save it as CSV"},
	{"\x80\x02", "is a Python pickle", "write it as CSV; nothing here loads code from data"},
	{"\x80\x03", "is a Python pickle", "write it as CSV; nothing here loads code from data"},
	{"\x80\x04", "is a Python pickle", "write it as CSV; nothing here loads code from data"},
	{"\x80\x05", "is a Python pickle", "write it as CSV; nothing here loads code from data"},
	{"\x89PNG", "is a PNG picture", "name the folder that it lies in, or the one around folders that are called " +
		"like the classes of their images"},
	{"\xff\xd8\xff", "is a JPEG picture", "name the folder that it lies in, or the one around folders that are " +
		"called like the classes of their images"},
	{"GIF87a", "is a GIF picture", "convert it to PNG, and name the folder that it lies in"},
	{"GIF89a", "is a GIF picture", "convert it to PNG, and name the folder that it lies in"},
	{"%PDF", "is a PDF document", "extract its text, for example with pdftotext"},
	{"\x7fELF", "is a program", "name a file of data"},
	{"\xff\xfe", "is UTF-16 text", "convert it, for example with iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "is UTF-16 text", "convert it, for example with iconv -f UTF-16 -t UTF-8"},
}

// sheets matches names near the beginning of the zip archive that an Excel file is.
var sheets = regexp.MustCompile(`\[Content_Types\]\.xml|xl/|_rels/\.rels`)

// HeadBytes is the number of bytes of a stream that Container inspects.
const HeadBytes = 512

// Container returns what a stream is, by its first bytes, and what to do. It returns nothing for text and IDX.
func Container(head []byte) (what, how string) {
	for _, f := range known {
		if !bytes.HasPrefix(head, []byte(f.magic)) {
			continue
		}
		if f.magic == "PK\x03\x04" && sheets.Match(head) {
			return "is an Excel file", "save it as CSV"
		}
		return f.what, f.how
	}
	// Text whose lines end in carriage returns alone would be one line.
	if bytes.Count(head, []byte("\r")) > 1 && bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, 0) < 0 {
		return "its lines end in a carriage return alone", "write them with line feeds, for example with tr '\\r' '\\n'"
	}
	return "", ""
}

// schemes lists the schemes of remote files, and the commands that write their bytes to standard output.
var schemes = []struct{ name, fetch string }{
	{"s3", "aws s3 cp %s -"}, {"gs", "gcloud storage cat %s"}, {"http", "curl -sSL %s"}, {"https", "curl -sSL %s"},
	{"ftp", "curl -sSL %s"},
	{"hdfs", "hdfs dfs -cat %s"}, {"ssh", ""}, {"abfs", ""}, {"az", ""},
}

// Remote returns, for the name of a remote file, what it is and how to fetch it. It returns nothing for other names.
func Remote(name string) (what, how string) {
	scheme, _, found := strings.Cut(name, "://")
	for _, s := range schemes {
		if !found || s.name != strings.ToLower(scheme) {
			continue
		}
		how := "copy it to this machine first"
		if s.fetch != "" {
			how += ", or pipe it in: " + fmt.Sprintf(s.fetch, name) + " | ..., with - in its place"
		}
		return s.name + ":// is not read from here", how
	}
	return "", ""
}

var (
	// namespace matches the start of Vowpal Wabbit's features: a bar after the label, or at the beginning.
	namespace = regexp.MustCompile(`^(\S+ )*('\S* ?)?\|(\S+)?( \S+)*\s*$`)
	// account matches a line of /etc/passwd.
	account = regexp.MustCompile(`^[^:\s]+:[^:]*:[0-9]+:[0-9]+:[^:]*:/[^:]*:[^:]*$`)
	// bagLine matches a document of LDA-C.
	bagLine = regexp.MustCompile(`^[0-9]+( [0-9]+:[0-9]+)+\s*$`)
)

// Text returns the fault of a first line that has a known, unsupported form, and nil for other lines. documents says
// whether the lines are free text, separated whether the user has chosen the separator of fields.
func Text(line []byte, documents, separated bool) *lines.Fault {
	whole := func(what, how string) *lines.Fault { return &lines.Fault{Width: len(line), What: what, How: how} }
	bare := bytes.TrimSpace(line)
	switch {
	case len(bare) == 0:
	case bare[0] == '[' && (json.Valid(bare) || len(bare) == 1 && !documents):
		return whole("this is a JSON array, which is not read",
			"write an object on each line, for example with jq -c '.[]'")
	case documents:
	case account.Match(bare):
		return whole("this is a list of accounts, such as /etc/passwd, not data",
			"name a file of data; if : separates columns, say --sep :")
	case bare[0] == '#':
		return whole("the first line is a comment", "remove it, or only its # if it names the columns")
	case bare[0] == '@' && bytes.HasPrefix(bytes.ToLower(bare), []byte("@relation")):
		return whole("this is ARFF, which is not read",
			"remove all up to the line @data, and put the names of the columns there")
	case bytes.HasPrefix(bare, []byte("<?xml")), bytes.HasPrefix(bytes.ToLower(bare), []byte("<!doctype")),
		bytes.HasPrefix(bytes.ToLower(bare), []byte("<html")):
		return whole("this is a web page or XML, not data",
			"look into it: it may be the answer of a server that had no file")
	case bytes.HasPrefix(bare, []byte("%%MatrixMarket")):
		return whole("this is a Matrix Market file, which is not read", "write it as LIBSVM or CSV")
	case !separated && bytes.IndexByte(line, '|') >= 0 && namespace.Match(line) && !lines.LooksVW(line):
		return whole("this may be Vowpal Wabbit text, or a table whose columns a bar separates",
			"say which: --format vw or --sep '|'")
	}
	return nil
}

// CountsItself reports whether a line is a document of LDA-C: it begins with the number of its other fields.
func CountsItself(line []byte) bool {
	fields := bytes.Fields(line)
	return bagLine.Match(line) && string(fields[0]) == strconv.Itoa(len(fields)-1)
}

// OnlyNumbers reports whether a line consists of several numbers, as in ratings, tables and LIBSVM.
func OnlyNumbers(line []byte) bool {
	parts := bytes.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,;:\t|", r) })
	for _, f := range parts {
		if !lines.IsNumber(f) {
			return false
		}
	}
	return len(parts) > 1
}

// TrySeparator returns the end of an error about a line with a wrong number of fields: the separator that would make
// from least to most fields of it. It returns "" if no separator does.
func TrySeparator(line []byte, least, most int) string {
	for _, s := range []string{"\t", ",", ";", "::", " ", "|", ":"} {
		if fields, f := lines.Fields(line, s); f == nil && len(fields) >= least && len(fields) <= most {
			return fmt.Sprintf("; --sep %s would make %d fields of it", shellSeparator(s), len(fields))
		}
	}
	return ""
}

// shellSeparator returns a separator as a shell's command line must write it.
func shellSeparator(s string) string {
	if s == "|" {
		return "'|'"
	}
	return strings.Trim(lines.SeparatorName(s), `"`)
}

// ErrBehind is returned if bytes that are not gzip follow the last member.
var ErrBehind = errors.New("bytes that are not gzip follow the end of its gzip stream")

// gzipMagic begins a member.
var gzipMagic = []byte{0x1f, 0x8b}

// Members reads the members of a gzip file one after another. Zero bytes after the last one are padding. Anything else
// there is ErrBehind; package gzip alone would treat it as a truncated member. NewMembers makes one.
type Members struct {
	z    *gzip.Reader
	from *bufio.Reader
}

// NewMembers reads the header of the first member. Its errors are those of gzip.
func NewMembers(from *bufio.Reader) (*Members, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &Members{z, from}, nil
}

// Read returns decompressed bytes. Its errors are those of gzip, of the reader below, and ErrBehind.
func (m *Members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 || err != io.EOF {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		next, err := m.from.Peek(len(gzipMagic))
		switch {
		case len(next) == 0:
			return 0, err
		case next[0] == 0:
			return 0, m.padding()
		case !bytes.Equal(next, gzipMagic):
			return 0, ErrBehind
		}
		if err := m.z.Reset(m.from); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
}

// padding reads zero bytes after the last member, which tapes and disk images append and gzip ignores. It returns
// io.EOF, or ErrBehind if anything else follows. Like gzip, it reads no further member after padding.
func (m *Members) padding() error {
	for {
		chunk, err := m.from.Peek(max(1, m.from.Buffered()))
		if len(chunk) == 0 {
			return err
		}
		for _, b := range chunk {
			if b != 0 {
				return ErrBehind
			}
		}
		if _, err := m.from.Discard(len(chunk)); err != nil {
			return err
		}
	}
}
