package screen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"

	"golang.org/x/term"
)

// Console is the input and output of a program's commands. Out carries data: tables, predictions, JSON lines. Err
// carries messages: the live line, hints, warnings, errors.
//
// Invariant: after a failed write nothing more goes to Out, and Lost reports it. A command need not check each write,
// and still does its work: an unreadable table is no reason to lose a model (output.txtar).
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool        // --json: Out carries JSON lines only
	Name     string      // of the program
	Called   string      // what starts it again where it was started, as a shell takes it; "": Name
	Args     []string    // what follows the name
	Calm     atomic.Bool // an interruption loses nothing, so that nothing is said about it
	Began    time.Time   // when the program was called
	// Hangup is what a command does when SIGHUP comes; nil: it ends.
	Hangup atomic.Pointer[func()]

	Remote *Terminal // of a user who follows a command that runs elsewhere; nil: local output

	lost atomic.Pointer[bellows.Error] // the first failure of Out
	live atomic.Pointer[Live]          // what stands on the terminal's last line, nil: nothing
}

// Write writes to Out, after the first failure nothing. Its errors are of kind IO.
func (c *Console) Write(b []byte) (int, error) {
	if err := c.lost.Load(); err != nil {
		return 0, err
	}
	n, err := c.Out.Write(b)
	if err != nil {
		c.lost.CompareAndSwap(nil, bellows.Errorf(bellows.IO, "write", "standard output", "%w", bellows.Pathless(err)))
		return n, c.lost.Load()
	}
	return n, nil
}

// Lost returns the first failure of a write to Out, or nil.
func (c *Console) Lost() error {
	if err := c.lost.Load(); err != nil {
		return err
	}
	return nil
}

// aboveLive writes with the live line taken away, if there is one.
func (c *Console) aboveLive(to io.Writer, write func()) {
	if l := c.live.Load(); l != nil {
		l.aboveLive(to, write)
		return
	}
	write()
}

// Terminal is a screen, as the two streams of a command see it: which of them it shows.
type Terminal struct {
	Columns int  `json:"columns"`
	Out     bool `json:"out"`
	Err     bool `json:"err"`
}

// Terminal returns the screen of the console; nil: none, or a dumb one.
func (c *Console) Terminal() *Terminal {
	if c.Remote != nil {
		return c.Remote
	}
	t := &Terminal{max(widthOf(c.Out), widthOf(c.Err)), terminal(c.Out), terminal(c.Err)}
	if !Obeys() || !t.Out && !t.Err {
		return nil
	}
	return t
}

// Width returns how many characters a line of standard output has, 0 where it is no terminal.
func (c *Console) Width() int {
	if c.Remote != nil && c.Remote.Out {
		return c.Remote.Columns
	}
	return widthOf(c.Out)
}

// terminal reports whether w is a screen that a person looks at.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Printf writes data for people; nothing with --json.
func (c *Console) Printf(format string, args ...any) {
	if !c.JSON {
		c.aboveLive(c.Out, func() { io.WriteString(c, tame(fmt.Sprintf(format, args...))) })
	}
}

// Talk writes one line of talk.
func (c *Console) Talk(format string, args ...any) {
	c.aboveLive(c.Err, func() { io.WriteString(c.Err, tame(fmt.Sprintf(format+"\n", args...))) })
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

// Object writes one JSON line when --json asks for it.
func (c *Console) Object(v any) error {
	if !c.JSON {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return bellows.Errorf(bellows.Bug, "write", "JSON", "%w", err)
	}
	c.aboveLive(c.Out, func() { _, err = c.Write(append(text, '\n')) })
	return err
}

// Program returns how the commands begin that are printed for the user to give next.
func (c *Console) Program() string { return cmp.Or(c.Called, c.Name) }

// Again returns the command that continues where this one stopped: the same without --fresh, or with --fresh=false if
// that flag may come from elsewhere than the command line; and with more flags, which go before others of their name.
func (c *Console) Again(overrule bool, more ...string) string {
	var words, rest []string
	for i, w := range c.Args {
		if w == "--" {
			rest = c.Args[i:]
			break
		}
		if w != "--fresh" && w != "--fresh=true" {
			words = append(words, w)
		}
	}
	if overrule {
		words = append(words, "--fresh=false")
	}
	words = slices.Concat(words, more, rest)
	line := c.Program()
	for _, w := range words {
		line += " " + ShellWord(w)
	}
	return line
}

// WithoutFlag returns the command again, without a flag that has a value.
func (c *Console) WithoutFlag(flag string) string {
	line := c.Program()
	for i := 0; i < len(c.Args); i++ {
		switch w := c.Args[i]; {
		case w == "--":
			for _, w := range c.Args[i:] {
				line += " " + ShellWord(w)
			}
			return line
		case w == "--"+flag:
			i++ // its value
		case !strings.HasPrefix(w, "--"+flag+"="):
			line += " " + ShellWord(w)
		}
	}
	return line
}

// Repeat returns those of the flags that the command line has, each after a space, for a command that is printed as the
// next step: without them it would be about something else.
func (c *Console) Repeat(flags ...string) (line string) {
	for i := 0; i < len(c.Args) && c.Args[i] != "--"; i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(c.Args[i], "--"), "=")
		if !strings.HasPrefix(c.Args[i], "--") || !slices.Contains(flags, name) {
			continue
		}
		if !joined && i+1 < len(c.Args) {
			i++
			value = c.Args[i]
		}
		line += " --" + name + " " + ShellWord(value)
	}
	return line
}

// ShellWord quotes a word where a shell would take it for something else.
func ShellWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()[]{}*?!#~") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Told is an error whose command has written its last JSON line already.
type Told struct{ Err error }

func (t Told) Error() string { return t.Err.Error() }
func (t Told) Unwrap() error { return t.Err }

// ErrHungUp is the cause when the context of a command ends because its terminal was closed.
var ErrHungUp = fmt.Errorf("the terminal has gone: %w", context.Canceled)

// Said is the end of a command that another process has carried out, with all that is to be said of it but the exit code.
type Said struct{ Code int }

func (s Said) Error() string { return fmt.Sprintf("it ended with exit code %d", s.Code) }

// fault is the JSON line of an error, the last of a command that failed.
type fault struct {
	Error struct {
		Kind     string `json:"kind"`
		ExitCode int    `json:"exit_code"`
		Message  string `json:"message"`
	} `json:"error"`
}

// Fail shows an error, the cause last on the screen, and returns the exit code.
func (c *Console) Fail(err error) int {
	if said := (Said{}); errors.As(err, &said) {
		return said.Code
	}
	kind := line.KindOf(err)
	message := err.Error()
	var bad *data.Error
	if errors.As(err, &bad) {
		message = bad.Error() // as it is: position, excerpt, remedy
	}
	if kind == bellows.Bug {
		message += "\nthis is a defect of " + c.Name + "; please report it with the command and `" + c.Name + " version`"
	}
	if !errors.As(err, new(Told)) {
		var f fault
		f.Error.Kind, f.Error.ExitCode, f.Error.Message = line.KindName(kind), kind.ExitCode(), message
		_ = c.Object(f) // the failed write is reported once, where it happened
	}
	c.Talk("%s", message)
	return kind.ExitCode()
}
