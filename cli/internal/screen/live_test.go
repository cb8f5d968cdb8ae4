package screen

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellows/progress"
)

// stand is a live line whose time and terminal belong to the test.
type stand struct {
	*Live
	meter    *progress.Meter
	out, err *bytes.Buffer
	at       time.Time
}

// newStand uses one terminal for both streams if terminal is set, else two files.
func newStand(t *testing.T, terminal bool, width int) *stand {
	s := &stand{meter: progress.New(t.Context()), out: &bytes.Buffer{}, err: &bytes.Buffer{}, at: time.Unix(1, 0)}
	if terminal {
		s.err = s.out
	}
	c := &Console{Out: s.out, Err: s.err}
	s.Live = NewLive(c, s.meter)
	s.moves, s.clears, s.width, s.now = terminal, terminal, func() int { return width }, func() time.Time { return s.at }
	s.quiet = s.at
	c.live.Store(s.Live)
	return s
}

// after lets time pass, and the line be written if it is time.
func (s *stand) after(d time.Duration) {
	s.at = s.at.Add(d)
	s.show()
}

// screen returns what a terminal shows of all that was written to it, and the line that has no end yet.
func screen(text string) (lines []string, last string) {
	for _, r := range strings.ReplaceAll(text, "\x1b[K", "\x00") {
		switch r {
		case '\n':
			lines, last = append(lines, last), ""
		case '\r', '\x00':
			last = "" // the line is only ever written again from its beginning
		default:
			last += string(r)
		}
	}
	return lines, last
}

// TestTheLiveLine follows a part: its share, its rate and the time that is left.
func TestTheLiveLine(t *testing.T) {
	t.Parallel()
	s := newStand(t, true, 80)
	s.after(liveInterval)
	if s.out.Len() > 0 {
		t.Errorf("%q before there is work", s.out)
	}
	s.meter.Begin(progress.Part{Doing: "reading ratings.tsv", Unit: "bytes", Total: 100 << 20})
	s.Turn("Ctrl-C stops")
	for _, c := range []struct {
		pass time.Duration
		add  int64
		want string
	}{
		{liveInterval, 0, "reading ratings.tsv  0 %  Ctrl-C stops"},
		{liveInterval, 1 << 20, "reading ratings.tsv  1 %  Ctrl-C stops"}, // too early for a rate
		{900 * time.Millisecond, 19 << 20, "reading ratings.tsv  20 %  4 s left  20.0 MiB/s  Ctrl-C stops"},
		{time.Second, 79 << 20, "reading ratings.tsv  99 %  1 s left  49.5 MiB/s  Ctrl-C stops"},
		{time.Second, 5 << 20, "reading ratings.tsv  100 %  34.7 MiB/s  Ctrl-C stops"}, // more than was announced
	} {
		if err := s.meter.Add(c.add); err != nil {
			t.Fatal(err)
		}
		s.after(c.pass)
		if _, last := screen(s.out.String()); last != c.want {
			t.Errorf("%q, not %q", last, c.want)
		}
	}
	s.meter.Begin(progress.Part{Doing: "epoch 2 of 80", Unit: "ratings", Total: 4e6})
	s.Turn("Ctrl-C saves and stops")
	s.Outlook("78 s for all")
	s.after(0)
	_ = s.meter.Add(1e6)
	s.after(time.Second)
	if _, last := screen(s.out.String()); last != "epoch 2 of 80  25 %  3 s left  1.0M ratings/s  78 s for all" {
		t.Errorf("%q", last)
	}
	s.meter.Begin(progress.Part{Doing: "reading stdin", Unit: "bytes"})
	s.Turn("")
	s.after(0)
	_ = s.meter.Add(3 << 30)
	s.after(2 * time.Second)
	if _, last := screen(s.out.String()); last != "reading stdin  3.0 GiB  1.5 GiB/s" {
		t.Errorf("%q", last)
	}
}

// TestTheLiveLineFits: on no terminal a line is as wide as that, and what says least goes first.
func TestTheLiveLineFits(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		200: "a title: reading ratings-of-a-long-name.tsv  50 %  1 s left  2.0 MiB/s  Ctrl-C stops", 80: "a title: reading ratings-of-a-long-name.tsv  50 %  1 s left  2.0 MiB/s",
		40: "a title: reading ratings-of-a-long-nam…", 12: "reading ra…",
	} {
		s := newStand(t, true, width)
		s.Hold("a title: ")
		s.meter.Begin(progress.Part{Doing: "reading ratings-of-a-long-name.tsv", Unit: "bytes", Total: 4 << 20})
		s.Turn("Ctrl-C stops")
		s.after(0)
		_ = s.meter.Add(2 << 20)
		s.after(time.Second)
		_, last := screen(s.out.String())
		if last != want || utf8.RuneCountInString(last) >= width {
			t.Errorf("at %d: %q, not %q", width, last, want)
		}
	}
}

// TestLiveLineIsNotInOtherOutput writes lines of all kinds during a live line on the same terminal.
func TestLiveLineIsNotInOtherOutput(t *testing.T) {
	t.Parallel()
	s := newStand(t, true, 80)
	table := NewEpochTable(s.c, s.Live, ratingsApp, 80)
	table.Begin("a title: ")
	if _, last := screen(s.out.String()); last != "a title: " {
		t.Errorf("the first words are %q", last)
	}
	s.meter.Begin(progress.Part{Doing: "reading"})
	s.after(time.Second)
	if _, last := screen(s.out.String()); last != "a title: reading" {
		t.Errorf("then %q", last)
	}
	s.c.Talk("stopping")
	s.after(time.Second)
	table.Headline("rest", "here")
	s.after(time.Second)
	table.Add(epochOf(ratingsApp, 1, 0.5))
	s.after(time.Second)
	table.Sentence("something happened")
	s.after(time.Second)
	if err := s.c.Object("nothing"); err != nil {
		t.Fatal(err)
	}
	s.stop = make(chan struct{})
	s.Stop()
	lines, last := screen(s.out.String())
	want := []string{"stopping", "a title: rest", "here · train and test: RMSE", "epoch    train     test     time   ratings/s  wait   members",
		"    1   0.5000   0.5000    12.3s        2.2M    1%     2w 1s", "something happened"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") || last != "" {
		t.Errorf("the terminal shows\n%s\n%q", strings.Join(lines, "\n"), last)
	}
}

// TestWordsWithoutAnEnd lets a command fail while it reads: its headline stays on a separate line, on a terminal and
// elsewhere.
func TestWordsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{false, true} {
		for _, told := range []bool{false, true} {
			s := newStand(t, terminal, 80)
			table := NewEpochTable(s.c, s.Live, ratingsApp, 0)
			table.Begin("a title: ")
			if told {
				s.meter.Begin(progress.Part{Doing: "reading"})
				s.after(time.Minute)
			}
			table.Close()
			table.Close()
			lines, last := screen(s.out.String())
			if lines[len(lines)-1] != "a title: " || last != "" {
				t.Errorf("%v, %v: %q, %q", terminal, told, lines, last)
			}
		}
	}
}

// TestPlainLinesAreSparse checks plain lines: one after two seconds of silence, and then ever fewer. Other output ends
// the silence, and a new stage is shown sooner again.
func TestPlainLinesAreSparse(t *testing.T) {
	t.Parallel()
	s := newStand(t, false, 0)
	table := NewEpochTable(s.c, s.Live, ratingsApp, 0)
	table.Begin("a title: ")
	s.meter.Begin(progress.Part{Doing: "reading ratings.tsv", Unit: "bytes", Total: 1 << 30})
	var at []int
	second := 0
	pass := func(until int) {
		for ; second < until; second++ {
			before := s.err.Len()
			s.after(time.Second)
			if s.err.Len() > before {
				at = append(at, second+1)
			}
		}
	}
	pass(160)
	s.c.Printf("a line\n") // silence begins anew
	pass(200)
	s.Turn("")
	pass(204)
	want := []int{2, 6, 14, 30, 62, 122, 201}
	if len(at) != len(want) {
		t.Fatalf("lines after %v seconds, not %v", at, want)
	}
	for i := range at {
		if at[i] != want[i] {
			t.Errorf("lines after %v seconds, not %v", at, want)
		}
	}
	if text := s.err.String(); strings.ContainsAny(text, "\r\x1b") || !strings.HasPrefix(text, "reading ratings.tsv  0 %\n") {
		t.Errorf("plain lines are %q", text)
	}
	table.Headline("rest", "here")
	if text := s.out.String(); !strings.HasPrefix(text, "a title: \na line\na title: rest\nhere") {
		t.Errorf("the table is %q", text)
	}
}

// TestDumbTerminalsGetNoCommands: a terminal that obeys nothing is written to as a file is.
func TestDumbTerminalsGetNoCommands(t *testing.T) {
	for name, capable := range map[string]bool{"dumb": false, "xterm": true} {
		t.Setenv("TERM", name)
		if Obeys() != capable {
			t.Errorf("%s: %v", name, Obeys())
		}
	}
}

// stuck is a standard output without a reader.
type stuck struct{ asked, read chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	s.asked <- struct{}{}
	<-s.read
	return len(p), nil
}

// TestTalkWaitsForNoReader: while standard output takes nothing, standard error does.
func TestTalkWaitsForNoReader(t *testing.T) {
	t.Parallel()
	s := newStand(t, false, 0)
	out := stuck{make(chan struct{}), make(chan struct{})}
	s.c.Out = out
	done := make(chan struct{})
	go func() {
		s.c.Printf("a line\n")
		close(done)
	}()
	<-out.asked
	s.c.Talk("stopping")
	s.meter.Begin(progress.Part{Doing: "reading"})
	s.after(time.Minute)
	if got := s.err.String(); got != "stopping\nreading\n" {
		t.Errorf("%q", got)
	}
	close(out.read)
	<-done
}

// TestWithin: what all parts are parts of stands before each, of whatever stage.
func TestWithin(t *testing.T) {
	t.Parallel()
	s := newStand(t, true, 80)
	s.Within("fold 2 of 5: ")
	for _, part := range []string{"epoch 3", "scoring"} {
		s.meter.Begin(progress.Part{Doing: part})
		s.Turn("")
		s.after(liveInterval)
		if _, last := screen(s.out.String()); last != "fold 2 of 5: "+part {
			t.Errorf("%q", last)
		}
	}
}

// TestRemoteTerminalIsUsed lets a command write for a terminal on another machine.
func TestRemoteTerminalIsUsed(t *testing.T) {
	c := &Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	for _, far := range []*Terminal{{40, true, true}, {50, false, true}, {60, true, false}} {
		c.Remote = far
		columns := 0
		if far.Out {
			columns = far.Columns
		}
		if l := NewLive(c, nil); l.moves != far.Err || l.clears != far.Out || l.width() != far.Columns || c.Width() != columns {
			t.Errorf("%+v: it moves: %v, clears: %v, %d and %d columns", far, l.moves, l.clears, l.width(), c.Width())
		}
	}
	if c.Remote = nil; c.Terminal() != nil {
		t.Error("a buffer is a terminal")
	}
}
