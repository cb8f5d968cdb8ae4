package layout

import (
	"path"
	"slices"
	"strings"

	"bellows/data/internal/columns"
	"bellows/data/internal/idx"
)

// Format is how the rows of an input are written, by its name as an option. "" is not known yet.
type Format string

// The formats. A new one is a line here and in formats, and a case where a detector makes its layout and a layout its parser.
const (
	LIBSVM  Format = "libsvm"
	LibFM   Format = "libfm"
	VW      Format = "vw"
	CSV     Format = "csv"
	TSV     Format = "tsv"
	Triples Format = "triples"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
	IDX     Format = "idx"
	Images  Format = "images"
	Docword Format = "docword"
	LDAC    Format = "ldac"
	Text    Format = "text"
)

// formats is all that there are, in the order in which help lists them.
var formats = []struct {
	format Format
	shown  string   // on the screen
	ends   []string // of names of files, but for compression; IDX has a form of its own
}{
	{LIBSVM, columns.ShownLIBSVM, []string{".libsvm", ".svm", ".svmlight"}},
	{LibFM, columns.ShownLibFM, []string{".libfm"}},
	{VW, "Vowpal Wabbit", []string{".vw"}},
	{CSV, columns.ShownCSV, []string{".csv"}},
	{TSV, columns.ShownTSV, []string{".tsv", ".tab"}},
	{Triples, "triples", nil},
	{JSONL, "JSON lines", []string{".jsonl", ".ndjson"}},
	{Parquet, "Parquet", []string{".parquet", ".pq"}},
	{Arrow, "Arrow", []string{".arrow", ".arrows", ".feather", ".ipc"}},
	{IDX, "IDX", nil},
	{Images, "images", nil},
	{Docword, "docword", nil},
	{LDAC, "LDA-C", []string{".ldac", ".lda-c"}},
	{Text, "text", nil},
}

// Formats is the names of all formats, in the order in which help lists them.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f.format)
	}
	return names
}

// Shown is the format's name on the screen, "" of one that is not known.
func (f Format) Shown() string {
	for _, known := range formats {
		if known.format == f {
			return known.shown
		}
	}
	return ""
}

// Indexed says whether lines are a label and pairs of an index and a value.
func (f Format) Indexed() bool { return f == LIBSVM || f == LibFM }

// sparse says whether lines have features by an index or a name, and not the same fields.
func (f Format) sparse() bool { return f.Indexed() || f == VW }

// columnar says whether lines have the same fields, one of them the label.
func (f Format) columnar() bool { return f == CSV || f == TSV }

// Framed says whether files keep columns apart, with names and types, and have no lines.
func (f Format) Framed() bool { return f == Parquet || f == Arrow }

// Documents says whether rows are documents.
func (f Format) Documents() bool { return f == Docword || f == LDAC || f == Text }

// FormatOf proposes a format by file name, "" when the name says nothing.
func FormatOf(name string) Format {
	name = strings.ToLower(path.Base(name))
	for _, packed := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	if idx.Named(name) {
		return IDX
	}
	for _, f := range formats {
		if slices.Contains(f.ends, path.Ext(name)) {
			return f.format
		}
	}
	return ""
}
