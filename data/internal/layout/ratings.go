package layout

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

// RatingColumns returns the header names by which the user, the item and the rating are recognised, for the help.
func RatingColumns() (user, item, rating []string) {
	return roles.All[0].Aliases, roles.All[1].Aliases, roles.All[2].Aliases
}

// TimeColumns returns the header names by which the time of a row is recognised, for the help.
func TimeColumns() []string { return roles.TimeNames }

// triples completes the layout of a file of ratings.
func (d *Detector) triples(p *Layout, line []byte) *lines.Fault {
	fields, f := d.fields(p, line)
	if f != nil {
		return f
	}
	p.Columns = len(fields)
	least := 3
	if d.Opt.Unlabelled {
		least = 2
	}
	n := &roles.Finder{Hint: foreign.TrySeparator(line, least, 4), Fields: fields, Width: len(line),
		Separator: p.Separator, Asked: [...]string{d.Opt.User, d.Opt.Item, d.Opt.Rating},
		Headerless: d.Opt.Header == HeaderNo, Unlabelled: d.Opt.Unlabelled,
		Listed: columns.JoinNames(columns.NamesOf(fields)), At: roles.Unknown,
		Keyed: d.keyed, Timed: d.Opt.Timed, AskedTime: d.Opt.Time, Time: roles.Absent}
	if as := d.Opt.As; as != nil {
		for i, c := range [...]*Column{as.User, as.Item, as.Rating} {
			if c != nil {
				n.Trained[i] = roles.Known{Name: c.Name, Number: c.Number}
			}
		}
	}
	if f = d.find(p, n); f == nil {
		f = n.FindTime(p.Header)
	}
	if f == nil && n.Time != roles.Absent {
		p.Times = d.times(p, n.Time, line)
	}
	p.User, p.Item, p.Label, p.Roles = n.At[0], n.At[1], n.At[2], n.Columns(p.Header)
	if f == nil {
		d.ratingOrigin(p, line)
	}
	return f
}

// find finds the columns, and decides whether the line names them. If nothing else decides, the field of the rating
// does.
func (d *Detector) find(p *Layout, n *roles.Finder) *lines.Fault {
	named, f := n.Options()
	if f != nil {
		return f
	}
	if p.Header = named || d.Opt.Header == HeaderYes || n.LooksNamed(); !p.Header {
		asked := n.At
		if f := n.Usual(); f != nil {
			return f
		}
		if p.Label = n.At[2]; p.Label >= 0 {
			f = d.header(p, n.Fields, "rating")
		}
		if f != nil || !p.Header {
			return f
		}
		n.At = asked
	} else if f := d.header(p, n.Fields, "rating"); f != nil {
		return f
	}
	return n.Named()
}

// times returns the column of times at a position. The first row decides between numbers and dates; a later row that
// differs is refused.
func (d *Detector) times(p *Layout, at int, line []byte) *lines.Times {
	t := &lines.Times{At: at, Place: fmt.Sprintf(" of column %d", at+1)}
	if p.Names != nil && p.Names[at] != "" {
		t.Place = " of column " + lines.Quote([]byte(p.Names[at]))
	}
	if p.Header {
		for line = range bytes.Lines(d.below) {
			if len(bytes.TrimSpace(line)) > 0 {
				break
			}
		}
		line = bytes.TrimRight(line, "\r\n")
	}
	if fields, f := lines.Fields(line, p.Separator); f == nil && at < len(fields) {
		t.Begin(fields[at].Text)
	}
	return t
}

// RatingColumns returns the chosen columns for the screen.
func (p *Layout) RatingColumns() string {
	var parts []string
	take := func(noun string, at int) {
		column := strconv.Itoa(at + 1)
		if p.Names != nil {
			column = strconv.Quote(p.Names[at])
		}
		parts = append(parts, noun+" "+column)
	}
	for i, at := range [...]int{p.User, p.Item, p.Label} {
		if at != roles.Absent {
			take(roles.All[i].Noun, at)
		}
	}
	if p.Times != nil {
		take("time", p.Times.At)
	}
	if p.Names == nil {
		parts[0] = "columns " + parts[0]
	}
	return strings.Join(parts, ", ")
}
