package screen

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bellows/app"
	"bellows/cli/internal/figures"
	"bellows/train"
)

// EpochTable is the table of a training run. The table goes to standard output, line by line as it
// comes about; where standard error is a terminal, a live line on it tells that work goes on.
type EpochTable struct {
	mu      sync.Mutex
	c       *Console
	columns []column
	metrics []string
	partial bool // the headline has begun and not ended
	live    bool
	shown   bool // the live line is on the screen
	clears  bool // standard output is a terminal too, so that the live line must go before a line
	stop    chan struct{}
	stopped sync.WaitGroup
	began   time.Time
	epoch   int
}

// column is one column of the table; all are right-aligned.
type column struct {
	title string
	width int
}

// NewEpochTable is the table of an application that describes itself so.
func NewEpochTable(c *Console, d app.Description) *EpochTable {
	t := &EpochTable{c: c, metrics: d.Metrics, live: terminal(c.Err), clears: terminal(c.Out)}
	t.columns = append(t.columns, column{"epoch", 5})
	for _, title := range metricColumns(d.Metrics) {
		t.columns = append(t.columns, column{title, max(9, 3+utf8.RuneCountInString(title))})
	}
	t.columns = append(t.columns, column{"time", 9}, column{d.Unit + "/s", 5 + len(d.Unit)}, column{"wait", 6}, column{"members", 10})
	return t
}

// metricColumns are the titles of metrics: "train" and "test" alone where all are of one sort.
func metricColumns(names []string) []string {
	sorts := map[string]bool{}
	var short, long []string
	for _, name := range names {
		part, sort, ok := strings.Cut(name, "_")
		if !ok {
			part, sort = name, name
		}
		sorts[sort] = true
		short, long = append(short, part), append(long, figures.Metric(name))
	}
	if len(sorts) == 1 {
		return short
	}
	return long
}

// Begin writes the first words of the headline, before anything has been read.
func (t *EpochTable) Begin(words string) {
	t.c.Printf("%s", words)
	t.partial = !t.c.JSON
}

// Headline ends the first line and writes the second and the titles.
func (t *EpochTable) Headline(rest, place string) {
	t.partial = false
	t.c.Printf("%s\n%s\n", rest, place)
	titles := make([]string, len(t.columns))
	for i, col := range t.columns {
		titles[i] = col.title
	}
	t.c.Printf("%s\n", t.row(titles))
}

// row aligns cells under the titles.
func (t *EpochTable) row(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := t.columns[i].width - utf8.RuneCountInString(cell)
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

// Add writes the line of an epoch.
func (t *EpochTable) Add(r Row) {
	cells := []string{fmt.Sprint(r.Number)}
	for _, name := range t.metrics {
		cell := "-"
		for _, m := range r.Metrics {
			if m.Name == name {
				cell = fmt.Sprintf("%.4f", m.Value)
			}
		}
		cells = append(cells, cell)
	}
	wait := "-"
	if !math.IsNaN(r.Wait) {
		wait = fmt.Sprintf("%.0f%%", 100*r.Wait)
	}
	cells = append(cells, figures.Duration(r.Seconds)+"s", figures.Rate(r.Rate), wait, r.Members)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch = r.Number
	t.clear()
	t.c.Printf("%s\n", t.row(cells))
}

// Sentence writes a sentence between the table's lines.
func (t *EpochTable) Sentence(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	t.c.Talk("%s", text)
}

// clear takes the live line away. The caller holds mu.
func (t *EpochTable) clear() {
	if t.shown && t.clears {
		io.WriteString(t.c.Err, "\r\x1b[K")
		t.shown = false
	}
}

// liveInterval is how often the live line changes.
const liveInterval = 100 * time.Millisecond

// Start begins the live line, where there is one.
func (t *EpochTable) Start() {
	if !t.live {
		return
	}
	t.began, t.stop = time.Now(), make(chan struct{})
	t.stopped.Go(func() {
		tick := time.NewTicker(liveInterval)
		defer tick.Stop()
		for {
			select {
			case <-t.stop:
				return
			case <-tick.C:
				t.show()
			}
		}
	})
}

func (t *EpochTable) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.c.Err, "\r\x1b[K%5d  running for %.1f s; Ctrl-C saves and stops", t.epoch+1, time.Since(t.began).Seconds())
	t.shown = true
}

// End stops the live line.
func (t *EpochTable) End() {
	if t.stop == nil {
		return
	}
	close(t.stop)
	t.stopped.Wait()
	t.stop = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown {
		io.WriteString(t.c.Err, "\r\x1b[K")
		t.shown = false
	}
}

// Close leaves the screen so that what follows begins on a line of its own.
func (t *EpochTable) Close() {
	t.End()
	if t.partial {
		t.c.Printf("\n")
		t.partial = false
	}
}
