package layout

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"path"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// bagFileName matches the names of bags of words whose vocabulary is found by name.
var bagFileName = regexp.MustCompile(`^docword\..*\.txt`)

// A Detector makes the layout of one file from its name and first lines.
type Detector struct {
	Kind  Kind
	Opt   *Options
	In    source.Input
	below []byte // the sampled lines below the first
	first []byte // the first line as written, and those
	keyed bool   // the columns have names but no order
}

// layout makes the layout from the first line (without its newline).
func (d *Detector) layout(line []byte) (*Layout, *lines.Fault) {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return nil, &lines.Fault{At: at, Width: 1, What: "the text holds a NUL byte",
			How: "this is not a text file in UTF-8; if it is IDX, say so with --format"}
	}
	if at := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }); at >= 0 {
		return nil, &lines.Fault{At: at, Width: 1, What: "the first line holds control characters",
			How: "this is not a file of text in UTF-8; name another"}
	}
	if d.Opt.Format == "" {
		if f := foreign.Text(line, false, d.Opt.Separator != "" || FormatOf(d.In.Name) == VW); f != nil {
			return nil, f
		}
	}
	if bagFileName.MatchString(path.Base(d.In.Name)) && d.Opt.Format == "" {
		return nil, &lines.Fault{Width: len(line),
			What: "the file is named as bags of words are, which hold documents, not " + d.Kind.String(),
			How:  "train an app for documents, such as lda; or say with --format what else it is"}
	}
	p := &Layout{Format: d.format(line), Label: -1, Missing: d.Opt.Missing}
	if f := d.looksLikeLIBSVM(line, p.Format); f != nil {
		return nil, f
	}
	if p.Format.Documents() {
		return nil, &lines.Fault{Width: 1, What: p.Format.Shown() + " holds documents, not " + d.Kind.String(),
			How: "name another format, or train an app for documents"}
	}
	if len(d.Opt.Quadratic) > 0 && p.Format != VW {
		return nil, &lines.Fault{Width: 1, What: p.Format.Shown() + " has no namespaces",
			How: "leave out --quadratic, which is for Vowpal Wabbit text"}
	}
	if d.Opt.Ngrams > 0 && p.Format != VW {
		return nil, &lines.Fault{Width: 1, What: p.Format.Shown() + " has no words that follow each other",
			How: "leave out --ngrams, which is for text and Vowpal Wabbit text"}
	}
	if d.Opt.HashBits > 0 && p.Format != VW {
		return nil, &lines.Fault{Width: 1, What: p.Format.Shown() + " has no names to be hashed",
			How: "leave out --hash-bits, which is for Vowpal Wabbit text"}
	}
	if d.Kind == Ratings && p.Format != IDX {
		if p.Format.sparse() {
			return nil, &lines.Fault{Width: len(line), What: p.Format.Shown() + " lines hold examples, not ratings",
				How: "write lines of user, item, rating; or train an app for examples"}
		}
		p.Format = Triples
	}
	switch p.Format {
	case Triples:
		if d.Kind != Ratings {
			return nil, &lines.Fault{Width: len(line), What: "triples hold ratings, not examples",
				How: "name another format, or train an app for ratings"}
		}
		return p, d.triples(p, line)
	case CSV, TSV:
		return p, d.columns(p, line)
	case IDX:
		return nil, &lines.Fault{Width: 1, What: "this is not an IDX file: it does not begin with two zero bytes",
			How: "name its true format"}
	case Images:
		return nil, &lines.Fault{Width: 1, What: "this is neither a folder of images nor a tar archive of one",
			How: "name its true format"}
	case VW:
		return p, d.vw(p, line)
	case "":
		return nil, &lines.Fault{Width: len(line), What: "the format is not recognised",
			How: "name it with --format: libsvm (label index:value ...), vw, csv, tsv, jsonl, parquet, arrow or idx"}
	}
	return p, d.indexed(p, line)
}

// checkSparse refuses options that do not apply to lines of features, and models that do not fit them.
func (d *Detector) checkSparse(p *Layout, line []byte) *lines.Fault {
	switch {
	case d.Opt.Label != "":
		return &lines.Fault{Width: 1, What: "lines of " + p.Format.Shown() +
			" begin with their label, and none of their columns is one", How: "leave out --label"}
	case d.Opt.Weight != "":
		how := "write the rows as a table with a column of weights, or as Vowpal Wabbit text; or leave out --weight"
		if p.Format == VW {
			how = "write the weight after the label of each line, such as 1 2.5 |f a, and leave out --weight"
		}
		return &lines.Fault{Width: 1, What: "lines of " + p.Format.Shown() + " have no columns, and so none of weights",
			How: how}
	case d.Opt.Timed:
		return &lines.Fault{Width: 1, What: "lines of " + p.Format.Shown() +
			" have no column of times, by which rows are to be held out",
			How: "write the rows as a table; or, where they stand in the order of time, hold out the last " +
				"with --holdout last"}
	case d.Opt.Header == HeaderYes:
		return &lines.Fault{Width: 1, What: "lines of " + p.Format.Shown() + " have no header",
			How: "leave out --header yes"}
	case d.Opt.Separator != "" && d.Opt.Separator != " " && d.Opt.Separator != "space":
		return &lines.Fault{Width: 1, What: "the fields of " + p.Format.Shown() + " are separated by blanks",
			How: "leave out --sep, or name another format with --format"}
	}
	return nil
}

// vw completes the layout of Vowpal Wabbit lines.
func (d *Detector) vw(p *Layout, line []byte) *lines.Fault {
	whole := func(what, how string) *lines.Fault { return &lines.Fault{Width: len(line), What: what, How: how} }
	as := d.Opt.As
	p.Bits, p.Namespaces, p.Pairs, p.Ngrams = cmp.Or(d.Opt.HashBits, lines.HashBits), d.Opt.Ignore, d.Opt.Quadratic,
		d.Opt.Ngrams
	if as != nil && as.HashBits > 0 {
		p.Bits, p.Ngrams = cmp.Or(d.Opt.HashBits, as.HashBits), cmp.Or(d.Opt.Ngrams, as.Ngrams)
		if len(p.Pairs) == 0 {
			p.Pairs = as.Quadratic
		}
		for _, c := range as.Ignored {
			p.Namespaces = append(slices.Clip(p.Namespaces), c.Name)
		}
	}
	switch f := d.checkSparse(p, line); {
	case f != nil:
		return f
	case p.Bits < 1 || p.Bits > lines.HashBitsMost || 1<<p.Bits > d.Opt.FeaturesMost:
		return whole(fmt.Sprintf("features cannot be hashed to %d bits", p.Bits),
			fmt.Sprintf("name 1 to %d with --hash-bits", min(lines.HashBitsMost, bits.Len(uint(d.Opt.FeaturesMost))-1)))
	case slices.ContainsFunc(p.Pairs, func(pair string) bool { return len(pair) != 2 }):
		return whole(fmt.Sprintf("%q are no two letters with which namespaces begin", p.Pairs),
			"name two with --quadratic, such as --quadratic ab")
	case as != nil && as.HashBits > 0 && !slices.Equal(p.Pairs, as.Quadratic):
		return whole(fmt.Sprintf("the model has features of the pairs of namespaces %q, and these are to have "+
			"those of %q", as.Quadratic, p.Pairs), "leave out --quadratic")
	case as != nil && as.HashBits > 0 && max(p.Ngrams, 1) != max(as.Ngrams, 1):
		return whole("the model was trained with other pairs of names that follow each other",
			"leave out --ngrams: the model says whether there are any")
	case as != nil && as.HashBits > 0 && p.Bits != as.HashBits:
		return whole(fmt.Sprintf("the features of the model are hashed to %d bits, and these are to be to %d",
			as.HashBits, p.Bits), "leave out --hash-bits")
	case (as != nil || d.Opt.Features > 0) && (as == nil || as.HashBits == 0):
		return whole("the features of the model are not hashed, and those of Vowpal Wabbit are names",
			"give the rows in the form that training had")
	case d.Opt.IndexBase != "" && as == nil:
		return whole("the features of Vowpal Wabbit are names, and no indices that a base could count from",
			"leave out --base, which is for LIBSVM")
	case len(d.Opt.Categorical) > 0:
		return whole("lines of Vowpal Wabbit have no columns", "leave out --categorical, which is for tables")
	}
	d.sparseOrigins(p, line)
	return nil
}

// indexed completes the layout of LIBSVM rows: it decides whether labels are text, and refuses options for columns.
func (d *Detector) indexed(p *Layout, line []byte) *lines.Fault {
	switch f := d.checkSparse(p, line); {
	case f != nil:
		return f
	case d.Opt.As != nil && d.Opt.As.HashBits > 0:
		return &lines.Fault{Width: len(line),
			What: "the features of the model are names that were hashed, and those of " + p.Format.Shown() +
				" are numbers", How: "give the rows as Vowpal Wabbit text, with the names that training had"}
	case d.Opt.As.modelColumns() != nil && d.Opt.IndexBase == "":
		how := "give the rows as CSV with the columns that training had"
		if !d.Opt.Grow { // to train the model further, its columns must be named
			how += "; or say with --base 0 or --base 1 what the first of them is called here"
		}
		return &lines.Fault{Width: len(line), What: "the model was trained on a table, and this is " +
			p.Format.Shown() + ", which does not name its columns", How: how}
	case p.Format == LibFM && d.Opt.IndexBase == "1":
		return &lines.Fault{Width: 1, What: "the features of libFM count from 0, and here they are to count from 1",
			How: "leave out --base; rows that count from 1 are LIBSVM: --format libsvm"}
	case p.Format == LibFM && d.Opt.As != nil && d.Opt.As.TextLabels && !d.Opt.Unlabelled:
		return &lines.Fault{Width: 1, What: "the labels of the model are text, and those of libFM are numbers",
			How: "give the rows as LIBSVM, with the labels that training had"}
	case len(d.Opt.Ignore)+len(d.Opt.Categorical) > 0:
		return &lines.Fault{Width: 1, What: "lines of " + p.Format.Shown() + " have no columns",
			How: "leave out --ignore and --categorical, which are for tables"}
	}
	if p.Format == LibFM {
		d.sparseOrigins(p, line)
		return nil
	}
	var labels columns.Sampled
	add := func(line []byte) {
		if field := firstField(line); len(field) > 0 && field[0] != '#' && !isEntry(field) {
			labels.Add(d.Opt.Missing, field, nil)
		}
	}
	add(line)
	for line := range bytes.Lines(d.below) {
		add(line)
	}
	p.WordLabels = labels.Text() || d.Opt.As != nil && d.Opt.As.TextLabels
	d.sparseOrigins(p, line)
	return nil
}

// firstField returns the first of bytes.Fields, nil for a blank line, without cutting the rest of the line.
func firstField(line []byte) []byte {
	line = bytes.TrimLeft(line, "\t\n\v\f\r ")
	for i, c := range line {
		switch {
		case c >= utf8.RuneSelf: // there are blanks of more than one byte
			for field := range bytes.FieldsSeq(line) {
				return field
			}
			return nil
		case c == ' ' || c-'\t' <= '\r'-'\t':
			return line[:i]
		}
	}
	return line
}

// furtherFile makes the layout of a file after the first one. Its label has the same position as in the first file,
// whether or not it repeats the header.
func (d *Detector) furtherFile(first *Layout, line []byte) (*Layout, *lines.Fault) {
	if first.Table != nil {
		return d.furtherTable(first, line)
	}
	opt := *d.Opt
	if first.Format == Triples {
		opt.User, opt.Item = strconv.Itoa(first.User+1), strconv.Itoa(first.Item+1)
		if first.Label >= 0 {
			opt.Rating = strconv.Itoa(first.Label + 1)
		}
		if first.Times != nil {
			opt.Time = strconv.Itoa(first.Times.At + 1)
		}
	}
	next := *d
	next.Opt = &opt
	p, f := next.layout(line)
	if f == nil {
		p.WordLabels, p.Times = first.WordLabels, first.Times
	}
	return p, f
}

// format returns the format: by the option, else by the file's name, else by the line.
func (d *Detector) format(line []byte) Format {
	if d.Opt.Format != "" {
		return d.Opt.Format
	}
	if as := d.Opt.As; as != nil && as.FormatGiven && !as.Format.Framed() {
		return as.Format
	}
	if named := FormatOf(d.In.Name); named != "" && !named.Framed() {
		return named
	}
	fields := bytes.Fields(line)
	switch {
	case d.Kind == Examples && d.Opt.Separator == "" && lines.LooksVW(line):
		return VW
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")):
		return JSONL
	case d.Kind == Ratings:
		return Triples
	case len(fields) > 1 && isEntry(fields[1]) && !isEntry(fields[0]):
		return LIBSVM
	case d.Opt.As != nil && d.Opt.As.Format.columnar():
		return d.Opt.As.Format
	case bytes.IndexByte(line, '\t') >= 0:
		return TSV
	case d.Opt.Separator != "", bytes.ContainsAny(line, ",;"), len(fields) > 1:
		return CSV
	case len(fields) == 1 && lines.IsNumber(fields[0]):
		return LIBSVM // a row of zeros
	}
	return ""
}

// SeparatorLine finds the line sep=; that spreadsheets write above a table, with any separator. end is the position
// after the line, 0 if the text does not begin with one.
func SeparatorLine(text []byte) (separator string, end int) {
	end = bytes.IndexByte(text[:min(len(text), 16)], '\n') + 1
	line := bytes.Trim(bytes.TrimRight(text[:end], "\r\n"), `"`)
	if rest, found := bytes.CutPrefix(bytes.ToLower(line), []byte("sep=")); found && len(rest) == 1 && rest[0] != '"' {
		if _, err := lines.SeparatorOf(string(rest)); err == nil {
			return string(rest), end
		}
	}
	return "", 0
}

// looksLikeLIBSVM returns the fault of a line that looks like LIBSVM, although the file's name says that it is a table:
// a label, then ascending indices, each with a number.
func (d *Detector) looksLikeLIBSVM(line []byte, format Format) *lines.Fault {
	fields := bytes.Fields(line)
	if d.Kind != Examples || d.Opt.Format != "" || d.Opt.As != nil || !format.columnar() || len(fields) < 2 ||
		isEntry(fields[0]) {
		return nil
	}
	last := -1
	for _, field := range fields[1:] {
		index, value, found := bytes.Cut(field, []byte(":"))
		n, err := strconv.Atoi(string(index))
		if !found || err != nil || n <= last || !lines.IsNumber(value) {
			return nil
		}
		last = n
	}
	return &lines.Fault{Width: len(line), What: "the file is named as a " + format.Shown() +
		" is, and its first line looks like LIBSVM",
		How: "say which it is: --format libsvm, or --format " + string(format)}
}

// isEntry reports whether a field looks like index:value.
func isEntry(field []byte) bool {
	index, _, found := bytes.Cut(field, []byte(":"))
	return found && lines.IsDigits(index)
}

// fields cuts the first line into fields by the separator of the layout. If no option sets the separator, it chooses
// one first.
func (d *Detector) fields(p *Layout, line []byte) ([]lines.Field, *lines.Fault) {
	switch {
	case d.Opt.Separator != "":
		p.Separator, _ = lines.SeparatorOf(d.Opt.Separator)
	case d.hasKnownSeparator(p, line):
		p.Separator, _ = lines.SeparatorOf(d.Opt.As.Separator)
	case p.Format == TSV || d.Opt.Format == "" && FormatOf(d.In.Name) == TSV:
		p.Separator = "\t"
	default:
		p.Separator = lines.Propose(line, p.Format == Triples)
	}
	return lines.Fields(line, p.Separator)
}

// hasKnownSeparator reports whether the line has the separator of the model's data.
func (d *Detector) hasKnownSeparator(p *Layout, line []byte) bool {
	as := d.Opt.As
	if as == nil || as.Separator == "" || as.Format != p.Format {
		return false
	}
	text, err := lines.SeparatorOf(as.Separator)
	return err == nil && bytes.Contains(line, []byte(text))
}

// header decides whether the first line names the columns. A label that looks like a malformed number is refused,
// because a header would lose that row.
func (d *Detector) header(p *Layout, fields []lines.Field, noun string) *lines.Fault {
	switch d.Opt.Header {
	case HeaderYes:
		p.Header = true
	case HeaderAuto:
		field := fields[max(0, p.Label)]
		word := field.Text
		if !p.Header && !lines.IsNumber(word) {
			if _, err := lines.Number(word); len(word) == 0 || err != lines.ErrNotNumber ||
				bytes.IndexByte([]byte("+-.0123456789"), word[0]) >= 0 {
				f := lines.BadNumber(field.At, word, noun, "", "")
				f.How += "; if this line names the columns, say so with --header yes"
				return f
			}
			p.Header = true
		}
	}
	if p.Header {
		p.Names = columns.NamesOf(fields)
		return columns.NotUTF8(fields)
	}
	return nil
}

// Begin makes the layout of an input from its first line. first is the layout of the first file, nil for that file
// itself.
func (d *Detector) Begin(first *Layout, line []byte, name string) (next *Layout, f *lines.Fault) {
	json := d.isJSON(line)
	switch {
	case first == nil && json:
		return d.json(line)
	case first == nil:
		return d.layout(line)
	case json && first.Keys != nil:
		return first, nil
	case json:
		next = &Layout{Format: JSONL}
	default:
		next, f = d.furtherFile(first, line)
	}
	if f == nil {
		f = first.Agree(next, name)
	}
	return next, f
}

// Sample takes the line at start and the lines below it that end within most bytes. These are the same for any block
// size.
func (d *Detector) Sample(text []byte, start, most int) {
	from := start + bytes.IndexByte(text[start:], '\n') + 1
	end := max(from, bytes.LastIndexByte(text[:min(len(text), most)], '\n')+1)
	d.first, d.below = text[start:end], text[from:end]
}

// FirstRecord finds the first line that is not blank and, where the format can be LIBSVM, no comment. line is nil if
// there is none.
func (d *Detector) FirstRecord(text []byte) (start int, line []byte) {
	comments := d.Kind == Examples && (d.Opt.Format == "" && FormatOf(d.In.Name) == "" || d.format(nil).Indexed())
	for start < len(text) {
		end := start + bytes.IndexByte(text[start:], '\n') + 1
		line := bytes.TrimSuffix(text[start:end-1], []byte("\r"))
		if trimmed := bytes.TrimLeft(line, " \t\r"); len(trimmed) > 0 && (trimmed[0] != '#' || !comments) {
			return start, line
		}
		start = end
	}
	return 0, nil
}
