package lines

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A Role is the content of a column of ratings.
type Role uint8

// The roles of columns. A skipped column may hold anything.
const (
	Skipped Role = iota
	User
	Item
	Rating
	Time
)

// Triples parses "user item rating [timestamp]" lines, "user item" lines if the rating may be absent, or lines whose
// columns have roles.
type Triples struct {
	Separator string // "\t", ",", ";", "::", ..., or " " for runs of blanks
	Fields    int    // 2, 3 or 4; with roles any number
	Roles     []Role // of each field; nil if they are in the usual order
	Times     *Times // for a role of Time
	Users     *IDs
	Items     *IDs
	Block     int32   // number of the block being parsed
	Origin    float64 // what ratings are counted from
}

// shortLine is about the shortest length that most lines of ratings have, such as 123,45,5.
const shortLine = 9

// Parse appends the ratings of a block.
func (l *Triples) Parse(text []byte, p *Piece) *Fault {
	stop := l.Separator[0]
	p.room(len(text) / shortLine)
	for i := 0; i < len(text); {
		if i = l.plain(text, i, p); i == len(text) {
			break
		}
		if text[i] <= ' ' {
			if next, ok := l.blankLine(text, i); ok {
				i = next
				continue
			}
		}
		if l.Roles != nil {
			next, f := l.row(text, i, p)
			if f != nil {
				return f
			}
			i = next
			continue
		}
		user, next, f := l.id(text, i, stop, l.Users, "user")
		if f != nil {
			return f
		}
		if text[next] == '\n' {
			return l.fewFields(text, next, 1)
		}
		item, next, f := l.id(text, l.afterSeparator(text, next), stop, l.Items, "item")
		if f != nil {
			return f
		}
		rating := float32(0)
		if l.Fields > 2 {
			if rating, next, f = l.rating(text, next); f != nil {
				return f
			}
		}
		if next, f = l.rest(text, next); f != nil {
			return f
		}
		p.User, p.Item = append(p.User, user), append(p.Item, item)
		p.Label = append(p.Label, rating)
		i = next
	}
	return nil
}

// plainBytes is more than the length of a line that plain parses plus the bytes that it reads after it, except for the
// digits of a long rating.
const plainBytes = 64

// tenths are the ratings from 0.0 to 9.9.
var tenths = func() (of [100]float32) {
	for n := range of {
		of[n], _ = ordinary([]byte{'0' + byte(n/10), '.', '0' + byte(n%10), '\n'}, 0)
	}
	return of
}()

// plain appends the ratings of lines of the usual form, without a call for each field: two whole numbers that have been
// seen before, and a rating. It stops at the first other line, and returns that line's position for Parse.
func (l *Triples) plain(text []byte, i int, p *Piece) int {
	stop, users, items := l.Separator[0], l.Users.small, l.Items.small
	if len(l.Separator) != 1 || stop == ' ' || l.Fields != 3 || l.Roles != nil || l.Origin != 0 {
		return i
	}
	n, room := len(p.Label), min(cap(p.User), cap(p.Item), cap(p.Label))
	user, item, label := p.User[:room], p.Item[:room], p.Label[:room]
	for ; n < room && i+plainBytes <= len(text); n++ {
		u, count := digits(binary.LittleEndian.Uint64(text[i:]))
		at := i + count
		if uint(count-1) > 6 || text[at] != stop || text[i] == '0' && count > 1 || u >= len(users) || users[u] == 0 {
			break
		}
		begin := at + 1
		v, count := digits(binary.LittleEndian.Uint64(text[begin:]))
		at = begin + count
		if uint(count-1) > 6 || text[at] != stop || text[begin] == '0' && count > 1 || v >= len(items) || items[v] == 0 {
			break
		}
		at++
		var rating float32
		whole, part := text[at]-'0', text[at+2]-'0'
		switch {
		case whole <= 9 && text[at+1] == '.' && part <= 9 && text[at+3] == '\n':
			rating, at = tenths[10*whole+part], at+3
		case whole <= 9 && text[at+1] == '\n':
			rating, at = float32(whole), at+1
		default:
			if rating, at = ordinary(text, at); at < 0 {
				at = i // where no line ends
			} else if text[at] == '\r' {
				at++
			}
		}
		if text[at] != '\n' {
			break
		}
		user[n], item[n], label[n] = users[u]-1, items[v]-1, rating
		i = at + 1
	}
	p.User, p.Item, p.Label = user[:n], item[:n], label[:n]
	return i
}

// row parses a line whose columns have roles, and returns the position after it.
func (l *Triples) row(text []byte, i int, p *Piece) (next int, f *Fault) {
	var user, item int32
	rating, stop, at := float32(0), l.Separator[0], 0.0
	for column, role := range l.Roles {
		if column > 0 {
			if i = l.trail(text, i); text[i] == '\n' {
				return 0, l.fewFields(text, i, column)
			}
			i = l.afterSeparator(text, i)
		}
		switch role {
		case User:
			user, i, f = l.id(text, i, stop, l.Users, "user")
		case Item:
			item, i, f = l.id(text, i, stop, l.Items, "item")
		case Rating:
			rating, i, f = l.number(text, i)
		case Time:
			at, i, f = l.Times.cell(text, i, l.Separator)
		default:
			_, i, f = cutField(text, i, l.Separator)
		}
		if f != nil {
			return 0, f
		}
	}
	if next, f = l.end(text, i); f != nil {
		return 0, f
	}
	p.User, p.Item, p.Label = append(p.User, user), append(p.Item, item), append(p.Label, rating)
	if l.Times != nil {
		p.Time = append(p.Time, at)
	}
	return next, nil
}

func (l *Triples) blankLine(text []byte, i int) (next int, ok bool) {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' {
		i++
	}
	return i + 1, text[i] == '\n'
}

// afterSeparator returns the start of the field after the separator at i.
func (l *Triples) afterSeparator(text []byte, i int) int {
	if l.Separator == " " {
		return skipBlanks(text, i, ' ')
	}
	return i + len(l.Separator)
}

// id parses an id field and returns its number and the position of the separator or newline after it. Whole numbers
// take a fast path.
func (l *Triples) id(text []byte, i int, stop byte, ids *IDs, noun string) (at int32, end int, f *Fault) {
	if stop == ' ' && text[i] == ' ' {
		i = skipBlanks(text, i, ' ')
	}
	n, end := whole(text, i)
	if (text[end] == stop || text[end] == '\n') && end > i && end-i < 8 && n < smallIDs && (text[i] != '0' || end-i == 1) &&
		(len(l.Separator) == 1 || text[end] == '\n' || separates(text, end, l.Separator)) {
		if at = ids.number(n); at < 0 {
			if ids.Missing.Numeric() && ids.IsMissing(text[i:end]) {
				return l.textID(text, i, ids, noun)
			}
			at = ids.addNumber(n, text[i:end], l.Block)
		}
		return at, end, nil
	}
	return l.textID(text, i, ids, noun)
}

// textID works like id for everything except short whole numbers.
func (l *Triples) textID(text []byte, i int, ids *IDs, noun string) (at int32, end int, f *Fault) {
	field, end, f := cutField(text, i, l.Separator)
	if f != nil {
		return 0, 0, f
	}
	if len(field) == 0 {
		return 0, 0, &Fault{At: i, Width: 1, What: noun + " is missing", How: "write an id for the " + noun +
			", or leave the line out"}
	}
	at, ok := ids.Take(field, l.Block)
	if !ok && ids.IsMissing(field) {
		f := MissingID(field, noun)
		f.At = i
		return 0, 0, f
	}
	if !ok {
		return 0, 0, unprintable(i, end-i, noun+" id "+Quote(field), field)
	}
	return at, end, nil
}

// smallID reports whether an id is a canonical decimal below smallIDs. Such an id has one number whether it is quoted
// or not.
func smallID(field []byte) (n int, ok bool) {
	if len(field) > 7 || len(field) > 1 && field[0] == '0' || !IsDigits(field) {
		return 0, false
	}
	for _, c := range field {
		n = n*10 + int(c-'0')
	}
	return n, n < smallIDs
}

// rating parses the third field, after the separator at i.
func (l *Triples) rating(text []byte, i int) (value float32, end int, f *Fault) {
	if text[i] == '\n' {
		return 0, 0, l.fewFields(text, i, 2)
	}
	return l.number(text, l.afterSeparator(text, i))
}

// number parses a rating that starts at i.
func (l *Triples) number(text []byte, i int) (value float32, end int, f *Fault) {
	if value, end = ordinary(text, i); end >= 0 && l.Origin == 0 && (text[end] == '\n' || text[end] == l.Separator[0] || crlf(text, end)) {
		return value, end, nil
	}
	if l.Separator != " " {
		i = skipBlanks(text, i, l.Separator[0])
	}
	field, end, f := cutField(text, i, l.Separator)
	if f != nil {
		return 0, 0, f
	}
	value, err := Shifted(field, l.Origin)
	if err != nil {
		at := i
		if text[i] == '"' {
			at++
		}
		f := BadNumber(at, field, "rating", "", "")
		if f.How == decimal {
			f.How += "; if the ratings stand in another column, name it with --rating"
		}
		return 0, 0, f
	}
	return value, end, nil
}

// rest checks the text between the rating and the end of the line, and returns the position after it.
func (l *Triples) rest(text []byte, i int) (next int, f *Fault) {
	if l.Fields == 4 {
		if i = l.trail(text, i); text[i] == '\n' {
			return 0, l.fewFields(text, i, 3)
		}
		start := l.afterSeparator(text, i)
		end := start
		for isTime[text[end]] {
			end++
		}
		if end == start || text[end] != '\n' && !separates(text, end, l.Separator) {
			if end, f = l.slowTime(text, start); f != nil {
				return 0, f
			}
		}
		i = end
	}
	return l.end(text, i)
}

// end checks that the line ends at i, apart from blanks, and returns the position after it.
func (l *Triples) end(text []byte, i int) (next int, f *Fault) {
	if text[i] == '\n' {
		return i + 1, nil
	}
	if i = l.trail(text, i); text[i] == '\n' {
		return i + 1, nil
	}
	if i+len(l.Separator) <= len(text) && !separates(text, i, l.Separator) {
		return 0, &Fault{At: i, Width: 1, What: "text follows a field", How: "separate the fields by " +
			SeparatorName(l.Separator)}
	}
	f = &Fault{At: i, Width: max(1, lineEnd(text, i)-1-i), What: fmt.Sprintf("the line has more than %d fields", l.Fields),
		How: "give every line the fields of the first: user, item, rating and perhaps a timestamp"}
	if l.Roles != nil {
		f.How = "give every line the fields of the first"
	}
	return 0, f
}

// trail skips blanks at the end of the line, and nothing else.
func (l *Triples) trail(text []byte, i int) int {
	j := i
	for text[j] == ' ' || text[j] == '\t' || text[j] == '\r' {
		j++
	}
	if text[j] == '\n' && (l.Separator != "\t" || bytes.IndexByte(text[i:j], '\t') < 0) {
		return j
	}
	return i
}

// isTime marks the characters of Unix and ISO 8601 times.
var isTime = func() (set [256]bool) {
	for _, c := range []byte("0123456789-+.:TZez") {
		set[c] = true
	}
	return set
}()

// slowTime checks a timestamp that is quoted, padded, or bad.
func (l *Triples) slowTime(text []byte, i int) (end int, f *Fault) {
	field, end, f := cutField(text, i, l.Separator)
	if f != nil {
		return 0, f
	}
	if len(field) == 0 {
		return 0, &Fault{At: i, Width: 1, What: "timestamp is missing", How: "give every line the fields of the first, or remove the fourth column"}
	}
	for _, c := range field {
		if !isTime[c] && c != ' ' {
			return 0, &Fault{At: i, Width: end - i, What: fmt.Sprintf("timestamp %s is not a time", Quote(field)), How: "the fourth field is Unix seconds or an ISO 8601 time; remove other columns"}
		}
	}
	return end, nil
}

func (l *Triples) fewFields(text []byte, end, found int) *Fault {
	if end > 0 && text[end-1] == '\r' {
		end--
	}
	f := &Fault{At: end, Width: 1, What: fmt.Sprintf("the line has %s, not %d", Plural(found, "field"), l.Fields),
		How: fmt.Sprintf("each line is user, item, rating and perhaps a timestamp, separated by %s, with as many "+
			"fields as the first", SeparatorName(l.Separator))}
	if l.Roles != nil {
		f.How = fmt.Sprintf("give every line the fields of the first, separated by %s", SeparatorName(l.Separator))
	}
	return f
}
