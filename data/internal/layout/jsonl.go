package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bellows/data/internal/columns"
	"bellows/data/internal/jsonl"
	"bellows/data/internal/lines"
	"bellows/data/internal/roles"
)

// isJSON reports whether an input with the given first line is JSON lines.
func (d *Detector) isJSON(line []byte) bool {
	line = bytes.TrimSpace(line)
	switch as := d.Opt.As; {
	case d.Opt.Format != "":
		return d.Opt.Format == JSONL
	case as != nil && as.FormatGiven && d.Kind != Documents:
		return as.Format == JSONL
	case FormatOf(d.In.Name) != "":
		return FormatOf(d.In.Name) == JSONL
	}
	return bytes.HasPrefix(line, []byte("{")) && (d.Kind != Documents || json.Valid(line))
}

// ofKeys rewrites messages about columns of tables for keys.
var ofKeys = strings.NewReplacer("the header names", "the keys name", "the header does not name",
	"the keys do not name", "the first line has", "the first lines have",
	"the columns are", "the keys are", "the first row has", "the first objects have", "first line", "first lines",
	", separated by comma", "")

// json makes the layout of JSON lines from the sampled lines. It is that of a CSV file whose header is the keys.
func (d *Detector) json(line []byte) (*Layout, *lines.Fault) {
	whole := func(what, how string) *lines.Fault { return &lines.Fault{Width: len(line), What: what, How: how} }
	switch {
	case d.Opt.Separator != "":
		return nil, whole("JSON lines have no separator", "leave out --sep")
	case d.Opt.Header == HeaderNo:
		return nil, whole("the columns of JSON lines are named by their keys", "leave out --header no")
	case d.Kind == Examples && (d.Opt.Features > 0 && d.Opt.As.modelColumns() == nil ||
		d.Opt.As.modelColumns() != nil && !d.Opt.As.Header):
		return nil, whole("the features of the model have no names, and those of JSON lines are found by their names",
			"give the rows in the form that training had")
	case len(d.Opt.Quadratic) > 0:
		return nil, whole("JSON lines have no namespaces", "leave out --quadratic, which is for Vowpal Wabbit text")
	case d.Opt.Ngrams > 0:
		return nil, whole("JSON lines of a table have no words that follow each other",
			"leave out --ngrams, which is for text and Vowpal Wabbit text")
	case d.Opt.HashBits > 0:
		return nil, whole("JSON lines have no names to be hashed",
			"leave out --hash-bits, which is for Vowpal Wabbit text")
	case d.Opt.IndexBase != "" && d.Opt.As == nil:
		return nil, whole("the keys of JSON lines have no indices that a base could count from",
			"leave out --base, which is for LIBSVM")
	}
	keys, f := jsonl.Keys(d.first, d.Opt.FeaturesMost)
	if f != nil {
		return nil, f
	}
	if keys, f = d.closedKeys(keys); f != nil {
		return nil, f
	}
	keys = d.furtherKeys(keys)
	p, f := d.layoutByName(keys, jsonl.Sample(d.first, keys))
	if f != nil {
		return nil, whole(ofKeys.Replace(f.What), ofKeys.Replace(f.How))
	}
	if p.Format = JSONL; p.Table != nil {
		return p, nil
	}
	order := []int{p.User, p.Item}
	if p.Label != roles.Absent {
		order = append(order, p.Label)
	}
	if p.Times == nil { // the usual three columns in the usual order are parsed faster
		p.Order, p.Columns, p.Roles = order, len(order), nil
	}
	return p, nil
}

// layoutByName makes the layout of rows whose columns are found by name. below holds some of the rows as CSV.
func (d *Detector) layoutByName(keys []string, below []byte) (*Layout, *lines.Fault) {
	opt := *d.Opt
	opt.Format, opt.Separator, opt.Header = CSV, ",", HeaderYes
	table := *d
	table.Opt, table.below, table.keyed = &opt, below, true
	p, f := table.layout(jsonl.Header(keys))
	if f != nil {
		return nil, f
	}
	p.Keys, p.Used = keys, make([]bool, len(keys))
	if t := p.Table; t != nil {
		for i, at := range t.Place {
			p.Used[i] = at >= 0 || i == t.Label || i == t.Time || i == t.Weight
		}
		return p, nil
	}
	for _, at := range []int{p.User, p.Item, p.Label} {
		if at != roles.Absent {
			p.Used[at] = true
		}
	}
	if p.Times != nil {
		p.Used[p.Times.At] = true
	}
	return p, nil
}

// closedKeys returns the keys that objects may have. With Options.Complete they are those of the model's table, whether
// the first objects have them or not; otherwise the keys of the first objects.
func (d *Detector) closedKeys(keys []string) ([]string, *lines.Fault) {
	as := d.Opt.As.modelColumns()
	if !d.Opt.Complete || as == nil || d.Kind != Examples {
		return keys, nil
	}
	var known []string
	take := func(c Column) {
		if c.Name != "" && !slices.Contains(known, c.Name) {
			known = append(known, c.Name)
		}
	}
	for _, list := range [][]Column{as.Features, as.Ignored} {
		for _, c := range list {
			take(c)
		}
	}
	for _, c := range []*Column{as.Label, as.Weight} {
		if c != nil {
			take(*c)
		}
	}
	for _, name := range []string{d.Opt.Label, d.Opt.Weight} {
		if slices.Contains(keys, name) {
			take(Column{Name: name})
		}
	}
	return known, nil
}

// furtherKeys adds keys that the first objects may lack: those to ignore, and those of the model that are no partition,
// if the objects have one of them.
func (d *Detector) furtherKeys(keys []string) []string {
	take := func(name string) {
		if name != "" && !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	if d.Kind != Examples {
		return keys
	}
	for _, name := range d.Opt.Ignore {
		if !lines.IsDigits([]byte(name)) {
			take(name)
		}
	}
	if as := d.Opt.As.modelColumns(); as != nil && as.Header &&
		slices.ContainsFunc(as.Features, func(c Column) bool { return slices.Contains(keys, c.Name) }) {
		folders := columns.FolderKeys(d.Opt.Paths)
		for _, c := range as.Features {
			if !slices.ContainsFunc(folders, func(part columns.FolderKey) bool { return part.Key == c.Name }) {
				take(c.Name)
			}
		}
	}
	return keys
}

// textKeys are the usual names of a document's text, the most certain first.
var textKeys = []string{"text", "document", "content", "body", "review", "reviewtext", "abstract", "message",
	"sentence", "doc"}

// jsonDocuments makes the layout of documents that are a key of JSON lines.
func (d *Detector) jsonDocuments(line []byte) (*Layout, *lines.Fault) {
	keys, f := jsonl.Keys(d.first, d.Opt.FeaturesMost)
	if f != nil {
		return nil, f
	}
	p, f := d.textAmong(keys, "key")
	if f != nil {
		f.Width = len(line)
		return nil, f
	}
	p.Format = JSONL
	return p, nil
}

// textAmong makes the layout of documents that are one of the keys. noun names a key in messages.
func (d *Detector) textAmong(keys []string, noun string) (*Layout, *lines.Fault) {
	p := &Layout{Label: -1, Words: true}
	name := d.Opt.Text
	if as := d.Opt.As; name == "" && as != nil && slices.Contains(keys, as.Text) {
		name = as.Text
	}
	for _, known := range textKeys {
		if name == "" {
			if at := slices.IndexFunc(keys, func(key string) bool { return roles.PlainName(key) == known }); at >= 0 {
				name = keys[at]
			}
		}
	}
	if !slices.Contains(keys, name) {
		what := "no " + noun + " is known to hold the text of the documents"
		if name != "" {
			what = "no " + noun + " is named " + lines.Quote([]byte(name))
		}
		return nil, &lines.Fault{What: what,
			How: fmt.Sprintf("name it with --text; the %ss are %s", noun, columns.JoinNames(keys))}
	}
	p.Keys, p.Used = []string{name}, []bool{true}
	return p, nil
}
