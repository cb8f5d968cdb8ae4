// Package roles finds the columns of the user, the item and the rating by the names in the first line of a file.
//
// The caller's duties, in order: fill in a Finder; call Options, and treat the line as a header if Options or
// LooksNamed returns true; then Named for a header, Usual for any other line; At has the positions of the three, and
// Columns what a parser needs.
//
// The package refuses headers that name some of the three and not all, and two names for the same.
package roles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bellows/data/internal/lines"
)

// A Column is one of the three columns of ratings that matter.
type Column struct {
	role    lines.Role
	Noun    string
	Aliases []string // names in headers, in small letters and digits alone
	how     string   // the flag that names it
}

// All lists the three columns in the order that they have without a header.
var All = [...]Column{
	{lines.User, "user", []string{"user", "users", "userid", "uid", "username", "customer", "customerid", "reviewer",
		"reviewerid", "member", "memberid",
		"person", "personid", "visitor", "visitorid", "account", "accountid", "profile", "profilename"}, "--user"},
	{lines.Item, "item", []string{"item", "items", "itemid", "iid", "movie", "movieid", "film", "filmid", "product",
		"productid", "asin", "isbn", "book", "bookid",
		"song", "songid", "track", "trackid", "artist", "artistid", "album", "albumid", "anime", "animeid", "game",
		"gameid", "joke", "jokeid",
		"business", "businessid", "article", "articleid", "recipe", "recipeid", "restaurant", "restaurantid", "show",
		"showid"}, "--item"},
	{lines.Rating, "rating", []string{"rating", "ratings", "score", "stars", "star", "value", "overall", "grade",
		"bookrating", "userrating",
		"reviewscore", "reviewrating", "starrating", "preference"}, "--rating"},
}

// TimeNames are the header names, in the form of aliases, of columns with the time of a row.
var TimeNames = []string{"timestamp", "time", "date", "datetime", "ts", "unixtime", "unixreviewtime", "reviewtime",
	"tstamp"}

// PlainName returns a header's name in the form of aliases: User-ID and user_id become userid.
func PlainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// timeColumn describes the column of times.
var timeColumn = Column{role: lines.Time, Noun: "time", Aliases: TimeNames, how: "--time"}

// Absent is the position of a missing column.
const Absent = -1

// Finder finds the columns of ratings in a first line.
//
// Options come first, then the names in the model's data, then known names, and last the usual order: user, item,
// rating. A header that names some of the three but not all is refused, because the usual order would then use a named
// column for something else.
type Finder struct {
	Fields     []lines.Field
	Width      int       // of the line in bytes, to mark it
	Separator  string    // as in package lines
	Asked      [3]string // names, or numbers from 1, that options have for the three; "" for none
	Timed      bool      // a column of times is wanted as well
	AskedTime  string    // its name or number by the option
	Trained    [3]Known  // columns of the model's data
	Headerless bool      // the line is no header, whatever it looks like
	Unlabelled bool      // there may be no rating
	Keyed      bool      // the columns have names but no order, and so no usual one
	Hint       string    // which separator would fit, for a message
	Listed     string    // the columns, as a message lists them
	At         Positions // found so far; Nowhere at the start
	Time       int       // position of the column of times, or Nowhere
}

// Known is a column of a model's training data. Without a number nothing is known about it.
type Known struct {
	Name   string
	Number int // from 1
}

// Positions are the positions of the user, the item and the rating.
type Positions [len(All)]int

// Unknown has Nowhere for all three.
var Unknown = Positions{Absent, Absent, Absent}

// Options finds the columns that options name, or number from 1. named reports whether one is a name in the line.
func (n *Finder) Options() (named bool, f *lines.Fault) {
	take := func(to *int, asked string, c *Column, all string) {
		if asked == "" || f != nil {
			return
		}
		at, name := -1, false
		switch at, name, f = n.option(asked, c); {
		case f != nil:
		case slices.Contains(n.At[:], at) || at == n.Time:
			f = &lines.Fault{At: n.Fields[at].At, Width: 1, What: fmt.Sprintf("column %d is named twice", at+1),
				How: "name one column each with " + all}
		default:
			*to, named = at, named || name
		}
	}
	for i, asked := range n.Asked {
		take(&n.At[i], asked, &All[i], "--user, --item and --rating")
	}
	take(&n.Time, n.AskedTime, &timeColumn, "--user, --item, --rating and --time")
	return named && f == nil, f
}

// option returns the column that an option names, or numbers from 1.
func (n *Finder) option(asked string, c *Column) (at int, named bool, f *lines.Fault) {
	at = slices.IndexFunc(n.Fields, func(f lines.Field) bool {
		return string(f.Text) == asked &&
			!lines.IsNumber(f.Text)
	})
	number, err := strconv.Atoi(asked)
	switch {
	case !n.Headerless && at >= 0:
		return at, true, nil
	case err != nil:
		f = &lines.Fault{Width: n.Width, What: fmt.Sprintf("no column is named %s", lines.Quote([]byte(asked))),
			How: "the first line has: " + n.Listed + "; " + c.how + " also takes a number, from 1"}
	case number < 1 || number > len(n.Fields):
		f = &lines.Fault{Width: n.Width, What: fmt.Sprintf("there is no column %d for the %s", number, c.Noun),
			How: "the first line has " + lines.Plural(len(n.Fields), "column")}
	}
	return number - 1, false, f
}

// FindTime finds the column of times after the others: by its name, or the fourth of four columns without names.
func (n *Finder) FindTime(header bool) *lines.Fault {
	if !n.Timed || n.Time != Absent {
		return nil
	}
	var free, named []int
	for i := range n.Fields {
		if slices.Contains(n.At[:], i) {
			continue
		}
		if free = append(free, i); header && n.isTimeName(i) {
			named = append(named, i)
		}
	}
	switch {
	case len(named) > 1:
		return n.ambiguous(&timeColumn, named)
	case len(named) == 1:
		n.Time = named[0]
	case !header && len(free) == 1 && len(n.Fields) == 4:
		n.Time = free[0]
	case header:
		return &lines.Fault{Width: n.Width, What: "the header names no time of the ratings, by which some are to " +
			"be held out",
			How: "name its column with --time, or by its number; the columns are " + n.Listed}
	default:
		return &lines.Fault{Width: n.Width, What: "no column is known to hold the time of the ratings, by which " +
			"some are to be held out",
			How: "say with --time which column it is, by its number from 1; or hold out otherwise: --holdout last " +
				"takes the last rows as they stand"}
	}
	return nil
}

// knownPositions returns the positions with a header name for a role: the name in the model's data, or else the known
// names.
func (n *Finder) knownPositions(role int) (at []int) {
	if as := n.Trained[role]; as.Name != "" {
		for i, f := range n.Fields {
			if string(f.Text) == as.Name {
				return []int{i}
			}
		}
	}
	for i, f := range n.Fields {
		if i != n.Time && slices.Contains(All[role].Aliases, PlainName(string(f.Text))) {
			at = append(at, i)
		}
	}
	return at
}

// LooksNamed reports whether the line can only be a header: it has only words, known names among them. Of two fields
// both must be known, because ids may be any words.
func (n *Finder) LooksNamed() bool {
	if n.Headerless || slices.ContainsFunc(n.Fields,
		func(f lines.Field) bool { return len(f.Text) == 0 || lines.IsNumber(f.Text) }) {
		return false
	}
	user, item := len(n.knownPositions(0)) > 0, len(n.knownPositions(1)) > 0
	if len(n.Fields) == 2 {
		return user && item
	}
	return user || item || len(n.knownPositions(2)) > 0
}

// Named finds, by the names of a header, the columns that options do not set.
func (n *Finder) Named() *lines.Fault {
	var found, missing []int
	for role := range n.At {
		if n.At[role] == Absent {
			at := n.knownPositions(role)
			if len(at) > 1 {
				return n.ambiguous(&All[role], at)
			}
			if len(at) == 1 && !slices.Contains(n.At[:], at[0]) {
				n.At[role] = at[0]
			}
		}
		switch {
		case n.At[role] != Absent:
			found = append(found, role)
		case role != 2 || !n.Unlabelled:
			missing = append(missing, role)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case n.Keyed:
	case len(found) == 0 && n.Trained[0].Name == "" &&
		slices.ContainsFunc(n.Fields[:min(3, len(n.Fields))], func(f lines.Field) bool { return len(f.Text) == 0 }):
		return &lines.Fault{Width: n.Width, What: "the header names neither the user, the item nor the rating, " +
			"and one of its columns has no name",
			How: "name them with --user, --item and --rating; a matrix of users and items is written with a line " +
				"for each rating: user, item, rating"}
	case len(found) == 0 && n.Trained[0].Name == "":
		return n.Usual()
	}
	f := &lines.Fault{Width: n.Width, What: "the header names " + n.nouns(found) + ", but not " + n.nouns(missing)}
	if len(found) == 0 {
		f.What = "the header does not name " + n.nouns(missing)
	}
	flags := make([]string, len(missing))
	for i, role := range missing {
		flags[i] = All[role].how
	}
	f.How = fmt.Sprintf("name it with %s, or by its number; the columns are %s", strings.Join(flags, " and "), n.Listed)
	return f
}

// nouns lists roles for a sentence, with the names of their columns.
func (n *Finder) nouns(roles []int) string {
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = "the " + All[role].Noun
		if at := n.At[role]; at != Absent {
			words[i] += " (" + string(n.Fields[at].Text) + ")"
		}
	}
	return strings.Join(words, " and ")
}

func (n *Finder) ambiguous(r *Column, at []int) *lines.Fault {
	return &lines.Fault{At: n.Fields[at[1]].At, Width: len(n.Fields[at[1]].Text),
		What: fmt.Sprintf("the %s can be column %s or column %s", r.Noun, n.Fields[at[0]].Text, n.Fields[at[1]].Text),
		How:  fmt.Sprintf("say which: %s %s", r.how, n.Fields[at[0]].Text)}
}

// Usual assigns columns in the order of the model's data, or in the usual one, except those set by options.
func (n *Finder) Usual() *lines.Fault {
	count, least := len(n.Fields), 3
	if n.Unlabelled {
		least = 2
	}
	asked := slices.ContainsFunc(n.At[:], func(at int) bool { return at != Absent })
	order := []int{0, 1, 2}
	if user, item, rating := n.Trained[0], n.Trained[1], n.Trained[2]; !asked && user.Number > 0 && item.Number > 0 {
		if count > 2 && max(user.Number, item.Number, rating.Number) <= count {
			n.At = Positions{user.Number - 1, item.Number - 1, rating.Number - 1}
			return nil
		}
		if user.Number > item.Number {
			order = []int{1, 0, 2}
		}
	}
	left := count
	if n.Time != Absent {
		left--
	}
	if left < least || count > 4 && slices.Contains(n.At[:], Absent) {
		return &lines.Fault{At: 0, Width: n.Width,
			What: fmt.Sprintf("the first line has %s, separated by %s", lines.Plural(count, "field"),
				lines.SeparatorName(n.Separator)),
			How: "each line is user, item, rating and perhaps a timestamp, separated by tab, comma, semicolon, :: " +
				"or blanks" + n.Hint}
	}
	next := 0
	for _, role := range order {
		for slices.Contains(n.At[:], next) || next == n.Time {
			next++
		}
		if n.At[role] == Absent && next < count {
			n.At[role] = next
		}
	}
	return nil
}

// Columns returns the role of each column, nil if they are in the usual order. header says that the line names them.
func (n *Finder) Columns(header bool) []lines.Role {
	count := len(n.Fields)
	if n.Time == Absent && (n.At == (Positions{0, 1, Absent}) && count == 2 || n.At == (Positions{0, 1, 2}) &&
		(count == 3 || count == 4 && (!header || n.isTimeName(3)))) {
		return nil
	}
	roles := make([]lines.Role, count)
	for role, at := range n.At {
		if at != Absent {
			roles[at] = All[role].role
		}
	}
	if n.Time != Absent {
		roles[n.Time] = timeColumn.role
	}
	return roles
}

// isTimeName reports whether a header gives a column the name of a time.
func (n *Finder) isTimeName(at int) bool {
	return slices.Contains(TimeNames, PlainName(string(n.Fields[at].Text)))
}
