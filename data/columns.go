package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bellows/data/internal/columns"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
)

// column is one of the three columns of ratings that matter.
type column struct {
	role    lines.Role
	noun    string
	aliases []string // names in headers, in small letters and digits alone
	how     string   // the flag that names it
}

// ratingRoles are the columns that are looked for, in the order in which they stand without a header.
var ratingRoles = [...]column{
	{lines.User, "user", []string{"user", "users", "userid", "uid", "username", "customer", "customerid", "reviewer", "reviewerid", "member", "memberid",
		"person", "personid", "visitor", "visitorid", "account", "accountid", "profile", "profilename"}, "--user"},
	{lines.Item, "item", []string{"item", "items", "itemid", "iid", "movie", "movieid", "film", "filmid", "product", "productid", "asin", "isbn", "book", "bookid",
		"song", "songid", "track", "trackid", "artist", "artistid", "album", "albumid", "anime", "animeid", "game", "gameid", "joke", "jokeid",
		"business", "businessid", "article", "articleid", "recipe", "recipeid", "restaurant", "restaurantid", "show", "showid"}, "--item"},
	{lines.Rating, "rating", []string{"rating", "ratings", "score", "stars", "star", "value", "overall", "grade", "bookrating", "userrating",
		"reviewscore", "reviewrating", "starrating", "preference"}, "--rating"},
}

// RatingColumns lists by what names in a header the user, the item and the rating are found, for help.
func RatingColumns() (user, item, rating []string) {
	return ratingRoles[0].aliases, ratingRoles[1].aliases, ratingRoles[2].aliases
}

// timeNames are the names of columns that are known to be times, which nobody reads.
var timeNames = []string{"timestamp", "time", "date", "datetime", "ts", "unixtime", "unixreviewtime", "reviewtime", "tstamp"}

// plainName is a header's name as aliases are written: User-ID and user_id are userid.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// nowhere is the position of a column that is not there.
const nowhere = -1

// finder finds the columns of ratings in a first line.
//
// An option goes first, then the names that the model's data had, then names that are known, and last the usual order: user, item, rating. A header that
// names some of the three and not all is refused, for the usual order would then take what it names for something else.
type finder struct {
	*detector
	p      *plan
	line   []byte
	fields []lines.Field
	at     positions
}

// positions is where the user, the item and the rating stand.
type positions [len(ratingRoles)]int

var unknown = positions{nowhere, nowhere, nowhere}

// triples completes the plan of a ratings file.
func (d *detector) triples(p *plan, line []byte) *lines.Fault {
	fields, f := d.fields(p, line)
	if f != nil {
		return f
	}
	p.columns = len(fields)
	n := &finder{d, p, line, fields, unknown}
	if f := n.options(); f != nil {
		return f
	}
	p.header = p.header || d.opt.Header == HeaderYes || n.looksNamed()
	if !p.header {
		asked := n.at
		if f := n.usual(); f != nil {
			return f
		}
		if p.label = n.at[2]; p.label >= 0 {
			f = d.header(p, fields, "rating")
		}
		if f != nil || !p.header {
			n.settle()
			return f
		}
		n.at = asked
	} else if f := d.header(p, fields, "rating"); f != nil {
		return f
	}
	f = n.named()
	n.settle()
	return f
}

// options takes the columns that options name, or number from 1.
func (n *finder) options() *lines.Fault {
	for i, asked := range [...]string{n.opt.User, n.opt.Item, n.opt.Rating} {
		if asked == "" {
			continue
		}
		at := slices.IndexFunc(n.fields, func(f lines.Field) bool { return string(f.Text) == asked && !lines.IsNumber(f.Text) })
		if number, err := strconv.Atoi(asked); n.opt.Header != HeaderNo && at >= 0 {
			n.p.header = true
		} else if err != nil {
			return &lines.Fault{Width: len(n.line), What: fmt.Sprintf("no column is named %s", lines.Quoted([]byte(asked))),
				How: "the first line has: " + columns.Listed(columns.NamesOf(n.fields)) + "; " + ratingRoles[i].how + " also takes a number, from 1"}
		} else if at = number - 1; at < 0 || at >= len(n.fields) {
			return &lines.Fault{Width: len(n.line), What: fmt.Sprintf("there is no column %d for the %s", number, ratingRoles[i].noun),
				How: "the first line has " + lines.Plural(len(n.fields), "column")}
		}
		if slices.Contains(n.at[:], at) {
			return &lines.Fault{At: n.fields[at].At, Width: 1, What: fmt.Sprintf("column %d is asked for twice", at+1), How: "name one column each with --user, --item and --rating"}
		}
		n.at[i] = at
	}
	return nil
}

// known is where a header has names for a role: the one that the model's data had, or else those that are known.
func (n *finder) known(role int) (at []int) {
	if as := n.trained(role); as != nil && as.Name != "" {
		for i, f := range n.fields {
			if string(f.Text) == as.Name {
				return []int{i}
			}
		}
	}
	for i, f := range n.fields {
		if slices.Contains(ratingRoles[role].aliases, plainName(string(f.Text))) {
			at = append(at, i)
		}
	}
	return at
}

// looksNamed says whether the line can only be a header: words alone, known ones among them. Two fields must both be known,
// for ids may be any words.
func (n *finder) looksNamed() bool {
	if n.opt.Header == HeaderNo || slices.ContainsFunc(n.fields, func(f lines.Field) bool { return len(f.Text) == 0 || lines.IsNumber(f.Text) }) {
		return false
	}
	user, item := len(n.known(0)) > 0, len(n.known(1)) > 0
	if len(n.fields) == 2 {
		return user && item
	}
	return user || item || len(n.known(2)) > 0
}

// named finds by the names of a header what no option has said.
func (n *finder) named() *lines.Fault {
	var found, missing []int
	for role := range n.at {
		if n.at[role] == nowhere {
			at := n.known(role)
			if len(at) > 1 {
				return n.ambiguous(role, at)
			}
			if len(at) == 1 && !slices.Contains(n.at[:], at[0]) {
				n.at[role] = at[0]
			}
		}
		switch {
		case n.at[role] != nowhere:
			found = append(found, role)
		case role != 2 || !n.opt.Unlabelled:
			missing = append(missing, role)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(found) == 0 && n.trained(0) == nil:
		return n.usual()
	}
	f := &lines.Fault{Width: len(n.line), What: "the header names " + n.nouns(found) + ", but not " + n.nouns(missing)}
	if len(found) == 0 {
		f.What = "the header does not name " + n.nouns(missing)
	}
	flags := make([]string, len(missing))
	for i, role := range missing {
		flags[i] = ratingRoles[role].how
	}
	f.How = fmt.Sprintf("name it with %s, or by its number; the columns are %s", strings.Join(flags, " and "), columns.Listed(columns.NamesOf(n.fields)))
	return f
}

// nouns is the roles as a sentence has them, with the names of their columns.
func (n *finder) nouns(roles []int) string {
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = "the " + ratingRoles[role].noun
		if at := n.at[role]; at != nowhere {
			words[i] += " (" + string(n.fields[at].Text) + ")"
		}
	}
	return strings.Join(words, " and ")
}

func (n *finder) ambiguous(role int, at []int) *lines.Fault {
	r := ratingRoles[role]
	return &lines.Fault{At: n.fields[at[1]].At, Width: len(n.fields[at[1]].Text),
		What: fmt.Sprintf("the %s can be column %s or column %s", r.noun, n.fields[at[0]].Text, n.fields[at[1]].Text),
		How:  fmt.Sprintf("say which: %s %s", r.how, n.fields[at[0]].Text)}
}

// usual takes the columns in the order of the model's data, or in the usual one, but for those that options have named.
func (n *finder) usual() *lines.Fault {
	count, least := len(n.fields), 3
	if n.opt.Unlabelled {
		least = 2
	}
	asked := slices.ContainsFunc(n.at[:], func(at int) bool { return at != nowhere })
	order := []int{0, 1, 2}
	if user, item := n.trained(0), n.trained(1); !asked && user != nil && item != nil {
		if count > 2 && max(user.Number, item.Number, numberOf(n.trained(2))) <= count {
			n.at = positions{user.Number - 1, item.Number - 1, numberOf(n.trained(2)) - 1}
			return nil
		}
		if user.Number > item.Number {
			order = []int{1, 0, 2}
		}
	}
	if count < least || count > 4 && slices.Contains(n.at[:], nowhere) {
		return &lines.Fault{At: 0, Width: len(n.line), What: fmt.Sprintf("the first line has %s, separated by %s", lines.Plural(count, "field"), lines.SeparatorName(n.p.separator)),
			How: "each line is user, item, rating and perhaps a timestamp, separated by tab, comma, semicolon, :: or blanks" + foreign.TrySeparator(n.line, least, 4)}
	}
	next := 0
	for _, role := range order {
		for slices.Contains(n.at[:], next) {
			next++
		}
		if n.at[role] == nowhere && next < count {
			n.at[role] = next
		}
	}
	return nil
}

// trained is the column of a role in the data of the model, nil when nothing is known.
func (n *finder) trained(role int) *Column {
	if as := n.opt.As; as != nil {
		return [...]*Column{as.User, as.Item, as.Rating}[role]
	}
	return nil
}

// numberOf is the number of a column, 0 of none.
func numberOf(c *Column) int {
	if c == nil {
		return 0
	}
	return c.Number
}

// settle writes what was found into the plan. Columns in the usual order need no roles.
func (n *finder) settle() {
	n.p.user, n.p.item, n.p.label = n.at[0], n.at[1], n.at[2]
	count := len(n.fields)
	if n.at == (positions{0, 1, nowhere}) && count == 2 || n.at == (positions{0, 1, 2}) && (count == 3 || count == 4 && n.timed(3)) {
		return
	}
	n.p.roles = make([]lines.Role, count)
	for role, at := range n.at {
		if at != nowhere {
			n.p.roles[at] = ratingRoles[role].role
		}
	}
}

// timed says whether a column can be one of times: its name says so, or there is none.
func (n *finder) timed(at int) bool {
	return !n.p.header || slices.Contains(timeNames, plainName(string(n.fields[at].Text)))
}

// ratingColumns says which columns were taken for what, for the screen.
func (p *plan) ratingColumns() string {
	var parts []string
	for i, at := range [...]int{p.user, p.item, p.label} {
		if at == nowhere {
			continue
		}
		column := strconv.Itoa(at + 1)
		if p.names != nil {
			column = strconv.Quote(p.names[at])
		}
		parts = append(parts, ratingRoles[i].noun+" "+column)
	}
	if p.names == nil {
		parts[0] = "columns " + parts[0]
	}
	return strings.Join(parts, ", ")
}
