package layout

import (
	"fmt"
	"strconv"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
)

// singularLeast is the number of values of a column from which mostly unique values are not a coincidence.
const singularLeast = 20

// Found adds the roles of a table's columns to a Detection. missing is the number of missing numbers.
func (p *Layout) Found(d *columns.Detection, missing int) {
	d.Filled, d.Missing, d.Ignored, d.Choice = missing, missing, len(p.Table.Ignored), p.Table.Choice
	switch {
	case p.Label >= 0 && p.Names != nil:
		d.Label = strconv.Quote(p.Names[p.Label])
	case p.Label >= 0:
		d.Label = "column " + strconv.Itoa(p.Label+1)
	}
	switch at := p.Table.Weight; {
	case at >= 0 && p.Names != nil:
		d.Weight = strconv.Quote(p.Names[at])
	case at >= 0:
		d.Weight = "column " + strconv.Itoa(at+1)
	}
	for j := range p.Table.Features {
		c := &p.Table.Features[j]
		if c.Text() {
			d.Texts++
		}
		switch levels := len(c.Levels); {
		case !p.Table.Fresh:
		case c.Buckets > 0:
			d.Hashed = append(d.Hashed, c.Option())
		case levels >= singularLeast && 2*levels > d.Rows:
			d.Singular = append(d.Singular, c.Option())
		case levels == 1 && d.Rows > 1:
			d.Constant = append(d.Constant, c.Option())
		}
	}
}

// TimesFound adds the column of times to a Detection.
func (p *Layout) TimesFound(d *columns.Detection) {
	t := p.Times
	if t == nil {
		return
	}
	d.Time, d.Dates, d.TimesFrom, d.TimesRounded = "column "+strconv.Itoa(t.At+1), t.Dates, t.From, t.Rounded.Load()
	if p.Names != nil {
		d.Time = strconv.Quote(p.Names[t.At])
	}
}

// SampleBytes is the size of the sample of the first file. The rows that end in it decide what the columns hold.
const SampleBytes = 64 << 10

// columns completes the layout of a CSV or TSV file.
func (d *Detector) columns(p *Layout, line []byte) *lines.Fault {
	fields, f := d.fields(p, line)
	if f != nil {
		return f
	}
	if len(p.Separator) > 1 {
		return &lines.Fault{Width: len(line), What: "a table cannot be separated by " + p.Separator,
			How: "use one character"}
	}
	p.Columns = len(fields)
	if p.Columns > d.Opt.FeaturesMost {
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the first row has %d columns, the limit is %d", p.Columns,
			d.Opt.FeaturesMost), How: "leave columns out, or write the rows as LIBSVM"}
	}
	if p.Columns == 1 && d.Opt.As == nil && d.Opt.Features == 0 {
		return &lines.Fault{Width: len(line), What: "the first line has 1 column, separated by " +
			lines.SeparatorName(p.Separator),
			How: "give each row a label and its features, each in a column" +
				foreign.TrySeparator(line, 2, d.Opt.FeaturesMost)}
	}
	if d.Opt.IndexBase != "" && d.Opt.As == nil {
		return &lines.Fault{Width: 1, What: "the columns of " + p.Format.Shown() +
			" have no indices that a base could count from", How: "leave out --base, which is for LIBSVM"}
	}
	seen := columns.Sample(d.Opt.Missing, d.below, p.Separator, fields)
	if p.Header, f = d.isHeader(fields, seen); f != nil {
		f.Width = len(line)
		return f
	}
	if p.Header {
		if f := columns.NotUTF8(fields); f != nil {
			return f
		}
		p.Names = columns.NamesOf(fields)
	} else {
		for i, field := range fields { // it is a row
			seen[i].Add(d.Opt.Missing, field.Text, nil)
		}
	}
	o := d.Opt
	want := &columns.Wanted{Label: o.Label, Ignore: o.Ignore, Categorical: o.Categorical, Unlabelled: o.Unlabelled,
		Features: o.Features, As: o.As.modelColumns(),
		Timed: o.Timed, Time: o.Time, TimeKept: o.TimeKept, Weight: o.Weight, FolderKeys: columns.FolderKeys(o.Paths),
		Rule: o.Missing}
	if want.As != nil {
		want.As.Grow = o.Grow
	}
	if p.Table, f = columns.Settle(p.Names, seen, want); f != nil {
		f.Width = len(line)
		return f
	}
	p.Label, p.WordLabels, p.Origin = p.Table.Label, p.Table.TextLabels, p.Table.Origin
	p.tableCoarse()
	if p.Table.Time >= 0 {
		p.Times = d.times(p, p.Table.Time, line)
	}
	return nil
}

// modelColumns returns the columns of a model that was trained on a table, else nil.
func (r *Reading) modelColumns() *columns.Known {
	if r == nil || len(r.Features) == 0 {
		return nil
	}
	return &columns.Known{Header: r.Header, TextLabels: r.TextLabels, Label: r.Label, Weight: r.Weight,
		Features: r.Features, Ignored: r.Ignored, Origin: r.Origin}
}

// isHeader decides whether the first line names the columns.
func (d *Detector) isHeader(fields []lines.Field, seen []columns.Sampled) (bool, *lines.Fault) {
	if d.Opt.Header != HeaderAuto {
		return d.Opt.Header == HeaderYes, nil
	}
	if as := d.Opt.As.modelColumns(); as != nil && as.NamedIn(fields) {
		return true, nil
	}
	return columns.Headed(fields, seen, d.Opt.As.modelColumns() != nil)
}

// furtherTable makes the layout of a table after the first one, which has settled everything. It may repeat the header.
func (d *Detector) furtherTable(first *Layout, line []byte) (*Layout, *lines.Fault) {
	p := &Layout{Format: d.format(line), Label: first.Label, Table: first.Table, WordLabels: first.WordLabels,
		Times: first.Times, Origin: first.Origin, Missing: first.Missing}
	if !p.Format.columnar() {
		return p, nil
	}
	fields, f := d.fields(p, line)
	if f != nil {
		return nil, f
	}
	p.Columns = len(fields)
	if p.Header = d.Opt.Header == HeaderYes || d.Opt.Header == HeaderAuto && first.Table.Repeated(fields); p.Header {
		p.Names = columns.NamesOf(fields)
	}
	return p, nil
}
