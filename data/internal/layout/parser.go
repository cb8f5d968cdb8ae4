package layout

import (
	"slices"

	"bellows/data/internal/jsonl"
	"bellows/data/internal/lines"
	"bellows/data/internal/roles"
)

// Numbers holds one goroutine's numbering of ids, labels and values of text, by first appearance.
type Numbers struct {
	Users, Items lines.IDs       // of ratings; words of documents are items
	Labels       *lines.Levels   // for labels that are text, else nil
	Levels       []*lines.Levels // tables: for each feature that is text, else nil
	Numerals     lines.Numerals  // for labels that are numbers
}

// Parser makes the parser of one goroutine. inner is the same parser, or the one that it wraps.
func (p *Layout) Parser(opt *Options, w *Numbers) (outer, inner lines.Parser) {
	inner = p.lineParser(opt, w)
	if p.Keys != nil { // JSON lines, converted to CSV
		return &jsonl.Rows{Keys: p.Keys, Order: p.Order, Used: p.Used, Number: p.numbers(), Strict: p.Table != nil ||
			opt.Complete, Closed: opt.Complete, Needs: p.requiredKeys(opt), Bars: p.refusedKeys(opt), Words: p.Words,
			To: inner}, inner
	}
	return inner, inner
}

// numbers reports, for each column of JSON lines, whether it holds numbers.
func (p *Layout) numbers() []bool {
	list := make([]bool, len(p.Keys))
	if t := p.Table; t != nil {
		for i, at := range t.Place {
			list[i] = at >= 0 && !t.Features[at].Text() || i == p.Label && !p.WordLabels || i == t.Weight
		}
	} else if p.Label >= 0 {
		list[p.Label] = true
	}
	return list
}

// requiredKeys reports, for each column, whether every object must have its key; nil: none.
func (p *Layout) requiredKeys(opt *Options) []bool {
	if !opt.Complete || opt.As == nil || p.Table == nil {
		return nil
	}
	list := make([]bool, len(p.Keys))
	for i, at := range p.Table.Place {
		list[i] = at >= 0 && opt.As.AlwaysPresent(at)
	}
	return list
}

// refusedKeys reports, for each column, whether objects with its key are refused; nil: none. These are the keys of
// ratings without meaning for the model, when objects must match it. Keys of times are accepted, though a model does
// not use them.
func (p *Layout) refusedKeys(opt *Options) []bool {
	if !opt.Complete || p.Table != nil || p.Words {
		return nil
	}
	list := make([]bool, len(p.Keys))
	for i, key := range p.Keys {
		list[i] = !p.Used[i] && !slices.Contains(roles.TimeNames, roles.PlainName(key))
	}
	return list
}

// lineParser makes the parser of lines. JSON lines use it as well, as CSV.
func (p *Layout) lineParser(opt *Options, w *Numbers) lines.Parser {
	if p.WordLabels {
		w.Labels = &lines.Levels{Max: ClassesMost, Buckets: 1, Missing: p.Missing}
	}
	var numerals *lines.Numerals
	w.Numerals.All = p.Origin != 0
	if !p.WordLabels && !opt.Numbers { // tables to predict have no label, but LIBSVM lines do
		numerals = &w.Numerals
	}
	switch {
	case p.Table != nil:
		return p.tableParser(w, numerals)
	case p.Format == Docword:
		return &lines.Docword{}
	case p.Format == LDAC:
		return &lines.LDAC{WordMax: opt.FeaturesMost - 1}
	case p.Format == VW:
		l := &lines.VW{Bits: p.Bits, Unlabelled: opt.Unlabelled, Numerals: numerals, Grams: p.Ngrams == Pairs,
			Pairs: p.Pairs, Shifts: p.shifts()}
		for _, name := range p.Namespaces {
			l.Ignore = append(l.Ignore, []byte(name))
		}
		return l
	case p.Format == Text, p.Words:
		return p.TextParser(w)
	case !p.Format.Indexed():
		w.Users.Missing, w.Items.Missing = p.Missing, p.Missing
		return &lines.Triples{Separator: p.Separator, Fields: p.Columns, Roles: p.Roles, Times: p.Times,
			Users: &w.Users, Items: &w.Items, Origin: p.Origin}
	}
	l := &lines.LIBSVM{LibFM: p.Format == LibFM, IndexMax: opt.FeaturesMost - 1, Labels: w.Labels, Numerals: numerals,
		Shifts: p.shifts()}
	if opt.IndexBase == "1" {
		l.Least, l.IndexMax = 1, opt.FeaturesMost
	}
	return l
}

// tableParser returns the parser of CSV and TSV.
func (p *Layout) tableParser(w *Numbers, numerals *lines.Numerals) lines.Parser {
	csv := lines.CSV{Separator: p.Separator[0], Columns: p.Columns, Label: p.Label, Names: p.Names, Numerals: numerals,
		Missing: p.Missing}
	if p.Times == nil && p.Table.Weight < 0 && p.Table.Plain() {
		return &csv
	}
	return &lines.Mixed{CSV: csv, Times: p.Times, Width: len(p.Table.Features), Uses: p.Uses(w),
		Weighs: p.Table.Weight >= 0, Weight: p.Table.Weight}
}

// Uses returns the role of each column. w numbers the values of text.
func (p *Layout) Uses(w *Numbers) []lines.Use {
	t := p.Table
	uses := make([]lines.Use, len(t.Place))
	w.Levels = make([]*lines.Levels, len(t.Features))
	for j := range t.Features {
		if c := &t.Features[j]; c.Text() {
			w.Levels[j] = c.Numbering(p.Missing)
		}
	}
	for i, at := range t.Place {
		u := &uses[i]
		switch {
		case i == p.Label:
			*u = lines.Use{Kind: lines.UseLabel, Levels: w.Labels, Origin: p.Origin}
		case at < 0:
			u.Kind = lines.UseNone
		case w.Levels[at] != nil:
			*u = lines.Use{Kind: lines.UseText, Place: at, Levels: w.Levels[at]}
		default:
			u.Place, u.Origin = at, t.Features[at].Origin
		}
	}
	return uses
}

// TextParser makes the parser of text of one goroutine.
func (p *Layout) TextParser(w *Numbers) *lines.Text {
	l := &lines.Text{Words: &w.Items}
	if len(p.Stops) > 0 {
		l.Stops = make(map[string]bool, len(p.Stops))
		for _, word := range p.Stops {
			l.Stops[word] = true
		}
	}
	return l
}
