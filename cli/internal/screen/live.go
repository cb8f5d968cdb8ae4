package screen

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bellows/figures"
	"bellows/progress"

	"golang.org/x/term"
)

// Live shows what a command does: its meter's count, the share, the rate and the remaining time. On a terminal that is
// one line on standard error, rewritten in place. Elsewhere, and on a dumb terminal, it is a plain line after a while
// without output, and then ever more rarely. With --json it writes no plain lines: readers of JSON get events.
//
// The command's other output goes through the console, which removes the line first. Between Hold and Release the line
// begins with words that are already on the screen.
//
// Invariants: nothing writes to a terminal while the line is on it (mu; TestLiveLineIsNotInOtherOutput). The line is
// never wider than the terminal, since it could not remove a second row (TestTheLiveLineFits).
//
// Lock: mu, taken under that of the journal.
type Live struct {
	c      *Console
	meter  *progress.Meter
	now    func() time.Time
	width  func() int // of the terminal, 0 without bounds
	moves  bool       // standard error is a terminal on which a line can be written again
	clears bool       // standard output is a terminal too, so that the line must go before a line

	mu       sync.Mutex
	within   string // of what all parts are parts
	words    string // that a later line completes; the line begins with them
	standing bool   // they are on the screen, as a line without an end
	shown    bool   // the line is on the screen
	number   int    // of the part that was seen last,
	since    time.Time
	outlook  string    // what is to be said of all that follows the part
	advice   string    // what can be done meanwhile
	quiet    time.Time // since when nothing has been written
	patience time.Duration
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// How often the line changes, and for how long it stays quiet where it cannot.
const (
	liveInterval  = 100 * time.Millisecond
	patienceLeast = 2 * time.Second
	patienceMost  = time.Minute
	rateAfter     = 300 * time.Millisecond // of a part; what was done before is no measure
)

// NewLive tells of what the meter counts, from Start to Stop.
func NewLive(c *Console, m *progress.Meter) *Live {
	l := &Live{c: c, meter: m, now: time.Now, width: func() int { return widthOf(c.Err) }, patience: patienceLeast}
	if t := c.Terminal(); t != nil {
		l.moves, l.clears = t.Err, t.Out
	}
	if t := c.Remote; t != nil {
		l.width = func() int { return t.Columns }
	}
	return l
}

// Obeys reports whether the terminal, if there is one, takes commands: to erase a line, say.
func Obeys() bool { return os.Getenv("TERM") != "dumb" }

// widthOf returns how many characters a line of a terminal has, 0 where w is none or does not say.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Start begins to tell.
func (l *Live) Start() {
	l.quiet, l.stop = l.now(), make(chan struct{})
	l.c.live.Store(l)
	if !l.moves && l.c.JSON {
		return
	}
	l.stopped.Go(func() {
		tick := time.NewTicker(liveInterval)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-tick.C:
				l.show()
			}
		}
	})
}

// Stop ends the line; the next output begins on a new line.
func (l *Live) Stop() {
	if l.stop == nil {
		return
	}
	close(l.stop)
	l.stopped.Wait()
	l.stop = nil
	l.c.live.Store(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove()
}

// Hold writes words that a later line completes.
func (l *Live) Hold(words string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	io.WriteString(l.c, tame(words))
	l.words, l.standing = words, true
}

// Release reports whether the words of Hold are still on the screen, to be followed by the rest of their line, or must
// be written again.
func (l *Live) Release() (standing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove()
	if l.moves && l.clears {
		l.endWords() // the caller writes them again, perhaps broken
	}
	standing = l.standing
	l.words, l.standing = "", false
	return standing
}

// Yield stops the line if standard output is the same terminal, since lines follow each other there.
func (l *Live) Yield() {
	if l.clears {
		l.Stop()
	}
}

// Turn says that another stage has begun, in which the user may do what the advice says.
func (l *Live) Turn(advice string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advice, l.outlook, l.patience = advice, "", patienceLeast
}

// Outlook sets what the line says about everything after the current part.
func (l *Live) Outlook(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outlook = text
}

// Within sets the words before each part from now on: "fold 2 of 5: ".
func (l *Live) Within(words string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.within = words
}

// show writes the line, if it is time.
func (l *Live) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, r := l.now(), l.meter.Read()
	if r.Number != l.number {
		l.number, l.since = r.Number, now
	}
	if r.Number == 0 || !l.moves && now.Sub(l.quiet) < l.patience {
		return
	}
	r.Doing = l.within + r.Doing
	pieces := append(describe(r, now.Sub(l.since)), l.outlook)
	if l.moves {
		io.WriteString(l.c.Err, erase+l.begun()+fit(append(pieces, l.advice), l.room()))
		l.shown, l.standing = true, l.standing && !l.clears
		return
	}
	l.endWords()
	io.WriteString(l.c.Err, tame(fit(pieces, 0))+"\n")
	l.quiet, l.patience = now, min(2*l.patience, patienceMost)
}

// begun returns the beginning of the line, if there is room for it.
func (l *Live) begun() string {
	if width := l.width(); !l.clears || width > 0 && utf8.RuneCountInString(l.words) > width/2 {
		return ""
	}
	return tame(l.words)
}

// room returns how many characters the line may have. The last column of a terminal is left free, since some terminals
// wrap after it.
func (l *Live) room() int {
	if width := l.width(); width > 0 {
		return max(1, width-1-utf8.RuneCountInString(l.begun()))
	}
	return 0
}

// aboveLive lets a caller write to one of the console's streams, on a separate line. A standard output that is not a
// terminal is written without the lock: its reader may block the writer, but not what goes to standard error meanwhile
// (TestTalkWaitsForNoReader).
func (l *Live) aboveLive(to io.Writer, write func()) {
	l.mu.Lock()
	apart := to == l.c.Out && !l.clears
	if !apart {
		l.remove()
	}
	if to == l.c.Out || l.clears || !l.moves {
		l.endWords()
	}
	l.quiet = l.now()
	if apart {
		l.mu.Unlock()
		write()
		return
	}
	defer l.mu.Unlock()
	write()
}

// remove takes the line off the screen.
func (l *Live) remove() {
	if l.shown {
		io.WriteString(l.c.Err, erase)
		l.shown = false
	}
}

// erase empties the terminal's line.
const erase = "\r\x1b[K"

// endWords makes room for a line where words stand that have no end yet.
func (l *Live) endWords() {
	switch {
	case !l.standing:
		return
	case l.moves && l.clears:
		io.WriteString(l.c.Err, erase)
	default:
		io.WriteString(l.c, "\n")
	}
	l.standing = false
}

// describe says in pieces, the first the most important, what is worked on and how far that is.
func describe(r progress.Reading, elapsed time.Duration) []string {
	pieces := []string{r.Doing}
	seconds := elapsed.Seconds()
	known := elapsed >= rateAfter && r.Done > 0
	if r.Total > 0 {
		share := min(1, float64(r.Done)/float64(r.Total))
		pieces = append(pieces, fmt.Sprintf("%.0f %%", math.Floor(100*share)))
		if known && share < 1 {
			pieces = append(pieces, figures.Remaining(seconds*(1-share)/share)+" left")
		}
	} else if r.Unit != "" && r.Done > 0 {
		pieces = append(pieces, amount(float64(r.Done), r.Unit))
	}
	if known && r.Unit != "" {
		pieces = append(pieces, amount(float64(r.Done)/seconds, r.Unit)+"/s")
	}
	return pieces
}

// amount formats a number with its unit.
func amount(n float64, unit string) string {
	if unit == "bytes" {
		return figures.Bytes(uint64(n))
	}
	return figures.Rate(n) + " " + unit
}

// fit joins as many of the pieces as there is room for, the first at any rate; 0 is room for all.
func fit(pieces []string, room int) string {
	text := ""
	for _, p := range pieces {
		if p == "" {
			continue
		}
		longer := p
		if text != "" {
			longer = text + "  " + p
		}
		if room > 0 && utf8.RuneCountInString(longer) > room {
			if text == "" {
				return cut(p, room)
			}
			continue
		}
		text = longer
	}
	return text
}

// cut shortens a text to so many characters.
func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:max(0, width-1)]) + "…"
	}
	return strings.TrimRight(text, " ")
}
