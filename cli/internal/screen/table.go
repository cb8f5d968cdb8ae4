package screen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellows/app"
	"bellows/figures"
	"bellows/train"
)

// EpochTable is the table of a training run, on standard output, line by line as it comes about. On a terminal it keeps within the width,
// and leaves epochs out that follow each other faster than they can be read; elsewhere every epoch has its line, with all columns.
//
// Its caller's goroutines take turns: nothing here is locked but the screen (Live).
type EpochTable struct {
	c        *Console
	live     *Live
	words    string // that Begin has written
	columns  []column
	metrics  []string
	thins    bool // may leave epochs out
	now      func() time.Time
	last     time.Time // when a line was written
	held     string    // the line of the last epoch, where that was left out
	sort     string    // what all metrics are of, "" where they differ
	terminal int       // characters of a line, 0 without bounds
}

// column is one column of the table; all are right-aligned.
type column struct {
	title, short string
	width        int
	keep         int // if there is too little room, columns with the lowest keep go first
	at           int // of the cells of a row
}

// How dear columns are: the epoch and the last metric stay, whatever the width.
const (
	keepMembers = iota
	keepWait
	keepRate
	keepTrain
	keepTest
	keepTime
	keepAlways
)

// NewEpochTable returns the table of an application that describes itself so, on a terminal of so many characters; 0
// is no terminal.
func NewEpochTable(c *Console, l *Live, d app.Description, width int) *EpochTable {
	t := &EpochTable{c: c, live: l, thins: width > 0, now: time.Now, terminal: width}
	t.Measure(d)
	return t
}

// Measure makes the columns those of a description, before the headline.
func (t *EpochTable) Measure(d app.Description) {
	t.metrics = d.Metrics
	titles, sort := metricColumns(d.Metrics)
	t.sort = sort
	all := append([]column{{title: "epoch", width: 5, keep: keepAlways}}, metricsOf(d.Metrics, titles)...)
	all = append(all, column{title: "time", width: 9, keep: keepTime}, column{title: d.Unit + "/s", width: 5 + len(d.Unit), keep: keepRate},
		column{title: "wait", width: 6, keep: keepWait}, column{title: "members", width: 10, keep: keepMembers})
	t.fit(all)
}

// fit takes as many of the columns as there is room for.
func (t *EpochTable) fit(all []column) {
	for i := range all {
		all[i].at = i
	}
	t.columns = fitColumns(all, t.terminal)
}

// metricsOf returns the columns of metrics.
func metricsOf(names, titles []string) (list []column) {
	for i, name := range names {
		keep := keepTrain
		if strings.HasPrefix(name, "test_") {
			keep = keepTest
		}
		if i == len(names)-1 {
			keep = keepAlways
		}
		list = append(list, column{title: titles[i], short: shortTitle(titles[i]), width: max(9, 3+utf8.RuneCountInString(titles[i])), keep: keep})
	}
	return list
}

// metricColumns returns the titles of metrics: "train" and "test" alone where all are of one sort, which is returned
// in words.
func metricColumns(names []string) (titles []string, sort string) {
	sorts := map[string]bool{}
	var short, long []string
	for _, name := range names {
		part, of, ok := strings.Cut(name, "_")
		if !ok {
			part, of = name, name
		}
		sorts[of], sort = true, of
		short, long = append(short, part), append(long, figures.Metric(name))
	}
	if len(sorts) == 1 {
		return short, figures.Metric(sort)
	}
	return long, ""
}

// shortTitle returns a title where there is little room.
func shortTitle(title string) string {
	return strings.NewReplacer("accuracy", "acc", "log-loss", "loss").Replace(title)
}

// cellsLeast is the least width of a column of figures: figures.Number writes nine characters at most, and most are shorter.
const cellsLeast = 9

// fitColumns makes columns fit a line, 0 being one without end: first they are set closer, with shorter titles, and then the least kept goes,
// of several the first.
func fitColumns(columns []column, width int) []column {
	if width == 0 || widthOfColumns(columns) <= width {
		return columns
	}
	close := slices.Clone(columns)
	for i := range close {
		if c := &close[i]; c.short != "" {
			c.title, c.width = c.short, max(cellsLeast, 2+utf8.RuneCountInString(c.short))
		}
	}
	for widthOfColumns(close) > width {
		least := slices.MinFunc(close, func(a, b column) int { return a.keep - b.keep })
		if least.keep == keepAlways {
			break
		}
		close = slices.DeleteFunc(close, func(c column) bool { return c.at == least.at })
	}
	return close
}

func widthOfColumns(columns []column) (n int) {
	for _, c := range columns {
		n += c.width
	}
	return n
}

// Begin writes the first words of the headline, before anything has been read.
func (t *EpochTable) Begin(words string) {
	if !t.c.JSON {
		t.words = words
		t.live.Hold(words)
	}
}

// Headline ends the first line and writes the second and the titles.
func (t *EpochTable) Headline(rest, place string) {
	standing := t.live.Release()
	whole := Fold(t.words+rest, t.terminal)
	if standing {
		var follows bool
		if whole, follows = strings.CutPrefix(whole, t.words); !follows { // they would have been broken
			whole = rest
		}
	}
	t.words = ""
	if t.sort != "" {
		place += " · train and test: " + t.sort
	}
	titles := make([]string, len(t.columns))
	for i, col := range t.columns {
		titles[i] = col.title
	}
	t.c.Printf("%s\n%s\n%s\n", whole, Fold(place, t.terminal), t.row(titles))
}

// Fold breaks a line wider than the terminal, between two of its parts if possible, else after a comma or a colon; 0:
// no terminal.
func Fold(text string, width int) string {
	if width == 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	var b strings.Builder
	at := 0
	for i, part := range strings.Split(text, between) {
		for j, piece := range strings.SplitAfter(strings.NewReplacer(", ", ",\x00", ": ", ":\x00").Replace(part), "\x00") {
			piece, gap := strings.TrimSuffix(piece, "\x00"), " "
			if j == 0 {
				gap = between
			}
			if i+j == 0 {
				gap = ""
			}
			n := utf8.RuneCountInString(gap + piece)
			if at > 0 && at+n > width {
				gap, at = "\n  ", 2
				n = utf8.RuneCountInString(piece)
			}
			b.WriteString(gap + piece)
			at += n
		}
	}
	return b.String()
}

// between is what stands between the parts of a line.
const between = " · "

// row aligns cells under the titles. Two of them have a blank between them, whatever they hold.
func (t *EpochTable) row(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := t.columns[i].width - utf8.RuneCountInString(cell)
		if i > 0 {
			pad = max(1, pad)
		}
		b.WriteString(strings.Repeat(" ", max(0, pad)) + cell)
	}
	return b.String()
}

// Row is what the table shows of one epoch.
type Row struct {
	train.Epoch
	Seconds float64 // of training, since the start
	Rate    float64 // items a second in this epoch
	Wait    float64 // share of the slots' time
	Members string  // how many do what
}

// Add writes the line of an epoch, or keeps it for later.
func (t *EpochTable) Add(r Row) {
	cells := []string{fmt.Sprint(r.Number)}
	for _, name := range t.metrics {
		cell := "-"
		for _, m := range r.Metrics {
			if m.Name == name {
				cell = figures.Value(name, m.Value)
			}
		}
		cells = append(cells, cell)
	}
	wait := "-"
	if !math.IsNaN(r.Wait) {
		wait = fmt.Sprintf("%.0f%%", 100*r.Wait)
	}
	cells = append(cells, figures.Duration(r.Seconds)+"s", figures.Rate(r.Rate), wait, r.Members)
	text := t.row(t.shown(cells))
	if now := t.now(); !t.thins || telling(r.Number) || now.Sub(t.last) >= time.Second {
		t.held, t.last = "", now
		t.c.Printf("%s\n", text)
		return
	}
	t.held = text
}

// shown returns the cells of the columns that there is room for.
func (t *EpochTable) shown(cells []string) []string {
	shown := make([]string, len(t.columns))
	for i, col := range t.columns {
		shown[i] = cells[col.at]
	}
	return shown
}

// telling reports whether an epoch has a line however fast it was: the first ten, then every fifth up to fifty, every
// tenth up to a hundred, every fiftieth up to five hundred, and so on.
func telling(epoch int) bool {
	step := 1
	for most := 10; epoch > most; most *= 10 {
		if step = most / 2; epoch > 5*most {
			step = most
		}
	}
	return epoch%step == 0
}

// Sentence writes a sentence between the table's lines.
func (t *EpochTable) Sentence(text string) { t.c.Talk("%s", text) }

// End writes what was kept: the last epoch has a line in any case.
func (t *EpochTable) End() {
	if t.held != "" {
		t.c.Printf("%s\n", t.held)
		t.held = ""
	}
}

// Close leaves the screen so that the next output begins on a line of its own.
func (t *EpochTable) Close() {
	if t.words == "" {
		return
	}
	words := t.words
	if t.live.Release() {
		words = ""
	}
	t.words = ""
	t.c.Printf("%s\n", words)
}
