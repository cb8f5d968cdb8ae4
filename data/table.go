package data

import (
	"fmt"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
)

// sampleBytes is how much of the first file is looked at: what the columns hold is settled by the rows that end in them.
const sampleBytes = 64 << 10

// columns completes the layout of a CSV or TSV file.
func (d *detector) columns(p *layout, line []byte) *lines.Fault {
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
	if p.columns == 1 && d.opt.As == nil && d.opt.Features == 0 {
		return &lines.Fault{Width: len(line), What: "the first line has 1 column, separated by " + lines.SeparatorName(p.separator),
			How: "give each row a label and its features, each in a column" + foreign.TrySeparator(line, 2, d.opt.Limits.Features)}
	}
	if d.opt.IndexBase != "" && d.opt.As == nil {
		return &lines.Fault{Width: 1, What: "the columns of " + p.format.shown() + " have no indices that a base could count from", How: "leave out --base, which is for LIBSVM"}
	}
	seen := columns.Sample(d.below, p.separator, fields)
	if p.header, f = d.headed(fields, seen); f != nil {
		f.Width = len(line)
		return f
	}
	if p.header {
		if f := columns.NotUTF8(fields); f != nil {
			return f
		}
		p.names = columns.NamesOf(fields)
	} else {
		for i, field := range fields { // it is a row
			seen[i].Add(field.Text, nil)
		}
	}
	o := d.opt
	want := &columns.Wanted{Label: o.Label, Ignore: o.Ignore, Categorical: o.Categorical, Unlabelled: o.Unlabelled, Features: o.Features, As: o.As.trained(),
		Timed: o.Timed, Time: o.Time, TimeKept: o.TimeKept, Weight: o.Weight}
	if want.As != nil {
		want.As.Grow = o.Grow
	}
	if p.table, f = columns.Settle(p.names, seen, want); f != nil {
		f.Width = len(line)
		return f
	}
	p.label, p.wordLabels = p.table.Label, p.table.TextLabels
	if p.table.Time >= 0 {
		p.times = d.times(p, p.table.Time, line)
	}
	return nil
}

// trained is the columns of a model that was trained on a table, else nil.
func (r *Reading) trained() *columns.Known {
	if r == nil || len(r.Features) == 0 {
		return nil
	}
	return &columns.Known{Header: r.Header, TextLabels: r.TextLabels, Label: r.Label, Weight: r.Weight, Features: r.Features, Ignored: r.Ignored}
}

// headed decides whether the first line names the columns.
func (d *detector) headed(fields []lines.Field, seen []columns.Sampled) (bool, *lines.Fault) {
	if d.opt.Header != HeaderAuto {
		return d.opt.Header == HeaderYes, nil
	}
	if as := d.opt.As.trained(); as != nil && as.Names(fields) {
		return true, nil
	}
	return columns.Headed(fields, seen, d.opt.As.trained() != nil)
}

// furtherTable makes the layout of a table behind the first one, which has settled everything. It may repeat the header.
func (d *detector) furtherTable(first *layout, line []byte) (*layout, *lines.Fault) {
	p := &layout{format: d.format(line), label: first.label, table: first.table, wordLabels: first.wordLabels, times: first.times}
	if !p.format.columnar() {
		return p, nil
	}
	fields, f := d.fields(p, line)
	if f != nil {
		return nil, f
	}
	p.columns = len(fields)
	if p.header = d.opt.Header == HeaderYes || d.opt.Header == HeaderAuto && first.table.Repeated(fields); p.header {
		p.names = columns.NamesOf(fields)
	}
	return p, nil
}
