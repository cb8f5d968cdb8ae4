package lines

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Docword parses "document word count" lines, the body of a UCI bag of words. Numbers count from 1 in the text and from
// 0 in the piece, where they are User, Item and Label.
type Docword struct {
	Docs, Words int // from the file's header
	After       int // number of documents before the block
}

// CountMax is the largest count of a word in a document: a float32 holds every whole number up to it.
const CountMax = 1 << 24

// Parse appends the entries of a block.
func (l *Docword) Parse(text []byte, p *Piece) *Fault {
	last := int32(l.After)
	for i := 0; i < len(text); {
		if text[i] <= ' ' {
			if i = skipBlanks(text, i, ' '); text[i] == '\n' || crlf(text, i) {
				i = lineEnd(text, i)
				continue
			}
		}
		at := i
		doc, i1, f := l.number(text, i, "document", l.Docs)
		if f != nil {
			return f
		}
		word, i2, f := l.number(text, i1, "word", l.Words)
		if f != nil {
			return f
		}
		count, i3, f := l.number(text, i2, "count", CountMax)
		if f != nil {
			return f
		}
		if i3 = skipBlanks(text, i3, ' '); text[i3] != '\n' && !crlf(text, i3) {
			return &Fault{At: i3, Width: max(1, lineEnd(text, i3)-1-i3), What: "the line has more than 3 fields", How: docwordLine}
		}
		if doc < last {
			return &Fault{At: at, Width: 1, What: fmt.Sprintf("document %d comes after document %d", doc, last), How: DocwordOrder}
		}
		last = doc
		p.User, p.Item, p.Label = append(p.User, doc-1), append(p.Item, word-1), append(p.Label, float32(count))
		i = lineEnd(text, i3)
	}
	return nil
}

const docwordLine = "each line is document, word, count: three whole numbers from 1, separated by blanks"

// DocwordOrder is the hint for documents that are not in order.
const DocwordOrder = "sort the lines by document; in a header the order is documents, words, entries"

// number parses one field. most is the largest number allowed.
func (l *Docword) number(text []byte, i int, noun string, most int) (n int32, end int, f *Fault) {
	i = skipBlanks(text, i, ' ')
	if text[i] == '\n' || crlf(text, i) {
		return 0, 0, &Fault{At: i, Width: 1, What: noun + " is missing", How: docwordLine}
	}
	v, end := whole(text, i)
	if end == i || text[end] > ' ' || end-i > 10 {
		for end = i; text[end] > ' '; {
			end++
		}
		return 0, 0, &Fault{At: i, Width: end - i, What: fmt.Sprintf("%s %s is not a whole number", noun, Quote(text[i:end])), How: docwordLine}
	}
	if v < 1 || v > most {
		what := fmt.Sprintf("%s %d is outside 1 to %d, which the header states", noun, v, most)
		if noun == "count" {
			what = fmt.Sprintf("count %d is outside 1 to %d", v, most)
		}
		return 0, 0, &Fault{At: i, Width: end - i, What: what, How: docwordLine}
	}
	return int32(min(v, math.MaxInt32)), end, nil
}

// A BagHeader holds the first three lines of a bag of words.
type BagHeader struct{ Docs, Words, Entries int }

// headerLineMax bounds a line of a header, so that a small block holds all three.
const headerLineMax = 40

// HeaderBytes is the maximum size of a header, with a byte order mark before it.
const HeaderBytes = 3*(headerLineMax+1) + 3

const headerHow = "a bag of words begins with three lines: the numbers of documents, of words and of entries"

// ParseBagHeader reads the header at the start of a text and returns the text after it. docs bounds the numbers of
// documents and of entries, words the number of words.
func ParseBagHeader(text []byte, docs, words int64) (h BagHeader, rest []byte, f *Fault) {
	rest = text
	for _, field := range []struct {
		noun string
		to   *int
		most int64
	}{{"documents", &h.Docs, docs}, {"words", &h.Words, words}, {"entries", &h.Entries, docs}} {
		at := len(text) - len(rest)
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return h, nil, &Fault{At: at, Width: 1, What: "the header ends before the number of " + field.noun, How: headerHow}
		}
		digits := bytes.Trim(rest[:end], " \t\r")
		if !IsDigits(digits) || end > headerLineMax {
			return h, nil, &Fault{At: at, Width: end, What: fmt.Sprintf("the number of %s, %s, is not a whole number", field.noun, Quote(digits)), How: headerHow}
		}
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil || n < 1 || n > field.most {
			return h, nil, &Fault{At: at, Width: end, What: fmt.Sprintf("the number of %s, %s, is not 1 to %d", field.noun, digits, field.most), How: headerHow}
		}
		*field.to = int(n)
		rest = rest[end+1:]
	}
	return h, rest, nil
}
