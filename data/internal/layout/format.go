package layout

import (
	"path"
	"slices"
	"strings"

	"bellows/data/internal/columns"
	"bellows/data/internal/idx"
)

// Format names the format of an input, as the option does. "" is a format not known yet.
type Format string

// The formats. A new one needs a line here and in formats, a case in a detector that makes its layout, and a case in a
// layout that makes its parser.
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

// formats lists all formats, in the order in which the help lists them.
var formats = []struct {
	format Format
	shown  string   // on the screen
	ends   []string // file name extensions, without compression; IDX has names of its own form
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

// Formats returns the names of all formats, in the order in which the help lists them.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f.format)
	}
	return names
}

// Shown returns the format's name on the screen, "" if the format is unknown.
func (f Format) Shown() string {
	for _, known := range formats {
		if known.format == f {
			return known.shown
		}
	}
	return ""
}

// Indexed reports whether a line is a label and pairs of index and value.
func (f Format) Indexed() bool { return f == LIBSVM || f == LibFM }

// sparse reports whether lines have features by an index or a name instead of the same fields.
func (f Format) sparse() bool { return f.Indexed() || f == VW }

// columnar reports whether all lines have the same fields, one of them the label.
func (f Format) columnar() bool { return f == CSV || f == TSV }

// Framed reports whether the files are columnar, with names and types, and have no lines.
func (f Format) Framed() bool { return f == Parquet || f == Arrow }

// Documents reports whether the rows are documents.
func (f Format) Documents() bool { return f == Docword || f == LDAC || f == Text }

// FormatOf proposes a format by file name, "" if the name says nothing.
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
