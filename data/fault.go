package data

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fault is a defect inside a block of text, before anybody knows the line.
type fault struct {
	at    int // byte position in the block
	width int // bytes to mark
	what  string
	how   string
}

// Bounds of an excerpt, in characters.
const (
	excerptMax    = 72
	excerptBefore = 36
	quotedMax     = 32
)

// locate turns a fault into an Error with line and column counted from the
// start of the block, and an excerpt that does not refer to the block.
func locate(text []byte, f *fault) *Error {
	f.at = min(f.at, len(text))
	start := bytes.LastIndexByte(text[:f.at], '\n') + 1
	line := text[start:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	at := min(f.at-start, len(line))
	width := min(f.width, len(line)-at)
	e := &Error{
		Line: 1 + bytes.Count(text[:start], []byte("\n")),
		What: f.what,
		How:  f.how,
	}
	e.excerpt(line, at, width)
	return e
}

// excerpt sets Column, Text, Mark and Width from a line and byte positions in
// it, clipping long lines around the mark.
func (e *Error) excerpt(line []byte, at, width int) {
	before := utf8.RuneCount(line[:at])
	marked := max(1, utf8.RuneCount(line[at:at+width]))
	e.Column = before + 1

	skip := 0
	if before > excerptBefore && utf8.RuneCount(clip(line, at+4*excerptMax)) > excerptMax {
		skip = before - excerptBefore
	}
	rest := line
	for range skip {
		_, size := utf8.DecodeRune(rest)
		rest = rest[size:]
	}
	text, cut := printable(rest, excerptMax)
	e.Text, e.Mark = text, before-skip
	if skip > 0 {
		e.Text = "… " + e.Text
		e.Mark += 2
	}
	if cut {
		e.Text += " …"
	}
	e.Width = max(1, min(marked, excerptMax-(before-skip)))
}

// clip returns at most n bytes of line.
func clip(line []byte, n int) []byte { return line[:min(n, len(line))] }

// printable copies at most limit characters, each one column wide: blanks for
// tabs, a replacement mark for what a terminal would not show.
func printable(line []byte, limit int) (text string, cut bool) {
	var b strings.Builder
	for ; len(line) > 0; limit-- {
		if limit == 0 {
			return b.String(), true
		}
		r, size := utf8.DecodeRune(line)
		line = line[size:]
		switch {
		case r == '\t':
			r = ' '
		case !unicode.IsPrint(r):
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String(), false
}

// quoted is a field as a message shows it.
func quoted(field []byte) string {
	if len(field) > quotedMax {
		end := quotedMax
		for end > 0 && !utf8.RuneStart(field[end]) {
			end--
		}
		return strconv.Quote(string(field[:end])) + "…"
	}
	return strconv.Quote(string(field))
}

// badNumber is the fault of a field that should be a number. subject names
// what it is, prefix what stands before the number in the remedy.
func badNumber(at int, field []byte, subject, prefix string) *fault {
	f := &fault{at: at, width: len(field)}
	if len(field) == 0 {
		f.width = 1
		f.what = subject + " is missing"
		f.how = "fill it in; missing values are not guessed"
		return f
	}
	_, err := slowNumber(field)
	if err == nil {
		err = errNotNumber
	}
	f.what = fmt.Sprintf("%s %s %s", subject, quoted(field), err)
	dotted := bytes.Replace(field, []byte(","), []byte("."), 1)
	switch {
	case err == errNotFinite:
		f.how = "replace it by a number or leave the row out; missing values are not filled in"
	case err == errTooLarge:
		f.how = "scale the column: the largest magnitude is 3.4e38"
	case !bytes.Equal(dotted, field) && isNumber(dotted):
		f.how = fmt.Sprintf("a comma is not a decimal point here; write %s%s", prefix, dotted)
	default:
		f.how = "write a decimal number such as 0.5 or 1e-3"
	}
	return f
}
