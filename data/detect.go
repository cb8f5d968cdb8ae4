package data

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
)

// plan is how the lines of an input are to be read. The first file makes it;
// the first line of every further file must make the same one.
type plan struct {
	format    Format
	separator string
	columns   int // fields a line; 0 where lines differ
	label     int // column of the label or the rating, -1 when there is none
	user      int // columns of ratings
	item      int
	roles     []lines.Role // of all columns of ratings; nil where they stand as usual
	header    bool
	names     []string // of all columns, from the header
}

// separatorOf resolves the option.
func separatorOf(option string) (string, error) {
	for _, s := range lines.Separators {
		if option == s.Name || option == s.Text {
			return s.Text, nil
		}
	}
	if option == `\t` {
		return "\t", nil
	}
	if len(option) == 1 && option[0] > ' ' && option[0] < 0x7f && !strings.Contains(`"+-.`, option) && !lines.IsDigits([]byte(option)) {
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
func (d *detector) plan(line []byte) (*plan, *lines.Fault) {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return nil, &lines.Fault{At: at, Width: 1, What: "the text holds a NUL byte", How: "this is not a text file in UTF-8; if it is IDX, say so with --format"}
	}
	if d.opt.Format == "" {
		if f := foreign.Text(line, false, d.opt.Separator != ""); f != nil {
			return nil, f
		}
	}
	p := &plan{format: d.format(line), label: -1}
	if p.format.documents() {
		return nil, &lines.Fault{Width: 1, What: p.format.shown() + " holds documents, not " + d.kind.String(), How: "name another format, or train an app for documents"}
	}
	if d.kind == Ratings && p.format != IDX {
		if p.format.indexed() {
			return nil, &lines.Fault{Width: len(line), What: "LIBSVM lines hold examples, not ratings", How: "write lines of user, item, rating; or train an app for examples"}
		}
		p.format = Triples
	}
	switch p.format {
	case Triples:
		if d.kind != Ratings {
			return nil, &lines.Fault{Width: len(line), What: "triples hold ratings, not examples", How: "name another format, or train an app for ratings"}
		}
		return p, d.triples(p, line)
	case CSV, TSV:
		return p, d.columns(p, line)
	case IDX:
		return nil, &lines.Fault{Width: 1, What: "this is not an IDX file: it does not begin with two zero bytes", How: "name its true format"}
	case "":
		return nil, &lines.Fault{Width: len(line), What: "the format is not recognised",
			How: "name it with --format: libsvm (label index:value ...), csv, tsv or idx"}
	}
	return p, nil
}

// further makes the plan of a file behind the first one: its label stands
// where the first file has it, whether or not it repeats the header.
func (d *detector) further(first *plan, line []byte) (*plan, *lines.Fault) {
	opt := *d.opt
	if first.label >= 0 && first.format.columnar() {
		opt.Label = strconv.Itoa(first.label + 1)
	}
	if first.format == Triples {
		opt.User, opt.Item = strconv.Itoa(first.user+1), strconv.Itoa(first.item+1)
		if first.label >= 0 {
			opt.Rating = strconv.Itoa(first.label + 1)
		}
	}
	next := *d
	next.opt = &opt
	return next.plan(line)
}

// format is the option, or what the name says, or what the line looks like.
func (d *detector) format(line []byte) Format {
	if d.opt.Format != "" {
		return d.opt.Format
	}
	if as := d.opt.As; as != nil && as.FormatGiven {
		return as.Format
	}
	if named := formatOf(d.in.name); named != "" {
		return named
	}
	fields := bytes.Fields(line)
	switch {
	case d.kind == Ratings:
		return Triples
	case len(fields) > 1 && isEntry(fields[1]) && lines.IsNumber(fields[0]):
		return LIBSVM
	case d.opt.As != nil && d.opt.As.Format.columnar():
		return d.opt.As.Format
	case bytes.IndexByte(line, '\t') >= 0:
		return TSV
	case d.opt.Separator != "", bytes.ContainsAny(line, ",;"), len(fields) > 1:
		return CSV
	case len(fields) == 1 && lines.IsNumber(fields[0]):
		return LIBSVM // a row of zeros
	}
	return ""
}

// isEntry reports whether a field looks like index:value.
func isEntry(field []byte) bool {
	index, _, found := bytes.Cut(field, []byte(":"))
	return found && lines.IsDigits(index)
}

// fields cuts the first line into fields by the separator of the plan, which
// it chooses first when no option does.
func (d *detector) fields(p *plan, line []byte) ([]lines.Field, *lines.Fault) {
	switch {
	case d.opt.Separator != "":
		p.separator, _ = separatorOf(d.opt.Separator)
	case d.known(p, line):
		p.separator, _ = separatorOf(d.opt.As.Separator)
	case p.format == TSV || d.opt.Format == "" && formatOf(d.in.name) == TSV:
		p.separator = "\t"
	default:
		p.separator = propose(line, p.format == Triples)
	}
	return lines.Fields(line, p.separator)
}

// known reports whether the line has the separator that the model's data had.
func (d *detector) known(p *plan, line []byte) bool {
	as := d.opt.As
	if as == nil || as.Separator == "" || as.Format != p.format {
		return false
	}
	text, err := separatorOf(as.Separator)
	return err == nil && bytes.Contains(line, []byte(text))
}

// propose chooses the separator of a first line: for triples the first that
// makes three or four fields of it, else the first that occurs. Semicolons go
// before commas that can be decimal ones, at most one a field.
func propose(line []byte, triples bool) string {
	for _, s := range lines.Separators {
		fields, f := lines.Fields(line, s.Text)
		if triples && f == nil && (len(fields) == 3 || len(fields) == 4) {
			return s.Text
		}
	}
	semicolons, commas := bytes.Count(line, []byte(";")), bytes.Count(line, []byte(","))
	for _, s := range lines.Separators {
		switch {
		case s.Text == "::" && !triples, !bytes.Contains(line, []byte(s.Text)):
		case s.Text == "," && semicolons > 0 && semicolons+1 >= commas:
		default:
			return s.Text
		}
	}
	return " "
}

// columns completes the plan of a CSV or TSV file.
func (d *detector) columns(p *plan, line []byte) *lines.Fault {
	fields, f := d.fields(p, line)
	if f != nil {
		return f
	}
	if len(p.separator) > 1 {
		return &lines.Fault{Width: len(line), What: "a table cannot be separated by " + p.separator, How: "use one character"}
	}
	p.columns = len(fields)
	if p.columns > d.opt.Limits.Features {
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the first row has %d columns, the limit is %d", p.columns, d.opt.Limits.Features), How: "leave columns out, or write the rows as LIBSVM"}
	}
	if f := d.rowNumbers(fields); f != nil {
		return f
	}
	if f := d.labelColumn(p, line, fields); f != nil {
		return f
	}
	if err := d.header(p, fields, "label"); err != nil {
		return err
	}
	return d.width(p, line)
}

// rowNumbers refuses a header whose first column has no name: it is the row numbers that pandas writes, and would be the label.
func (d *detector) rowNumbers(fields []lines.Field) *lines.Fault {
	if d.opt.Label != "" || d.opt.Header == HeaderNo || len(fields) < 2 || len(fields[0].Text) > 0 || len(fields[1].Text) == 0 || lines.IsNumber(fields[1].Text) {
		return nil
	}
	return &lines.Fault{Width: 1, What: "the first column has no name", How: "if it is the row numbers of pandas, write the file with index=False; else name the label with --label"}
}

// labelColumn finds the label by the option's name or number.
func (d *detector) labelColumn(p *plan, line []byte, fields []lines.Field) *lines.Fault {
	p.label = 0
	if d.opt.Unlabelled && d.opt.Features == len(fields) {
		p.label = -1
		return nil
	}
	if as := d.opt.As; d.opt.Label == "" && as != nil && as.Label != nil {
		return d.trainedLabel(p, line, fields, as.Label)
	}
	if d.opt.Label == "" {
		return nil
	}
	for i, field := range fields {
		if string(field.Text) == d.opt.Label && d.opt.Header != HeaderNo && !lines.IsNumber(field.Text) {
			p.label, p.header = i, true
			return nil
		}
	}
	n, err := strconv.Atoi(d.opt.Label)
	if err != nil {
		return &lines.Fault{Width: len(line), What: fmt.Sprintf("no column is named %s", lines.Quoted([]byte(d.opt.Label))),
			How: "the first line has: " + listed(fields) + "; --label also takes a number, from 1"}
	}
	if n < 1 || n > len(fields) {
		return &lines.Fault{Width: len(line), What: fmt.Sprintf("there is no column %d", n), How: fmt.Sprintf("the first line has %s", lines.Plural(len(fields), "column"))}
	}
	p.label = n - 1
	return nil
}

// trainedLabel finds the label where the model's data had it: by its name in a header, else by its number.
func (d *detector) trainedLabel(p *plan, line []byte, fields []lines.Field, label *Column) *lines.Fault {
	for i, field := range fields {
		if label.Name != "" && string(field.Text) == label.Name && d.opt.Header != HeaderNo {
			p.label, p.header = i, true
			return nil
		}
	}
	if label.Number > len(fields) {
		return &lines.Fault{Width: len(line), What: fmt.Sprintf("the label of the training data was column %d, and there are %d", label.Number, len(fields)),
			How: "give the columns that the model was trained on, or name the label's with --label"}
	}
	p.label = label.Number - 1
	return nil
}

// listed is the first few names of a header.
func listed(fields []lines.Field) string {
	var b strings.Builder
	for i, field := range fields {
		if i == 8 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.Trim(lines.Quoted(field.Text), `"`))
	}
	return b.String()
}

// header decides whether the first line names the columns. A label that only
// looks like a number gone wrong is refused: a header would lose that row.
func (d *detector) header(p *plan, fields []lines.Field, noun string) *lines.Fault {
	switch d.opt.Header {
	case HeaderYes:
		p.header = true
	case HeaderAuto:
		field := fields[max(0, p.label)]
		word := field.Text
		if !p.header && !lines.IsNumber(word) {
			if _, err := lines.Number(word); len(word) == 0 || err != lines.ErrNotNumber || bytes.IndexByte([]byte("+-.0123456789"), word[0]) >= 0 {
				f := lines.BadNumber(field.At, word, noun, "", "")
				f.How += "; if this line names the columns, say so with --header"
				return f
			}
			p.header = true
		}
	}
	if p.header {
		for _, field := range fields {
			p.names = append(p.names, strings.ToValidUTF8(string(field.Text), "�"))
		}
	}
	return nil
}

// width compares the columns with those of the training set.
func (d *detector) width(p *plan, line []byte) *lines.Fault {
	features := p.columns - 1
	if p.label < 0 {
		features = p.columns
	}
	if d.opt.Features > 0 && features != d.opt.Features {
		return &lines.Fault{Width: len(line), What: fmt.Sprintf("the first row has %s, the model has %d", lines.Plural(features, "feature"), d.opt.Features),
			How: "give the same columns as in training, the label among them"}
	}
	if names := p.features(); names != nil && d.opt.names != nil && !slices.Equal(names, d.opt.names) {
		return &lines.Fault{Width: len(line), What: "the columns are named otherwise, or ordered otherwise, than in training", How: "training had: " + strings.Join(d.opt.names[:min(8, len(d.opt.names))], ", ")}
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
func (p *plan) agree(next *plan, first string) *lines.Fault {
	how := "read files of different kinds in separate runs"
	switch {
	case p.format != next.format:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the file is %s, %s is %s", next.format.shown(), first, p.format.shown()), How: how}
	case p.separator != next.separator:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("fields are separated by %s, in %s by %s", lines.SeparatorName(next.separator), first, lines.SeparatorName(p.separator)), How: how}
	case p.columns != next.columns:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("lines have %s, in %s %d", lines.Plural(next.columns, "field"), first, p.columns), How: how}
	case p.user != next.user || p.item != next.item || p.format == Triples && p.label != next.label:
		return &lines.Fault{Width: 1, What: "the user, the item or the rating stand in other columns than in " + first, How: how}
	case p.label != next.label:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the label is column %d, in %s column %d", next.label+1, first, p.label+1), How: how}
	case next.header && p.header && !slices.Equal(p.names, next.names):
		return &lines.Fault{Width: 1, What: "the header differs from that of " + first, How: how}
	case next.header && !p.header:
		return &lines.Fault{Width: 1, What: "the file has a header, " + first + " has none", How: how}
	}
	return nil
}

// parser makes the parser of one worker.
func (p *plan) parser(opt *Options, w *worker) lines.Parser {
	switch p.format {
	case CSV, TSV:
		return &lines.CSV{Separator: p.separator[0], Columns: p.columns, Label: p.label, Names: p.names}
	case Docword:
		return &lines.Docword{}
	case Text:
		return &lines.Text{Words: &w.items}
	case Triples:
		return &lines.Triples{Separator: p.separator, Fields: p.columns, Roles: p.roles, Users: &w.users, Items: &w.items}
	}
	l := &lines.LIBSVM{IndexMax: opt.Limits.Features - 1}
	if opt.IndexBase == "1" {
		l.Least, l.IndexMax = 1, opt.Limits.Features
	}
	return l
}
