package data

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"path"
	"regexp"
	"slices"
	"strconv"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// layout is how the lines of an input are to be read. The first file makes it;
// the first line of every further file must make the same one.
type layout struct {
	format    Format
	separator string
	columns   int // fields a line; 0 where lines differ
	label     int // column of the label or the rating, -1 when there is none
	user      int // columns of ratings
	item      int
	roles     []lines.Role // of all columns of ratings; nil where they stand as usual
	header    bool
	names     []string        // of all columns, from the header
	table     *columns.Choice // of CSV and TSV, else nil
	times     *lines.Times    // nil: nobody asks

	wordLabels bool // labels are text

	bits       int      // Vowpal Wabbit: of the hash
	namespaces []string // that are left out
	pairs      []string // of namespaces

	keys  []string // JSON lines: the columns
	used  []bool   // of them
	order []int    // of them, as the parser of ratings has its fields; nil: as they stand
	words bool     // the key is the text of documents

	stops  []string // text: words that are left out, sorted
	ngrams int      // text, as Options.Ngrams
}

// bagName is how files of bags of words are called, for which that of their words is found.
var bagName = regexp.MustCompile(`^docword\..*\.txt`)

// detector makes the layout of one file from its name and first line.
type detector struct {
	kind  Kind
	opt   *Options
	in    source.Input
	below []byte // the lines below the first that are looked at, too
	first []byte // the first as it stands, and those
	keyed bool   // the columns have no order, but names
}

// layout looks at the first line (without its newline).
func (d *detector) layout(line []byte) (*layout, *lines.Fault) {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return nil, &lines.Fault{At: at, Width: 1, What: "the text holds a NUL byte", How: "this is not a text file in UTF-8; if it is IDX, say so with --format"}
	}
	if at := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }); at >= 0 {
		return nil, &lines.Fault{At: at, Width: 1, What: "the first line holds control characters", How: "this is not a file of text in UTF-8; name another"}
	}
	if d.opt.Format == "" {
		if f := foreign.Text(line, false, d.opt.Separator != "" || formatOf(d.in.Name) == VW); f != nil {
			return nil, f
		}
	}
	if bagName.MatchString(path.Base(d.in.Name)) && d.opt.Format == "" {
		return nil, &lines.Fault{Width: len(line), What: "the file is named as bags of words are, which hold documents, not " + d.kind.String(), How: "train an app for documents, such as lda; or say with --format what else it is"}
	}
	p := &layout{format: d.format(line), label: -1}
	if p.format.documents() {
		return nil, &lines.Fault{Width: 1, What: p.format.shown() + " holds documents, not " + d.kind.String(), How: "name another format, or train an app for documents"}
	}
	if len(d.opt.Quadratic) > 0 && p.format != VW {
		return nil, &lines.Fault{Width: 1, What: p.format.shown() + " has no namespaces", How: "leave out --quadratic, which is for Vowpal Wabbit text"}
	}
	if d.opt.HashBits > 0 && p.format != VW {
		return nil, &lines.Fault{Width: 1, What: p.format.shown() + " has no names to be hashed", How: "leave out --hash-bits, which is for Vowpal Wabbit text"}
	}
	if d.kind == Ratings && p.format != IDX {
		if p.format.sparse() {
			return nil, &lines.Fault{Width: len(line), What: p.format.shown() + " lines hold examples, not ratings", How: "write lines of user, item, rating; or train an app for examples"}
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
	case VW:
		return p, d.vw(p, line)
	case "":
		return nil, &lines.Fault{Width: len(line), What: "the format is not recognised",
			How: "name it with --format: libsvm (label index:value ...), vw, csv, tsv, jsonl, parquet, arrow or idx"}
	}
	return p, d.indexed(p, line)
}

// listed refuses options that mean nothing for lines of features, and models that know them otherwise.
func (d *detector) listed(p *layout, line []byte) *lines.Fault {
	switch {
	case d.opt.Label != "":
		return &lines.Fault{Width: 1, What: "lines of " + p.format.shown() + " begin with their label, and none of their columns is one", How: "leave out --label"}
	case d.opt.Weight != "":
		how := "write the rows as a table with a column of weights, or as Vowpal Wabbit text; or leave out --weight"
		if p.format == VW {
			how = "write the weight behind the label of each line, such as 1 2.5 |f a, and leave out --weight"
		}
		return &lines.Fault{Width: 1, What: "lines of " + p.format.shown() + " have no columns, and so none of weights", How: how}
	case d.opt.Timed:
		return &lines.Fault{Width: 1, What: "lines of " + p.format.shown() + " have no column of times, by which rows are to be held out", How: "write the rows as a table; or, where they stand in the order of time, hold out the last with --holdout last"}
	case d.opt.Header == HeaderYes:
		return &lines.Fault{Width: 1, What: "lines of " + p.format.shown() + " have no header", How: "leave out --header yes"}
	case d.opt.Separator != "" && d.opt.Separator != " " && d.opt.Separator != "space":
		return &lines.Fault{Width: 1, What: "the fields of " + p.format.shown() + " are separated by blanks", How: "leave out --sep, or name another format with --format"}
	}
	return nil
}

// vw completes the layout of lines of Vowpal Wabbit.
func (d *detector) vw(p *layout, line []byte) *lines.Fault {
	whole := func(what, how string) *lines.Fault { return &lines.Fault{Width: len(line), What: what, How: how} }
	as := d.opt.As
	p.bits, p.namespaces, p.pairs = cmp.Or(d.opt.HashBits, lines.HashBits), d.opt.Ignore, d.opt.Quadratic
	if as != nil && as.HashBits > 0 {
		p.bits = cmp.Or(d.opt.HashBits, as.HashBits)
		if len(p.pairs) == 0 {
			p.pairs = as.Quadratic
		}
		for _, c := range as.Ignored {
			p.namespaces = append(slices.Clip(p.namespaces), c.Name)
		}
	}
	switch f := d.listed(p, line); {
	case f != nil:
		return f
	case p.bits < 1 || p.bits > lines.HashBitsMost || 1<<p.bits > d.opt.Limits.Features:
		return whole(fmt.Sprintf("features cannot be hashed to %d bits", p.bits), fmt.Sprintf("name 1 to %d with --hash-bits", min(lines.HashBitsMost, bits.Len(uint(d.opt.Limits.Features))-1)))
	case slices.ContainsFunc(p.pairs, func(pair string) bool { return len(pair) != 2 }):
		return whole(fmt.Sprintf("%q are no two letters with which namespaces begin", p.pairs), "name two with --quadratic, such as --quadratic ab")
	case as != nil && as.HashBits > 0 && !slices.Equal(p.pairs, as.Quadratic):
		return whole(fmt.Sprintf("the model has features of the pairs of namespaces %q, and these are to have those of %q", as.Quadratic, p.pairs), "leave out --quadratic")
	case as != nil && as.HashBits > 0 && p.bits != as.HashBits:
		return whole(fmt.Sprintf("the features of the model are hashed to %d bits, and these are to be to %d", as.HashBits, p.bits), "leave out --hash-bits")
	case (as != nil || d.opt.Features > 0) && (as == nil || as.HashBits == 0):
		return whole("the features of the model are not hashed, and those of Vowpal Wabbit are names", "give the rows in the form that training had")
	case d.opt.IndexBase != "" && as == nil:
		return whole("the features of Vowpal Wabbit are names, and no indices that a base could count from", "leave out --base, which is for LIBSVM")
	case len(d.opt.Categorical) > 0:
		return whole("lines of Vowpal Wabbit have no columns", "leave out --categorical, which is for tables")
	}
	return nil
}

// indexed completes the layout of LIBSVM rows: it finds out whether labels are text, and refuses options for columns.
func (d *detector) indexed(p *layout, line []byte) *lines.Fault {
	switch f := d.listed(p, line); {
	case f != nil:
		return f
	case d.opt.As != nil && d.opt.As.HashBits > 0:
		return &lines.Fault{Width: len(line), What: "the features of the model are names that were hashed, and those of " + p.format.shown() + " are numbers", How: "give the rows as Vowpal Wabbit text, with the names that training had"}
	case d.opt.As.trained() != nil && d.opt.IndexBase == "":
		how := "give the rows as CSV with the columns that training had"
		if !d.opt.Grow { // who trains the model further has to name the columns
			how += "; or say with --base 0 or --base 1 what the first of them is called here"
		}
		return &lines.Fault{Width: len(line), What: "the model was trained on a table, and this is " + p.format.shown() + ", which does not name its columns", How: how}
	case p.format == LibFM && d.opt.IndexBase == "1":
		return &lines.Fault{Width: 1, What: "the features of libFM count from 0, and here they are to count from 1", How: "leave out --base; rows that count from 1 are LIBSVM: --format libsvm"}
	case p.format == LibFM && d.opt.As != nil && d.opt.As.TextLabels && !d.opt.Unlabelled:
		return &lines.Fault{Width: 1, What: "the labels of the model are text, and those of libFM are numbers", How: "give the rows as LIBSVM, with the labels that training had"}
	case len(d.opt.Ignore)+len(d.opt.Categorical) > 0:
		return &lines.Fault{Width: 1, What: "lines of " + p.format.shown() + " have no columns", How: "leave out --ignore and --categorical, which are for tables"}
	}
	if p.format == LibFM {
		return nil
	}
	var labels columns.Sampled
	for line := range bytes.Lines(slices.Concat(line, []byte("\n"), d.below)) {
		if fields := bytes.Fields(line); len(fields) > 0 && fields[0][0] != '#' && !isEntry(fields[0]) {
			labels.Add(fields[0], nil)
		}
	}
	p.wordLabels = labels.Text() || d.opt.As != nil && d.opt.As.TextLabels
	return nil
}

// further makes the layout of a file behind the first one: its label stands
// where the first file has it, whether or not it repeats the header.
func (d *detector) further(first *layout, line []byte) (*layout, *lines.Fault) {
	if first.table != nil {
		return d.furtherTable(first, line)
	}
	opt := *d.opt
	if first.format == Triples {
		opt.User, opt.Item = strconv.Itoa(first.user+1), strconv.Itoa(first.item+1)
		if first.label >= 0 {
			opt.Rating = strconv.Itoa(first.label + 1)
		}
		if first.times != nil {
			opt.Time = strconv.Itoa(first.times.At + 1)
		}
	}
	next := *d
	next.opt = &opt
	p, f := next.layout(line)
	if f == nil {
		p.wordLabels, p.times = first.wordLabels, first.times
	}
	return p, f
}

// format is the option, or what the name says, or what the line looks like.
func (d *detector) format(line []byte) Format {
	if d.opt.Format != "" {
		return d.opt.Format
	}
	if as := d.opt.As; as != nil && as.FormatGiven && !as.Format.framed() {
		return as.Format
	}
	if named := formatOf(d.in.Name); named != "" && !named.framed() {
		return named
	}
	fields := bytes.Fields(line)
	switch {
	case d.kind == Examples && d.opt.Separator == "" && lines.LooksVW(line):
		return VW
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")):
		return JSONL
	case d.kind == Ratings:
		return Triples
	case len(fields) > 1 && isEntry(fields[1]) && !isEntry(fields[0]):
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

// fields cuts the first line into fields by the separator of the layout, which
// it chooses first when no option does.
func (d *detector) fields(p *layout, line []byte) ([]lines.Field, *lines.Fault) {
	switch {
	case d.opt.Separator != "":
		p.separator, _ = lines.SeparatorOf(d.opt.Separator)
	case d.known(p, line):
		p.separator, _ = lines.SeparatorOf(d.opt.As.Separator)
	case p.format == TSV || d.opt.Format == "" && formatOf(d.in.Name) == TSV:
		p.separator = "\t"
	default:
		p.separator = lines.Propose(line, p.format == Triples)
	}
	return lines.Fields(line, p.separator)
}

// known reports whether the line has the separator that the model's data had.
func (d *detector) known(p *layout, line []byte) bool {
	as := d.opt.As
	if as == nil || as.Separator == "" || as.Format != p.format {
		return false
	}
	text, err := lines.SeparatorOf(as.Separator)
	return err == nil && bytes.Contains(line, []byte(text))
}

// header decides whether the first line names the columns. A label that only
// looks like a number gone wrong is refused: a header would lose that row.
func (d *detector) header(p *layout, fields []lines.Field, noun string) *lines.Fault {
	switch d.opt.Header {
	case HeaderYes:
		p.header = true
	case HeaderAuto:
		field := fields[max(0, p.label)]
		word := field.Text
		if !p.header && !lines.IsNumber(word) {
			if _, err := lines.Number(word); len(word) == 0 || err != lines.ErrNotNumber || bytes.IndexByte([]byte("+-.0123456789"), word[0]) >= 0 {
				f := lines.BadNumber(field.At, word, noun, "", "")
				f.How += "; if this line names the columns, say so with --header yes"
				return f
			}
			p.header = true
		}
	}
	if p.header {
		p.names = columns.NamesOf(fields)
		return columns.NotUTF8(fields)
	}
	return nil
}

// headerAgain says of a faulty line that repeats the header what it is.
func (p *layout) headerAgain(text []byte, f *lines.Fault) {
	at := min(f.At, len(text)-1)
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	line = bytes.TrimSuffix(line[:bytes.IndexByte(line, '\n')], []byte("\r"))
	if p.names == nil || p.keys != nil {
		return
	}
	if fields, bad := lines.Fields(line, p.separator); bad == nil && slices.Equal(p.names, columns.NamesOf(fields)) {
		f.What, f.How = "the header stands here again", "remove this line; only the first of each file may name the columns"
	}
}

// agree compares the layout of a further file with that of the first.
func (p *layout) agree(next *layout, first string) *lines.Fault {
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
func (p *layout) parser(opt *Options, w *worker) lines.Parser {
	w.inner = p.lineParser(opt, w)
	if p.keys != nil {
		return p.jsonParser(w.inner)
	}
	return w.inner
}

// lineParser makes the parser of lines, as which JSON lines are read, too.
func (p *layout) lineParser(opt *Options, w *worker) lines.Parser {
	if p.wordLabels {
		w.labels = &lines.Levels{Max: classesMax, Buckets: 1}
	}
	switch {
	case p.table != nil:
		return p.tableParser(w)
	case p.format == Docword:
		return &lines.Docword{}
	case p.format == LDAC:
		return &lines.LDAC{WordMax: opt.Limits.Features - 1}
	case p.format == VW:
		l := &lines.VW{Bits: p.bits, Unlabelled: opt.Unlabelled, Pairs: p.pairs}
		for _, name := range p.namespaces {
			l.Ignore = append(l.Ignore, []byte(name))
		}
		return l
	case p.format == Text, p.words:
		return p.textParser(w)
	case !p.format.indexed():
		return &lines.Triples{Separator: p.separator, Fields: p.columns, Roles: p.roles, Times: p.times, Users: &w.users, Items: &w.items}
	}
	l := &lines.LIBSVM{LibFM: p.format == LibFM, IndexMax: opt.Limits.Features - 1, Labels: w.labels}
	if opt.IndexBase == "1" {
		l.Least, l.IndexMax = 1, opt.Limits.Features
	}
	return l
}
