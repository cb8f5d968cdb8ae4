// Package lines parses blocks of text lines into columns: LIBSVM, tables of
// numbers, triples of user, item and rating, bags of words, and plain text.
//
// The caller's duties, in order:
//
//  1. Make one Parser for each goroutine: LIBSVM, CSV, Triples, Docword
//     or Text, filled in with what the first record settled.
//  2. Call Parse with blocks of whole lines; the last byte of a block must be
//     a newline, which all loops here stop at. Triples and Text also want Block set,
//     ascending.
//  3. On a Fault, turn its position into line and column; the piece is unusable.
//  4. For Triples and Text, merge the ids of all workers with MergeIDs.
//
// The package refuses fields that are almost right: no value is guessed, no
// line is skipped unless it is blank (or, in LIBSVM, a comment).
package lines

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"bellows/data/internal/notation"
)

// A Parser parses blocks of whole lines. It belongs to one goroutine. It appends to p and stops at the first defect.
type Parser interface {
	Parse(text []byte, p *Piece) *Fault
}

// A Fault is a defect inside a block of text, before its line is known.
type Fault struct {
	At    int // byte position in the block
	Width int // bytes to mark
	What  string
	How   string
}

// A Field is a part of a line, without quotes and blanks around it.
type Field struct {
	At   int // byte position in the line
	Text []byte
}

// Fields cuts one line, which has no newline, into fields.
func Fields(line []byte, separator string) ([]Field, *Fault) {
	text := append(slices.Clone(line), '\n')
	var fields []Field
	for i := 0; ; {
		i = skipBlanks(text, i, separator[0])
		if separator == " " && len(fields) > 0 && (text[i] == '\n' || crlf(text, i)) {
			return fields, nil
		}
		field, end, f := cutField(text, i, separator)
		if f != nil {
			return nil, f
		}
		fields = append(fields, Field{At: i, Text: field})
		if text[end] == '\n' {
			return fields, nil
		}
		i = end + len(separator)
	}
}

// quotedMax bounds a field in a message, in bytes.
const quotedMax = 32

// Quote returns a field as messages show it.
func Quote(field []byte) string {
	if len(field) > quotedMax {
		return strconv.Quote(string(bytes.ToValidUTF8(field[:quotedMax], nil))) + "…"
	}
	return strconv.Quote(string(field))
}

// Plural returns a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// BadNumber returns the fault of a field that should be a number. noun says what the field is, place (such as " of
// column 3") where it is, and prefix what stands before the number in the hint.
func BadNumber(at int, field []byte, noun, place, prefix string) *Fault {
	f := &Fault{At: at, Width: len(field)}
	if len(field) == 0 {
		f.Width = 1
		f.What = noun + place + " is missing"
		f.How = "fill it in, or leave the row out: missing values are not guessed"
		return f
	}
	_, err := Number(field)
	if err == nil {
		err = ErrNotNumber
	}
	f.What = fmt.Sprintf("%s %s%s %s", noun, Quote(field), place, err)
	plain, how := notation.Recognize(field)
	bare := string(bytes.ReplaceAll(field, []byte(","), nil))
	switch {
	case err == errNotFinite:
		f.How = "write a finite number, or leave the row out"
	case err == errTooLarge:
		f.How = "scale the column: the largest magnitude is 3.4e38"
	case how == notation.Thousands && plain == bare && plain != string(field): // commas separate them
		f.How = fmt.Sprintf("if the comma separates thousands, write %s%s without it", prefix, plain)
		if len(bare) == len(field)-1 {
			f.How += fmt.Sprintf("; if it is a decimal point, write %s%s", prefix, bytes.Replace(field, []byte(","), []byte("."), 1))
		}
	case how == notation.DecimalComma:
		f.How = fmt.Sprintf("a comma is not a decimal point here; write %s%s", prefix, plain)
	case how != "":
		f.How = fmt.Sprintf("it has %s; write %s%s", how, prefix, plain)
	default:
		f.How = decimal
	}
	return f
}

// unprintable returns the fault of text that is not UTF-8 or has control characters.
func unprintable(at, width int, what string, field []byte) *Fault {
	f := &Fault{At: at, Width: width, What: what + " is not printable text", How: "remove its control characters; is this a file of text?"}
	if !utf8.Valid(field) {
		f.What, f.How = what+" is not UTF-8", ToUTF8
	}
	return f
}

// ToUTF8 is the hint for text in another encoding.
const ToUTF8 = "convert the file, for example with iconv -f LATIN1 -t UTF-8, if it is text"

// decimal is the hint for a field that is no number.
const decimal = "write a decimal number such as 0.5 or 1e-3"
