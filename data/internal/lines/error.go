package lines

import (
	"fmt"
	"strings"
)

// An Error is a defect of an input: what is wrong, where, and what to do. errors.Is unwraps it to fs.ErrNotExist and to
// system errors.
type Error struct {
	File   string // as the user named it; "stdin" for "-"
	Line   int    // from 1, in the decompressed text; 0 when the defect has no line
	Column int    // from 1, in characters; 0 when the defect has no column
	What   string // one sentence without a full stop
	How    string // what to do about it
	Text   string // excerpt of the line, printable; "" when there is none
	Mark   int    // position of the carets in Text, in characters from 0
	Width  int    // number of carets
	Err    error  // the cause, when there is one
}

// Error returns position, sentence, excerpt and hint, one per line:
//
//	news.svm.gz:4711:11: feature value "0,5" is not a number
//	   4711 | 3 12:1 40:0,5 77:2
//	        |           ^^^
//	a comma is not a decimal point here; write 40:0.5
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	b.WriteString(": " + e.What)
	if e.Text != "" {
		fmt.Fprintf(&b, "\n%7d | %s\n        | %s%s", e.Line, e.Text, strings.Repeat(" ", e.Mark), strings.Repeat("^", max(1, e.Width)))
	}
	if e.How != "" {
		b.WriteString("\n" + e.How)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
