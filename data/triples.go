package data

import (
	"bytes"
	"fmt"
)

// tripleLines parses "user item rating [timestamp]" lines, or "user item"
// lines when the rating may be absent.
type tripleLines struct {
	separator string // "\t", ",", ";", "::", ..., or " " for runs of blanks
	fields    int    // 2, 3 or 4
	users     *interner
	items     *interner
	block     int32 // number of the block being parsed
}

func (l *tripleLines) parse(text []byte, p *piece) *fault {
	stop := l.separator[0]
	for i := 0; i < len(text); {
		if text[i] <= ' ' {
			if next, ok := l.blankLine(text, i); ok {
				i = next
				continue
			}
		}
		user, next, f := l.id(text, i, stop, l.users, "user")
		if f != nil {
			return f
		}
		if text[next] == '\n' {
			return l.fewFields(text, next, 1)
		}
		item, next, f := l.id(text, l.behind(text, next), stop, l.items, "item")
		if f != nil {
			return f
		}
		rating := float32(0)
		if l.fields > 2 {
			if rating, next, f = l.rating(text, next); f != nil {
				return f
			}
		}
		if next, f = l.rest(text, next); f != nil {
			return f
		}
		p.user, p.item = append(p.user, user), append(p.item, item)
		p.label = append(p.label, rating)
		i = next
	}
	return nil
}

func (l *tripleLines) blankLine(text []byte, i int) (next int, ok bool) {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' {
		i++
	}
	return i + 1, text[i] == '\n'
}

// behind is the start of the field behind the separator at i.
func (l *tripleLines) behind(text []byte, i int) int {
	if l.separator == " " {
		return skipBlanks(text, i, ' ')
	}
	return i + len(l.separator)
}

// id parses an id field and returns its number and the position of the
// separator or newline behind it. Whole numbers take the fast way.
func (l *tripleLines) id(text []byte, i int, stop byte, ids *interner, noun string) (at int32, end int, f *fault) {
	if stop == ' ' && text[i] == ' ' {
		i = skipBlanks(text, i, ' ')
	}
	n := 0
	for end = i; ; end++ {
		d := text[end] - '0'
		if d > 9 {
			break
		}
		n = n*10 + int(d)
	}
	if text[end] == stop && end > i && end-i < 8 && n < smallIDs && (text[i] != '0' || end-i == 1) &&
		(len(l.separator) == 1 || separates(text, end, l.separator)) {
		if at = ids.number(n); at < 0 {
			at = ids.addNumber(n, text[i:end], l.block)
		}
		return at, end, nil
	}
	return l.textID(text, i, ids, noun)
}

// textID is id for everything but short whole numbers.
func (l *tripleLines) textID(text []byte, i int, ids *interner, noun string) (at int32, end int, f *fault) {
	field, end, f := cutField(text, i, l.separator)
	if f != nil {
		return 0, 0, f
	}
	if len(field) == 0 {
		return 0, 0, &fault{at: i, width: 1, what: noun + " is missing",
			how: "each line is user, item, rating and perhaps a timestamp"}
	}
	if n, ok := smallID(field); ok {
		if at = ids.number(n); at < 0 {
			at = ids.addNumber(n, field, l.block)
		}
		return at, end, nil
	}
	at, ok := ids.text(field, l.block)
	if !ok {
		return 0, 0, &fault{at: i, width: end - i, what: fmt.Sprintf("%s id %s is not printable text", noun, quoted(field)),
			how: "ids are UTF-8 without control characters; is this a text file?"}
	}
	return at, end, nil
}

// smallID reports whether an id is a canonical decimal below smallIDs, so that
// it has one number whether it was quoted or not.
func smallID(field []byte) (n int, ok bool) {
	if len(field) > 7 || len(field) > 1 && field[0] == '0' || !isDigits(field) {
		return 0, false
	}
	for _, c := range field {
		n = n*10 + int(c-'0')
	}
	return n, n < smallIDs
}

// rating parses the third field, behind the separator at i.
func (l *tripleLines) rating(text []byte, i int) (value float32, end int, f *fault) {
	if text[i] == '\n' {
		return 0, 0, l.fewFields(text, i, 2)
	}
	i = l.behind(text, i)
	if value, end = number(text, i); end >= 0 && (text[end] == '\n' || text[end] == l.separator[0] || crlf(text, end)) {
		return value, end, nil
	}
	if l.separator != " " {
		i = skipBlanks(text, i, l.separator[0])
	}
	field, end, f := cutField(text, i, l.separator)
	if f != nil {
		return 0, 0, f
	}
	value, err := slowNumber(field)
	if err != nil {
		at := i
		if text[i] == '"' {
			at++
		}
		return 0, 0, badNumber(at, field, "rating", "")
	}
	return value, end, nil
}

// rest checks what stands between the last parsed field and the end of the
// line, and returns the position behind it.
func (l *tripleLines) rest(text []byte, i int) (next int, f *fault) {
	if l.fields == 4 {
		if i = l.trail(text, i); text[i] == '\n' {
			return 0, l.fewFields(text, i, 3)
		}
		start := l.behind(text, i)
		end := start
		for isTime[text[end]] {
			end++
		}
		if end == start || text[end] != '\n' && !separates(text, end, l.separator) {
			if end, f = l.slowTime(text, start); f != nil {
				return 0, f
			}
		}
		i = end
	}
	if text[i] == '\n' {
		return i + 1, nil
	}
	if i = l.trail(text, i); text[i] == '\n' {
		return i + 1, nil
	}
	if i+len(l.separator) <= len(text) && !separates(text, i, l.separator) {
		return 0, &fault{at: i, width: 1, what: "text follows a field", how: "separate the fields by " + separatorName(l.separator)}
	}
	return 0, &fault{at: i, width: max(1, lineEnd(text, i)-1-i),
		what: fmt.Sprintf("the line has more than %d fields", l.fields),
		how:  "give every line the fields of the first: user, item, rating and perhaps a timestamp"}
}

// trail skips blanks in front of the line's end, and nothing else.
func (l *tripleLines) trail(text []byte, i int) int {
	j := i
	for text[j] == ' ' || text[j] == '\t' || text[j] == '\r' {
		j++
	}
	if text[j] == '\n' && (l.separator != "\t" || bytes.IndexByte(text[i:j], '\t') < 0) {
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
func (l *tripleLines) slowTime(text []byte, i int) (end int, f *fault) {
	field, end, f := cutField(text, i, l.separator)
	if f != nil {
		return 0, f
	}
	if len(field) == 0 {
		return 0, &fault{at: i, width: 1, what: "timestamp is missing", how: "give every line the fields of the first, or remove the fourth column"}
	}
	for _, c := range field {
		if !isTime[c] && c != ' ' {
			return 0, &fault{at: i, width: end - i, what: fmt.Sprintf("timestamp %s is not a time", quoted(field)),
				how: "the fourth field is Unix seconds or an ISO 8601 time; remove other columns"}
		}
	}
	return end, nil
}

func (l *tripleLines) fewFields(text []byte, end, found int) *fault {
	if end > 0 && text[end-1] == '\r' {
		end--
	}
	return &fault{at: end, width: 1,
		what: fmt.Sprintf("the line has %s, not %d", plural(found, "field"), l.fields),
		how: fmt.Sprintf("each line is user, item, rating and perhaps a timestamp, separated by %s, with as many fields as the first",
			separatorName(l.separator))}
}
