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

// with returns the table with another column in place of the one of the same name.
func (t table) with(c *column) table {
	t = slices.Clone(t)
	for i := range t {
		if t[i].name == c.name {
			t[i] = c
		}
	}
	return t
}

// tableForms are the formats of tables, and sparseForms those of sparse rows. A form is the end of a file's name.
var (
	tableForms  = []string{"csv", "tsv", "jsonl", "parquet", "arrow", "arrows", "csv.gz", "tsv.gz", "jsonl.gz"}
	sparseForms = []string{"svm", "libfm", "vw", "svm.gz"}
)

// style is what a table as text looks like beside its cells.
type style struct {
	separator string
	mark      bool // of the order of bytes
	carriage  bool // lines end with CR and LF
	sepLine   bool // a first line such as sep=;
	quotes    bool // around all cells
}

// drawStyle draws how a table of a form looks.
func (in *input) drawStyle(form string) style {
	s := style{separator: pick(in, ",", ",", ";", "|", "\t"), mark: in.one(4), carriage: in.one(3), sepLine: in.one(4), quotes: in.one(5)}
	if strings.HasPrefix(form, "tsv") {
		s.separator, s.sepLine = "\t", false
	} else if s.separator == "|" || s.separator == "\t" {
		s.sepLine = true // the separator is not to be guessed here
	}
	return s
}

// write writes a table in a form, and returns the file's name. The label of sparse rows is the column of that name, and weight that of their importance, or empty.
func (in *input) write(stem, form string, t table, label, weight string) string {
	base, packed := strings.CutSuffix(form, ".gz")
	var data []byte
	switch base {
	case "csv", "tsv":
		s := in.drawStyle(base)
		in.is(s.String())
		data = s.table(t)
	case "jsonl":
		data = jsonLines(t)
	case "parquet":
		data = in.parquet(t)
	case "arrow":
		if data = in.arrowFile(t); in.one(2) {
			in.is("footer alone")
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
	for i, on := range []bool{s.mark, s.carriage, s.sepLine, s.quotes} {
		if on {
			out += " " + []string{"BOM", "CRLF", "sep=", "quoted"}[i]
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
	for r := -1; r < len(t[0].cells); r++ {
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

// jsonLines returns an object for each row; the key of a missing cell is left out.
func jsonLines(t table) []byte {
	var out bytes.Buffer
	for r := range t[0].cells {
		out.WriteByte('{')
		first := true
		for i, c := range t {
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
