package inputs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// column is a named column of cells as text. An empty cell is missing.
type column struct {
	name   string
	cells  []string
	kind   arrow.DataType // in files with columns; nil is text
	quoted bool           // JSON writes the cells as strings
}

// table is columns of the same length.
type table []*column

// named returns the column of a name.
func (t table) named(name string) *column {
	for _, c := range t {
		if c.name == name {
			return c
		}
	}
	panic("no column " + name)
}

// tableForms are the formats of tables, and sparseForms those of sparse rows. A form is the end of a file's name.
var (
	tableForms  = []string{"csv", "tsv", "jsonl", "parquet", "arrow", "arrows", "csv.gz", "tsv.gz", "jsonl.gz"}
	sparseForms = []string{"svm", "libfm", "vw", "svm.gz"}
)

// style is how a table looks as text, apart from its cells.
type style struct {
	separator string
	mark      bool // of the order of bytes
	carriage  bool // lines end with CR and LF
	sepLine   bool // a first line such as sep=;
	quotes    bool // around all cells
	bare      bool // no header
}

// drawStyle draws how a table of a form looks.
func (in *input) drawStyle(form string) style {
	s := style{separator: pick(in, ",", ",", ";", "|", "\t"), mark: in.one(4), carriage: in.one(3), sepLine: in.one(4), quotes: in.one(5), bare: in.bare}
	if strings.HasPrefix(form, "tsv") {
		s.separator, s.sepLine = "\t", false
	} else if s.separator == "|" || s.separator == "\t" {
		s.sepLine = true // the separator is not to be guessed here
	}
	return s
}

// write writes a table in a form, and returns the file's name. The label of sparse rows is the column of that name, and weight that of their importance, or empty.
func (in *input) write(stem, form string, t table, label, weight string) string {
	s := in.drawStyle(form)
	if strings.Contains("csv.gz tsv.gz", form) {
		in.describe(s.String())
	}
	if rows := len(t[0].cells); rows > 50 && slices.Contains(tableForms, form) && in.one(5) {
		in.describe("in two files")
		in.writeFile(stem+"-1", form, s, t.rows(0, rows/2), label, weight)
		in.writeFile(stem+"-2", form, s, t.rows(rows/2, rows), label, weight)
		return in.path(stem + "-*." + form)
	}
	return in.writeFile(stem, form, s, t, label, weight)
}

// rows returns the rows of a table from one on and before another.
func (t table) rows(from, before int) (out table) {
	for _, c := range t {
		part := *c
		part.cells = c.cells[from:before]
		out = append(out, &part)
	}
	return out
}

// writeFile writes a table as a single file, and returns the file's name.
func (in *input) writeFile(stem, form string, s style, t table, label, weight string) string {
	base, packed := strings.CutSuffix(form, ".gz")
	var data []byte
	switch base {
	case "csv", "tsv":
		data = s.table(t)
	case "jsonl":
		data = jsonLines(t)
	case "parquet":
		data = in.parquet(t)
	case "arrow":
		if data = in.arrowFile(t); in.one(2) {
			in.describe("footer alone")
			data = footerAlone(data)
		}
	case "arrows":
		data = in.arrowStream(t)
	default:
		data = sparse(base, t, label, weight)
	}
	if packed {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(data)
		if err = firstError(err, w.Close()); err != nil && in.err == nil {
			in.err = err
		}
		data = out.Bytes()
	}
	return in.save(stem+"."+form, data)
}

// firstError returns the first of two errors.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// String returns the style in words.
func (s style) String() string {
	out := strconv.Quote(s.separator)
	for i, on := range []bool{s.mark, s.carriage, s.sepLine, s.quotes, s.bare} {
		if on {
			out += " " + []string{"BOM", "CRLF", "sep=", "quoted", "no header"}[i]
		}
	}
	return out
}

// table returns the text of a table with a header.
func (s style) table(t table) []byte {
	var out strings.Builder
	end := "\n"
	if s.carriage {
		end = "\r\n"
	}
	if s.mark {
		out.WriteString("\uFEFF")
	}
	if s.sepLine {
		out.WriteString("sep=" + s.separator + end)
	}
	first := -1
	if s.bare {
		first = 0
	}
	for r := first; r < len(t[0].cells); r++ {
		for i, c := range t {
			cell := c.name
			if r >= 0 {
				cell = c.cells[r]
			}
			if s.quotes && cell != "" || strings.ContainsAny(cell, s.separator+"\"") {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			if i > 0 {
				out.WriteString(s.separator)
			}
			out.WriteString(cell)
		}
		out.WriteString(end)
	}
	return []byte(out.String())
}

// jsonLines returns an object for each row. Keys of missing cells are null or left out; keys of all rows but the first are in another order.
func jsonLines(t table) []byte {
	var out bytes.Buffer
	for r := range t[0].cells {
		out.WriteByte('{')
		first := true
		for i := range t {
			c := t[(i+r)%len(t)]
			cell := c.cells[r]
			if cell == "" && r > 0 && (r+i)%2 == 0 {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			fmt.Fprintf(&out, "%q:", c.name)
			switch {
			case cell == "":
				out.WriteString("null")
			case c.quoted:
				text, _ := json.Marshal(cell)
				out.Write(text)
			default:
				out.WriteString(cell)
			}
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}

// sparse returns rows in LIBSVM, libFM or Vowpal Wabbit format. Columns without a kind become features of their values.
func sparse(form string, t table, label, weight string) []byte {
	var out strings.Builder
	places := map[string]int{}
	for r := range t[0].cells {
		out.WriteString(t.named(label).cells[r])
		if form == "vw" {
			if weight != "" {
				out.WriteString(" " + t.named(weight).cells[r])
			}
			out.WriteString(" |f")
		}
		var entries []string
		for _, c := range t {
			cell := c.cells[r]
			if c.name == label || c.name == weight {
				continue
			}
			name, value := c.name, cell
			if c.kind == nil {
				name, value = c.name+"="+cell, "1"
			}
			if _, there := places[name]; !there {
				places[name] = len(places)
			}
			if value == "0" || value == "" {
				continue
			}
			switch at := places[name]; form {
			case "vw":
				out.WriteString(" " + name + ":" + value)
			case "svm":
				entries = append(entries, fmt.Sprintf("%09d:%s", at+1, value))
			default:
				entries = append(entries, fmt.Sprintf("%09d:%s", at, value))
			}
		}
		slices.Sort(entries)
		for _, e := range entries {
			at, value, _ := strings.Cut(e, ":")
			at = strings.TrimLeft(at, "0")
			if at == "" {
				at = "0"
			}
			out.WriteString(" " + at + ":" + value)
		}
		out.WriteByte('\n')
	}
	return []byte(out.String())
}
