package data

import (
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

// triples completes the plan of a ratings file.
func (d *detector) triples(p *plan, line []byte) *lines.Fault {
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
		Headerless: d.opt.Header == HeaderNo, Unlabelled: d.opt.Unlabelled, Listed: columns.Listed(columns.NamesOf(fields)), At: roles.Unknown}
	if as := d.opt.As; as != nil {
		for i, c := range [...]*Column{as.User, as.Item, as.Rating} {
			if c != nil {
				n.Trained[i] = roles.Known{Name: c.Name, Number: c.Number}
			}
		}
	}
	f = d.find(p, n)
	p.user, p.item, p.label, p.roles = n.At[0], n.At[1], n.At[2], n.Columns(p.header)
	return f
}

// find finds the columns, and whether the line names them: where nothing else says so, the rating decides.
func (d *detector) find(p *plan, n *roles.Finder) *lines.Fault {
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

// ratingColumns says which columns were taken for what, for the screen.
func (p *plan) ratingColumns() string {
	var parts []string
	for i, at := range [...]int{p.user, p.item, p.label} {
		if at == roles.Nowhere {
			continue
		}
		column := strconv.Itoa(at + 1)
		if p.names != nil {
			column = strconv.Quote(p.names[at])
		}
		parts = append(parts, roles.All[i].Noun+" "+column)
	}
	if p.names == nil {
		parts[0] = "columns " + parts[0]
	}
	return strings.Join(parts, ", ")
}
