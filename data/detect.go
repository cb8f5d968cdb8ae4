package data

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// plan is how the lines of an input are to be read. The first file makes it;
// the first line of every further file must make the same one.
type plan struct {
	format    string // "libsvm", "libfm", "csv", "tsv", "triples" or "idx"
	separator string
	columns   int // fields a line; 0 where lines differ
	label     int // column of the label, -1 when there is none
	header    bool
	names     []string // of all columns, from the header
}

// Names of formats: as an option, and as shown.
var formatShown = map[string]string{
	"libsvm": "LIBSVM", "libfm": "libFM", "csv": "CSV", "tsv": "TSV", "triples": "triples", "idx": "IDX",
}

// formatOf proposes a format by file name, "" when the name says nothing.
func formatOf(name string) string {
	name = strings.ToLower(path.Base(name))
	for _, packed := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	if idxName(name) {
		return "idx"
	}
	switch path.Ext(name) {
	case ".libsvm", ".svm", ".svmlight":
		return "libsvm"
	case ".libfm":
		return "libfm"
	case ".csv":
		return "csv"
	case ".tsv", ".tab":
		return "tsv"
	}
	return ""
}

// separators in the order in which a first line is tried.
var separators = []struct{ text, name string }{
	{"\t", "tab"}, {"::", "::"}, {",", "comma"}, {";", "semicolon"}, {" ", "space"},
}

func separatorName(text string) string {
	for _, s := range separators {
		if s.text == text {
			return s.name
		}
	}
	return strconv.Quote(text)
}

// separatorOf resolves the option.
func separatorOf(option string) (string, error) {
	for _, s := range separators {
		if option == s.name || option == s.text {
			return s.text, nil
		}
	}
	if option == `\t` {
		return "\t", nil
	}
	if len(option) == 1 && option[0] > ' ' && option[0] < 0x7f && !strings.Contains(`"+-.`, option) && !isDigits([]byte(option)) {
		return option, nil
	}
	return "", &Error{File: "separator " + strconv.Quote(option), What: "cannot separate fields",
		How: "use tab, comma, semicolon, space, :: or one punctuation character"}
}

// detector makes the plan of one file from its name and first line.
type detector struct {
	kind Kind
	opt  *Options
	in   input
}

// plan looks at the first line (without its newline).
func (d *detector) plan(line []byte) (*plan, *fault) {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return nil, &fault{at: at, width: 1, what: "the text holds a NUL byte", how: "this is not a text file in UTF-8; name its format if it is IDX"}
	}
	p := &plan{format: d.format(line), label: -1}
	if d.kind == Ratings && p.format != "idx" {
		if p.format == "libsvm" || p.format == "libfm" {
			return nil, &fault{width: len(line), what: "LIBSVM lines hold examples, not ratings", how: "write lines of user, item, rating; or train an app for examples"}
		}
		p.format = "triples"
	}
	switch p.format {
	case "triples":
		if d.kind != Ratings {
			return nil, &fault{width: len(line), what: "triples hold ratings, not examples", how: "name another format, or train an app for ratings"}
		}
		return p, d.triples(p, line)
	case "csv", "tsv":
		return p, d.table(p, line)
	case "idx":
		return nil, &fault{width: 1, what: "this is not an IDX file: it does not begin with two zero bytes", how: "name its true format"}
	case "":
		return nil, &fault{width: len(line), what: "the format is not recognised",
			how: "name it: libsvm (label index:value ...), csv, tsv or idx"}
	}
	return p, nil
}

// further makes the plan of a file behind the first one: its label stands
// where the first file has it, whether or not it repeats the header.
func (d *detector) further(first *plan, line []byte) (*plan, *fault) {
	opt := *d.opt
	if first.label >= 0 && (first.format == "csv" || first.format == "tsv") {
		opt.Label = strconv.Itoa(first.label + 1)
	}
	next := *d
	next.opt = &opt
	return next.plan(line)
}

// format is the option, or what the name says, or what the line looks like.
func (d *detector) format(line []byte) string {
	if d.opt.Format != "" {
		return d.opt.Format
	}
	if named := formatOf(d.in.name); named != "" {
		return named
	}
	fields := bytes.Fields(line)
	switch {
	case d.kind == Ratings:
		return "triples"
	case len(fields) > 1 && isEntry(fields[1]) && isNumber(fields[0]):
		return "libsvm"
	case bytes.IndexByte(line, '\t') >= 0:
		return "tsv"
	case d.opt.Separator != "", bytes.ContainsAny(line, ",;"), len(fields) > 1:
		return "csv"
	case len(fields) == 1 && isNumber(fields[0]):
		return "libsvm" // a row of zeros
	}
	return ""
}

// isEntry reports whether a field looks like index:value.
func isEntry(field []byte) bool {
	index, _, found := bytes.Cut(field, []byte(":"))
	return found && isDigits(index)
}

// split cuts the first line into fields by the separator of the plan, which
// it chooses first when no option does.
func (d *detector) split(p *plan, line []byte) ([][]byte, *fault) {
	switch {
	case d.opt.Separator != "":
		p.separator, _ = separatorOf(d.opt.Separator)
	case p.format == "tsv" || d.opt.Format == "" && formatOf(d.in.name) == "tsv":
		p.separator = "\t"
	default:
		p.separator = " "
		for _, s := range separators {
			if bytes.Contains(line, []byte(s.text)) && (s.text != "::" || p.format == "triples") {
				p.separator = s.text
				break
			}
		}
	}
	text := append(slices.Clone(line), '\n')
	var fields [][]byte
	for i := 0; ; {
		i = skipBlanks(text, i, p.separator[0])
		if p.separator == " " && len(fields) > 0 && (text[i] == '\n' || crlf(text, i)) {
			return fields, nil
		}
		field, end, f := cutField(text, i, p.separator)
		if f != nil {
			return nil, f
		}
		fields = append(fields, field)
		if text[end] == '\n' {
			return fields, nil
		}
		i = end + len(p.separator)
	}
}

// triples completes the plan of a ratings file.
func (d *detector) triples(p *plan, line []byte) *fault {
	fields, f := d.split(p, line)
	if f != nil {
		return f
	}
	p.columns = len(fields)
	least := 3
	if d.opt.Unlabelled {
		least = 2
	}
	if p.columns < least || p.columns > 4 {
		return &fault{at: 0, width: len(line), what: fmt.Sprintf("the first line has %s, separated by %s", plural(p.columns, "field"), separatorName(p.separator)),
			how: "each line is user, item, rating and perhaps a timestamp, separated by tab, comma, semicolon, :: or blanks"}
	}
	if p.columns == 2 {
		p.header = d.opt.Header == HeaderYes
		return nil
	}
	p.label = 2
	return d.header(p, line, fields, "rating")
}

// table completes the plan of a CSV or TSV file.
func (d *detector) table(p *plan, line []byte) *fault {
	fields, f := d.split(p, line)
	if f != nil {
		return f
	}
	if len(p.separator) > 1 {
		return &fault{width: len(line), what: "a table cannot be separated by " + p.separator, how: "use one character"}
	}
	p.columns = len(fields)
	if p.columns > d.opt.Limits.Features {
		return &fault{width: 1, what: fmt.Sprintf("the first row has %d columns, the limit is %d", p.columns, d.opt.Limits.Features), how: "raise the limit on features"}
	}
	if f := d.labelColumn(p, line, fields); f != nil {
		return f
	}
	if err := d.header(p, line, fields, "label"); err != nil {
		return err
	}
	return d.width(p, line)
}

// labelColumn finds the label by the option's name or number.
func (d *detector) labelColumn(p *plan, line []byte, fields [][]byte) *fault {
	p.label = 0
	if d.opt.Unlabelled && d.opt.Features == len(fields) {
		p.label = -1
		return nil
	}
	if d.opt.Label == "" {
		return nil
	}
	for i, field := range fields {
		if string(field) == d.opt.Label && d.opt.Header != HeaderNo && !isNumber(field) {
			p.label, p.header = i, true
			return nil
		}
	}
	n, err := strconv.Atoi(d.opt.Label)
	if err != nil {
		return &fault{width: len(line), what: fmt.Sprintf("no column is named %s", quoted([]byte(d.opt.Label))),
			how: "the first line has: " + listed(fields) + "; a column may also be given by number, from 1"}
	}
	if n < 1 || n > len(fields) {
		return &fault{width: len(line), what: fmt.Sprintf("there is no column %d", n), how: fmt.Sprintf("the first line has %s", plural(len(fields), "column"))}
	}
	p.label = n - 1
	return nil
}

// listed is the first few names of a header.
func listed(fields [][]byte) string {
	var b strings.Builder
	for i, field := range fields {
		if i == 8 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.Trim(quoted(field), `"`))
	}
	return b.String()
}

// header decides whether the first line names the columns. A label that only
// looks like a number gone wrong is refused: a header would lose that row.
func (d *detector) header(p *plan, line []byte, fields [][]byte, noun string) *fault {
	switch d.opt.Header {
	case HeaderYes:
		p.header = true
	case HeaderAuto:
		at := max(0, p.label)
		word := fields[at]
		if !p.header && !isNumber(word) {
			if _, err := slowNumber(word); len(word) == 0 || err != errNotNumber || bytes.IndexByte([]byte("+-.0123456789"), word[0]) >= 0 {
				f := badNumber(fieldStart(line, p.separator, at), word, noun, "")
				f.how += "; if this line names the columns, say that there is a header"
				return f
			}
			p.header = true
		}
	}
	if p.header {
		for _, field := range fields {
			p.names = append(p.names, strings.ToValidUTF8(string(field), "�"))
		}
	}
	return nil
}

// fieldStart is the position of field n of a line that split could cut.
func fieldStart(line []byte, separator string, n int) int {
	text := append(slices.Clone(line), '\n')
	i := skipBlanks(text, 0, separator[0])
	for range n {
		_, end, _ := cutField(text, i, separator)
		i = skipBlanks(text, end+len(separator), separator[0])
	}
	return i
}

// width compares the columns with those of the training set.
func (d *detector) width(p *plan, line []byte) *fault {
	features := p.columns - 1
	if p.label < 0 {
		features = p.columns
	}
	if d.opt.Features > 0 && features != d.opt.Features {
		return &fault{width: len(line), what: fmt.Sprintf("the first row has %s, the model has %d", plural(features, "feature"), d.opt.Features),
			how: "give the same columns as in training, the label among them"}
	}
	if names := p.features(); names != nil && d.opt.names != nil && !slices.Equal(names, d.opt.names) {
		return &fault{width: len(line), what: "the columns are named otherwise, or ordered otherwise, than in training", how: "training had: " + strings.Join(d.opt.names[:min(8, len(d.opt.names))], ", ")}
	}
	return nil
}

// features are the names of the columns without the label.
func (p *plan) features() []string {
	if p.names == nil {
		return nil
	}
	if p.label < 0 {
		return p.names
	}
	return slices.Delete(slices.Clone(p.names), p.label, p.label+1)
}

// agree compares the plan of a further file with that of the first.
func (p *plan) agree(next *plan, first string) *fault {
	how := "read files of different kinds in separate runs"
	switch {
	case p.format != next.format:
		return &fault{width: 1, what: fmt.Sprintf("the file is %s, %s is %s", formatShown[next.format], first, formatShown[p.format]), how: how}
	case p.separator != next.separator:
		return &fault{width: 1, what: fmt.Sprintf("fields are separated by %s, in %s by %s", separatorName(next.separator), first, separatorName(p.separator)), how: how}
	case p.columns != next.columns:
		return &fault{width: 1, what: fmt.Sprintf("lines have %s, in %s %d", plural(next.columns, "field"), first, p.columns), how: how}
	case p.label != next.label:
		return &fault{width: 1, what: fmt.Sprintf("the label is column %d, in %s column %d", next.label+1, first, p.label+1), how: how}
	case next.header && p.header && !slices.Equal(p.names, next.names):
		return &fault{width: 1, what: "the header differs from that of " + first, how: how}
	case next.header && !p.header:
		return &fault{width: 1, what: "the file has a header, " + first + " has none", how: how}
	}
	return nil
}

// parser makes the parser of one worker.
func (p *plan) parser(opt *Options, w *worker) lineParser {
	switch p.format {
	case "csv", "tsv":
		return &csvLines{separator: p.separator[0], columns: p.columns, label: p.label, names: p.names}
	case "triples":
		return &tripleLines{separator: p.separator, fields: p.columns, users: &w.users, items: &w.items}
	}
	l := &libsvmLines{indexMax: opt.Limits.Features - 1}
	if opt.IndexBase == "1" {
		l.least, l.indexMax = 1, opt.Limits.Features
	}
	return l
}
