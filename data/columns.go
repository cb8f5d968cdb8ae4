package data

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
	"bellows/data/internal/roles"
)

// RatingColumns lists by what names in a header the user, the item and the rating are found, for help.
func RatingColumns() (user, item, rating []string) {
	return roles.All[0].Aliases, roles.All[1].Aliases, roles.All[2].Aliases
}

// TimeColumns lists by what names in a header the time of a row is found, for help.
func TimeColumns() []string { return roles.TimeNames }

// triples completes the layout of a ratings file.
func (d *detector) triples(p *layout, line []byte) *lines.Fault {
	fields, f := d.fields(p, line)
	if f != nil {
		return f
	}
	p.columns = len(fields)
	least := 3
	if d.opt.Unlabelled {
		least = 2
	}
	n := &roles.Finder{Hint: foreign.TrySeparator(line, least, 4), Fields: fields, Width: len(line), Separator: p.separator, Asked: [...]string{d.opt.User, d.opt.Item, d.opt.Rating},
		Headerless: d.opt.Header == HeaderNo, Unlabelled: d.opt.Unlabelled, Listed: columns.Listed(columns.NamesOf(fields)), At: roles.Unknown,
		Keyed: d.keyed, Timed: d.opt.Timed, AskedTime: d.opt.Time, Time: roles.Nowhere}
	if as := d.opt.As; as != nil {
		for i, c := range [...]*Column{as.User, as.Item, as.Rating} {
			if c != nil {
				n.Trained[i] = roles.Known{Name: c.Name, Number: c.Number}
			}
		}
	}
	if f = d.find(p, n); f == nil {
		f = n.FindTime(p.header)
	}
	if f == nil && n.Time != roles.Nowhere {
		p.times = d.times(p, n.Time, line)
	}
	p.user, p.item, p.label, p.roles = n.At[0], n.At[1], n.At[2], n.Columns(p.header)
	return f
}

// find finds the columns, and whether the line names them: where nothing else says so, the rating decides.
func (d *detector) find(p *layout, n *roles.Finder) *lines.Fault {
	named, f := n.Options()
	if f != nil {
		return f
	}
	if p.header = named || d.opt.Header == HeaderYes || n.LooksNamed(); !p.header {
		asked := n.At
		if f := n.Usual(); f != nil {
			return f
		}
		if p.label = n.At[2]; p.label >= 0 {
			f = d.header(p, n.Fields, "rating")
		}
		if f != nil || !p.header {
			return f
		}
		n.At = asked
	} else if f := d.header(p, n.Fields, "rating"); f != nil {
		return f
	}
	return n.Named()
}

// times is how the column at a position says when rows are from: as it does in the first of them. A row that says it otherwise is refused where it stands.
func (d *detector) times(p *layout, at int, line []byte) *lines.Times {
	t := &lines.Times{At: at, Place: fmt.Sprintf(" of column %d", at+1)}
	if p.names != nil && p.names[at] != "" {
		t.Place = " of column " + lines.Quoted([]byte(p.names[at]))
	}
	if p.header {
		for line = range bytes.Lines(d.below) {
			if len(bytes.TrimSpace(line)) > 0 {
				break
			}
		}
		line = bytes.TrimRight(line, "\r\n")
	}
	if fields, f := lines.Fields(line, p.separator); f == nil && at < len(fields) {
		_, t.Dates = lines.Date(fields[at].Text)
	}
	return t
}

// ratingColumns says which columns were taken for what, for the screen.
func (p *layout) ratingColumns() string {
	var parts []string
	take := func(noun string, at int) {
		column := strconv.Itoa(at + 1)
		if p.names != nil {
			column = strconv.Quote(p.names[at])
		}
		parts = append(parts, noun+" "+column)
	}
	for i, at := range [...]int{p.user, p.item, p.label} {
		if at != roles.Nowhere {
			take(roles.All[i].Noun, at)
		}
	}
	if p.times != nil {
		take("time", p.times.At)
	}
	if p.names == nil {
		parts[0] = "columns " + parts[0]
	}
	return strings.Join(parts, ", ")
}
