package bellows

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// Kind is the sort of an error, and what its reader should do. It survives the wire and decides
// the exit code of a command.
type Kind uint8

// The kinds of errors, each with the exit code (sysexits) that a command ends with.
const (
	Bug         Kind = iota // 70: an invariant of ours does not hold
	Usage                   // 64: the command was called wrongly
	BadData                 // 65: an input's content is malformed
	NoInput                 // 66: an input is missing or unreadable
	Unavailable             // 69: a cluster or registry cannot be reached
	CannotWrite             // 73: an output cannot be created
	IO                      // 74: reading or writing failed midway
	Lost                    // 75: ended by the loss of nodes or executors
	Refused                 // 77: not allowed
	Config                  // 78: a configuration is invalid
	Interrupted             // 130: ended by the user; resumable
)

var exitCodes = [...]int{70, 64, 65, 66, 69, 73, 74, 75, 77, 78, 130}

// ExitCode returns the exit status of a command that ends with an error of this kind.
func (k Kind) ExitCode() int { return exitCodes[k] }

// Error is the one shape of an error across rooms: the operation that failed, its subject, why,
// and what to do about it.
type Error struct {
	Kind    Kind
	Op      string // what was attempted: "open model"
	Subject string // on what: a file, a node, a setting; may be empty
	Hint    string // what to do; may be empty
	Err     error  // why
}

func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		s += " " + e.Subject
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose cause is formatted as by fmt.Errorf.
func Errorf(kind Kind, op, subject, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Subject: subject, Err: fmt.Errorf(format, args...)}
}

// Hinted adds what to do about the error, and returns it.
func (e *Error) Hinted(hint string) *Error {
	e.Hint = hint
	return e
}

// KindOf returns the kind of the outermost Error in err's chain, and Bug without one: an error without a kind is ours
// to fix.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Bug
}

// Pathless returns an error of the system without the path, for callers that name it, or whose readers never saw that
// file.
func Pathless(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Printable makes foreign text safe to show: valid UTF-8 without control characters, escapes or marks that change its
// direction, at most so many bytes long. It may have several lines; those after the first are indented, so that none
// looks like a line of ours. Printable text stays unchanged.
func Printable(text string, bytesMost int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			return r
		case r == '\t':
			return ' '
		}
		return '?'
	}, strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "  ") {
			lines[i] = "  " + lines[i]
		}
	}
	text = strings.Join(lines, "\n")
	return strings.ToValidUTF8(text[:min(len(text), bytesMost)], "")
}
