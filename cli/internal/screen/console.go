package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"unicode"

	"bellows"
	"bellows/data"

	"golang.org/x/term"
)

// console is where a command reads and writes. out carries data: tables, predictions, JSON lines.
// err carries talk: the live line, hints, warnings, errors.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool // --json: out carries JSON lines only
	args     []string
	calm     atomic.Bool // an interruption loses nothing, so that nothing is said about it
}

// terminal says whether w is a screen that a person looks at.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printf writes data for people; with --json there is none.
func (c *console) printf(format string, args ...any) {
	if !c.json {
		io.WriteString(c.out, tame(fmt.Sprintf(format, args...)))
	}
}

// talk writes one line of talk.
func (c *console) talk(format string, args ...any) {
	io.WriteString(c.err, tame(fmt.Sprintf(format+"\n", args...)))
}

// tame takes control characters out of text that other processes or files may have a part in: a terminal would obey them.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// object writes one JSON line when --json asks for it.
func (c *console) object(v any) error {
	if !c.json {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return bellows.Errorf(bellows.Bug, "write", "JSON", "%w", err)
	}
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		return bellows.Errorf(bellows.IO, "write", "standard output", "%w", err)
	}
	return nil
}

// command is the line that called this one, for messages that say how to go on.
func (c *console) command() string {
	words := []string{"bellows"}
	for _, w := range c.args {
		words = append(words, shellWord(w))
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word where a shell would take it for something else.
func shellWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()[]{}*?!#~") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// kindOf is the kind of any error that a command ends with.
func kindOf(err error) bellows.Kind {
	var bad *data.Error
	switch {
	case errors.As(err, &bad) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		return bellows.NoInput
	case errors.As(err, &bad):
		return bellows.BadData
	case errors.Is(err, context.Canceled):
		return bellows.Interrupted
	}
	return bellows.KindOf(err)
}

// told is an error whose command has written its last JSON line already.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// fault is the JSON line of an error, the last of a command that failed.
type fault struct {
	Error faultBody `json:"error"`
}

type faultBody struct {
	Kind     string `json:"kind"`
	ExitCode int    `json:"exit_code"`
	Message  string `json:"message"`
}

// fail shows an error, the cause last on the screen, and returns the exit code.
func (c *console) fail(err error) int {
	kind := kindOf(err)
	message := err.Error()
	var bad *data.Error
	if errors.As(err, &bad) {
		message = bad.Error() // as it is: position, excerpt, remedy
	}
	if kind == bellows.Bug {
		message += "\nthis is a defect of bellows; please report it with the command and `bellows version`"
	}
	if !errors.As(err, new(told)) {
		if err := c.object(fault{faultBody{kindNames[kind], kind.ExitCode(), message}}); err != nil {
			c.talk("%v", err)
		}
	}
	c.talk("%s", message)
	return kind.ExitCode()
}
