package lines

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of an excerpt, in characters.
const (
	ExcerptMax    = 72
	excerptBefore = 36
)

// Locate turns a fault into an Error, with line and column counted from the start of the block. The excerpt does not
// retain the block.
func Locate(file string, text []byte, f *Fault) *Error {
	f.At = min(f.At, len(text))
	start := bytes.LastIndexByte(text[:f.At], '\n') + 1
	line := text[start:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	at := min(f.At-start, len(line))
	width := min(f.Width, len(line)-at)
	e := &Error{File: file, Line: 1 + bytes.Count(text[:start], []byte("\n")), What: f.What, How: f.How}
	e.excerpt(line, at, width)
	return e
}

// excerpt sets Column, Text, Mark and Width from a line and byte positions in it. It clips long lines around the mark.
func (e *Error) excerpt(line []byte, at, width int) {
	before := utf8.RuneCount(line[:at])
	marked := max(1, utf8.RuneCount(line[at:at+width]))
	e.Column = before + 1

	skip := 0
	if before > excerptBefore && utf8.RuneCount(clip(line, at+4*ExcerptMax)) > ExcerptMax {
		skip = before - excerptBefore
	}
	rest := line
	for range skip {
		_, size := utf8.DecodeRune(rest)
		rest = rest[size:]
	}
	text, cut := printable(rest, ExcerptMax)
	e.Text, e.Mark = text, before-skip
	if skip > 0 {
		e.Text = "… " + e.Text
		e.Mark += 2
	}
	if cut {
		e.Text += " …"
	}
	e.Width = max(1, min(marked, ExcerptMax-(before-skip)))
}

// clip returns at most n bytes of line.
func clip(line []byte, n int) []byte { return line[:min(n, len(line))] }

// printable copies at most limit characters, each one column wide. Tabs become blanks, and characters that a terminal
// would not show become a replacement mark.
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
