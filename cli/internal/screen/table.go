package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bellows/app"
	"bellows/cmd/bellows/internal/figures"
	"bellows/train"
)

// screen is the table of a training run. The table goes to standard output, line by line as it
// comes about; where standard error is a terminal, a live line on it tells that work goes on.
type screen struct {
	mu      sync.Mutex
	c       *console
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

func newScreen(c *console, d app.Description) *screen {
	s := &screen{c: c, metrics: d.Metrics, live: terminal(c.err), clears: terminal(c.out)}
	s.columns = append(s.columns, column{"epoch", 5})
	for _, title := range metricColumns(d.Metrics) {
		s.columns = append(s.columns, column{title, max(9, 3+utf8.RuneCountInString(title))})
	}
	s.columns = append(s.columns, column{"time", 9}, column{d.Unit + "/s", 5 + len(d.Unit)}, column{"wait", 6}, column{"members", 10})
	return s
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

// begin writes the first words of the headline, before anything has been read.
func (s *screen) begin(words string) {
	s.c.printf("%s", words)
	s.partial = !s.c.json
}

// headline ends the first line and writes the second and the titles.
func (s *screen) headline(rest, place string) {
	s.partial = false
	s.c.printf("%s\n%s\n", rest, place)
	titles := make([]string, len(s.columns))
	for i, col := range s.columns {
		titles[i] = col.title
	}
	s.c.printf("%s\n", s.row(titles))
}

// row aligns cells under the titles.
func (s *screen) row(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := s.columns[i].width - utf8.RuneCountInString(cell)
		b.WriteString(strings.Repeat(" ", max(0, pad)) + cell)
	}
	return b.String()
}

// progress is what the table shows of one epoch.
type progress struct {
	train.Epoch
	seconds float64 // of training, since the start
	rate    float64 // items a second in this epoch
	wait    float64 // share of the slots' time
	members string
}

// add writes the line of an epoch.
func (s *screen) add(p progress) {
	cells := []string{fmt.Sprint(p.Number)}
	for _, name := range s.metrics {
		cell := "-"
		for _, m := range p.Metrics {
			if m.Name == name {
				cell = fmt.Sprintf("%.4f", m.Value)
			}
		}
		cells = append(cells, cell)
	}
	wait := "-"
	if !math.IsNaN(p.wait) {
		wait = fmt.Sprintf("%.0f%%", 100*p.wait)
	}
	cells = append(cells, figures.Duration(p.seconds)+"s", figures.Rate(p.rate), wait, p.members)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = p.Number
	s.clear()
	s.c.printf("%s\n", s.row(cells))
}

// sentence writes a sentence between the table's lines.
func (s *screen) sentence(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.c.talk("%s", text)
}

// clear takes the live line away. The caller holds mu.
func (s *screen) clear() {
	if s.shown && s.clears {
		io.WriteString(s.c.err, "\r\x1b[K")
		s.shown = false
	}
}

// liveInterval is how often the live line changes.
const liveInterval = 100 * time.Millisecond

// start begins the live line, where there is one.
func (s *screen) start() {
	if !s.live {
		return
	}
	s.began, s.stop = time.Now(), make(chan struct{})
	s.stopped.Go(func() {
		tick := time.NewTicker(liveInterval)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				s.show()
			}
		}
	})
}

func (s *screen) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.c.err, "\r\x1b[K%5d  running for %.1f s; Ctrl-C saves and stops", s.epoch+1, time.Since(s.began).Seconds())
	s.shown = true
}

// end stops the live line.
func (s *screen) end() {
	if s.stop == nil {
		return
	}
	close(s.stop)
	s.stopped.Wait()
	s.stop = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		io.WriteString(s.c.err, "\r\x1b[K")
		s.shown = false
	}
}

// close leaves the screen so that what follows begins on a line of its own.
func (s *screen) close() {
	s.end()
	if s.partial {
		s.c.printf("\n")
		s.partial = false
	}
}
