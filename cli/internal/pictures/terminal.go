//go:build linux

package main

import (
	"fmt"
	"html"
	"strings"
	"time"
	"unicode/utf8"
)

// terminal is a screen that never scrolls, and remembers what every row showed when.
type terminal struct {
	columns  int
	at       time.Duration // now
	row, col int
	rows     []row
	escape   []rune // of a sequence that has begun
}

// row is what a line of the screen showed: each content from its time to that of the next.
type row struct {
	now   []rune
	shown []moment
}

type moment struct {
	at     time.Duration
	text   string
	prompt bool
}

// blink is how long a content must be there to be shown: less is drawn anew before anybody could read it.
const blink = 60 * time.Millisecond

func newTerminal(columns int) *terminal { return &terminal{columns: columns, rows: make([]row, 1)} }

// line returns the row of the cursor.
func (t *terminal) line() *row {
	for len(t.rows) <= t.row {
		t.rows = append(t.rows, row{})
	}
	return &t.rows[t.row]
}

// prompt writes a command as a shell has it.
func (t *terminal) prompt(command string) {
	if len(t.rows) > 1 {
		t.row++
	}
	l := t.line()
	l.shown = append(l.shown, moment{t.at, "$ " + command, true})
	l.now = []rune("$ " + command)
	t.row, t.col = t.row+1, 0
}

// take takes one character of what a command writes.
func (t *terminal) take(r rune) error {
	if len(t.escape) > 0 {
		return t.sequence(r)
	}
	l := t.line()
	switch {
	case r == '\x1b':
		t.escape = append(t.escape, r)
	case r == '\r':
		t.col = 0
	case r == '\n':
		t.row++
		t.line()
	case r < ' ':
		return fmt.Errorf("the control character %q is not known here", r)
	default:
		if t.col >= t.columns { // as terminals do
			t.row, t.col = t.row+1, 0
			l = t.line()
		}
		for len(l.now) <= t.col {
			l.now = append(l.now, ' ')
		}
		l.now[t.col] = r
		t.col++
		t.note(l)
	}
	return nil
}

// sequence takes one character of an escape sequence: of those that bellows writes, which clear to the end of a line.
func (t *terminal) sequence(r rune) error {
	t.escape = append(t.escape, r)
	switch text := string(t.escape); {
	case text == "\x1b[":
		return nil
	case text == "\x1b[K":
		l := t.line()
		l.now = l.now[:min(len(l.now), t.col)]
		t.note(l)
	default:
		return fmt.Errorf("the sequence %q is not known here", text)
	}
	t.escape = t.escape[:0]
	return nil
}

// note remembers what the row shows from now on.
func (t *terminal) note(l *row) {
	text := strings.TrimRight(string(l.now), " ")
	if n := len(l.shown); n > 0 && t.at-l.shown[n-1].at < blink {
		l.shown[n-1].text = text
		return
	}
	l.shown = append(l.shown, moment{t.at, text, false})
}

// The measures of the picture, in pixels.
const (
	cell, leading = 8, 19
	margin, head  = 18, 34
)

// svg returns the recording: each content of a row appears at its time and goes at that of the next. Who wants no
// motion, and what cannot move, shows the end.
func (t *terminal) svg() string {
	var b strings.Builder
	width, height := 2*margin+cell*t.columns, head+margin+leading*len(t.rows)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n", width, height, width, height)
	b.WriteString("<title id=\"title\">bellows in a terminal</title>\n<desc id=\"desc\">A recording of the commands: " + html.EscapeString(strings.Join(commands, "; ")) + ".</desc>\n")
	b.WriteString(recordingStyle)
	fmt.Fprintf(&b, `<rect class="window" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle class="knob" cx="%d" cy="17" r="5"/>`, margin+4+18*i)
	}
	b.WriteByte('\n')
	for i := range t.rows {
		for n, m := range t.rows[i].shown {
			last := n+1 == len(t.rows[i].shown)
			if m.text == "" || !last && t.rows[i].shown[n+1].at-m.at < blink {
				continue
			}
			class, moves := "", fmt.Sprintf("animation:on 1ms %.2fs both", m.at.Seconds())
			if m.prompt {
				class = " p"
			}
			if !last {
				class += " gone"
				moves = fmt.Sprintf("animation:show %.2fs %.2fs", (t.rows[i].shown[n+1].at - m.at).Seconds(), m.at.Seconds())
			}
			fmt.Fprintf(&b, `<text class="t%s" style="%s" x="%d" y="%d" textLength="%d">%s</text>`+"\n", class, moves,
				margin, head+leading*i+14, cell*utf8.RuneCountInString(m.text), html.EscapeString(m.text))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// recordingStyle has the colours and the motion: what stays appears by "on", and what goes is hidden but while "show" lasts.
const recordingStyle = `<style>
.t{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
.p{font-weight:600;fill:#0969da}
.gone{visibility:hidden}
.window{fill:#f6f8fa;stroke:#d1d9e0}
.knob{fill:#d1d9e0}
@keyframes on{from{visibility:hidden}to{visibility:visible}}
@keyframes show{from{visibility:visible}to{visibility:visible}}
@media (prefers-color-scheme: dark) {
.t{fill:#f0f6fc}.p{fill:#58a6ff}.window{fill:#0d1117;stroke:#3d444d}.knob{fill:#3d444d}
}
@media (prefers-reduced-motion: reduce) {.t{animation:none!important}}
</style>
`
