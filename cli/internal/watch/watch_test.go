package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellows"
	"bellows/api"
	"bellows/cli/internal/screen"
	"bellows/core/tally"
	"bellows/link/transport/sock"
	"bellows/run/board"
)

var update = flag.Bool("update", false, "write the golden screens")

// moment returns a job of two nodes after so many seconds.
func moment(seconds int) api.Status {
	s := time.Duration(seconds) * time.Second
	var one tally.Tally
	one.Spent = tally.Spent{tally.Compute: s, tally.PullWait: s / 2, tally.Idle: s / 2}
	if seconds > 10 { // from then on it only computes
		one.Spent = tally.Spent{tally.Compute: 10*time.Second + 2*(s-10*time.Second), tally.PullWait: 5 * time.Second, tally.Idle: 5 * time.Second}
	}
	one.Sent[tally.Pushes] = tally.Flow{Frames: int64(seconds), Bytes: int64(seconds) << 20}
	one.Received[tally.Rows] = tally.Flow{Frames: int64(seconds), Bytes: int64(seconds) << 10}
	one.Received[tally.Control] = tally.Flow{Frames: 1, Bytes: 100}
	one.Staleness[0], one.Staleness[15] = 90, 10
	lead := api.Node{ID: "node-0", PID: 4711, Roles: []string{"controller"}, Tier: api.Reliable, State: api.Running,
		Counters: api.Count(&tally.Tally{}), Sent: api.Traffic(&tally.Traffic{})}
	worker := api.Node{ID: "node-1", PID: 4712, Roles: []string{"worker", "server"}, Tier: api.Reliable, State: api.Running, Slots: 2, Splits: 8,
		Partitions: 3, Heard: 3.4, Counters: api.Count(&one), Sent: api.Traffic(&one.Sent)}
	away := api.Node{ID: "node-2", Roles: []string{"server"}, State: api.Joining, Heard: -1, Counters: api.Count(&tally.Tally{})}
	return api.Status{Job: "mf-1", App: "mf", State: api.Running, PID: 4711, Model: "runs/mf-1", Elapsed: float64(seconds), Epoch: 4,
		Metrics: map[string]float64{"train_rmse": 0.5, "test_rmse": 0.75},
		Progress: api.Progress{Clock: 39, Furthest: 40, Commit: 81, Splits: 8, Seconds: float64(seconds) - 1, Counters: api.Count(&one),
			Nodes: []api.Node{lead, worker, away}},
		Events: []json.RawMessage{
			json.RawMessage(`{"seq":7,"time":"2026-01-02T03:04:05Z","kind":"waiting","sentence":"node 1 is\u001b[2Jsilent\nfor 3.4 s"}`),
			json.RawMessage(`not JSON`)}}
}

// TestScreens wants what people see as it is stored: a status, and what top shows between two of them.
func TestScreens(t *testing.T) {
	t.Parallel()
	early, late := moment(10), moment(20)
	fresh := api.Status{Job: "mlr-2", App: "mlr", State: api.Starting, PID: 1, Model: "runs/mlr-2", Metrics: map[string]float64{},
		Progress: api.Progress{Clock: -1, Furthest: -1, Counters: api.Count(&tally.Tally{}), Nodes: []api.Node{}}}
	late.Plan = &api.Plan{Reason: "3 workers and 2 servers are wanted, there are 1 and 1", Steps: 3, Of: 16, Bytes: 3 << 20, All: 12 << 20, Seconds: 2.5, Rate: 1 << 20}
	late.Moves = []api.Move{{What: "partition 3 of user_factors", From: "node-1", To: "node-2", Bytes: 1 << 20, Copied: 1 << 18, Rate: 1 << 19, Seconds: 1.5}, {What: "split 4", From: "node-1", To: "node-2", Seconds: 0.5},
		{What: "partition 0 of item_factors", From: "node-1", To: "node-2", Bytes: 3 << 20, Seconds: 0.5}}
	for i := range 8 {
		late.Moves = append(late.Moves, api.Move{What: fmt.Sprintf("split %d", 8+i), From: "node-1", To: "node-3"})
	}
	for name, lines := range map[string][]string{
		"status": render(&early, nil, 0), "between": render(&late, &early, 0), "starting": render(&fresh, nil, 0),
		"lines": {brief(&early), brief(&fresh), pulse(&early, nil), pulse(&late, &early), pulse(&late, &late)},
	} {
		got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  `).ReplaceAllString(strings.Join(lines, "\n")+"\n", "hh:mm:ss  ") // zones differ
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is\n%snot\n%s", name, got, want)
		}
	}
}

func TestScreenFitsTheTerminal(t *testing.T) {
	t.Parallel()
	late := moment(20)
	for width, want := range map[int]string{
		200: "node process roles state slots splits partitions compute pull push commit idle sent received",
		80:  "node state compute pull push commit idle sent received", 40: "node state compute sent received",
	} {
		lines := render(&late, nil, width)
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "node ") })
		if got := strings.Join(strings.Fields(lines[at]), " "); got != want {
			t.Errorf("at %d there are %q, not %q", width, got, want)
		}
		for _, line := range lines[at : at+3] {
			if width > 40 && utf8.RuneCountInString(line) > width {
				t.Errorf("wider than %d: %q", width, line)
			}
		}
	}
	got := page([]string{"épochs", "two", "three"}, 3, 3)
	if want := "\x1b[Hépo\x1b[K\r\ntwo\x1b[K\r\n\x1b[J"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func progress(context.Context) (api.Progress, error) { return moment(10).Progress, nil }

// posted returns a board that can be read below a state folder, until the test ends.
func posted(t *testing.T, state, name string, look func(context.Context) (api.Progress, error)) *board.Board {
	t.Helper()
	b := board.New(api.Status{Job: name, App: "mf", PID: os.Getpid(), Model: "runs/" + name, Started: time.Now()}, 100, look)
	p, err := b.Post("bellows", state, "", func(format string, args ...any) { t.Errorf(format, args...) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	t.Cleanup(b.Close)
	return b
}

// shown returns what a command writes.
func shown(t *testing.T, asJSON bool, run func(watcher) error) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(watcher{Console: &screen.Console{Out: &out, JSON: asJSON}})
	return out.String(), err
}

func TestABoardIsRead(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	b := posted(t, state, "mf-1", progress)
	if err := b.Event(map[string]any{"seq": 1, "sentence": "it begins"}); err != nil {
		t.Fatal(err)
	}
	b.Epoch(7, map[string]float64{"test_rmse": 0.9})
	text, err := shown(t, true, func(c watcher) error { return c.status(t.Context(), state, "") })
	var s api.Status
	if err != nil || json.Unmarshal([]byte(text), &s) != nil {
		t.Fatalf("%q, %v", text, err)
	}
	if s.Job != "mf-1" || s.State != api.Starting || s.Epoch != 7 || s.Metrics["test_rmse"] != 0.9 || s.Seconds != 109 || s.Commit != 81 ||
		len(s.Nodes) != 3 || len(s.Events) != 1 || s.Elapsed <= 0 {
		t.Errorf("%+v", s)
	}
	b.End(api.Interrupted)
	for _, word := range []string{"mf-1", fmt.Sprint(os.Getpid()), fmt.Sprintf("mf-1.%d", os.Getpid())} {
		text, err := shown(t, false, func(c watcher) error { return c.status(t.Context(), state, word) })
		if err != nil || !strings.HasPrefix(text, "mf-1 · mf · interrupted, ") || !strings.Contains(text, "  it begins\n") {
			t.Errorf("%s: %q, %v", word, text, err)
		}
	}
	if err := b.Event(make(chan int)); err == nil {
		t.Error("an event that JSON cannot hold was taken")
	}
}

// noProcess is a number that no process has: beyond what Linux and others give out.
const noProcess = 1<<30 - 1

// leave makes a socket as a process that was killed leaves it.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLeftoversOfDeadProcessesAreRemoved, and similar files are not.
func TestLeftoversOfDeadProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	posted(t, state, "mf-1", progress)
	in := func(name string) string { return filepath.Join(state, "jobs", name) }
	dead, young, file := in(fmt.Sprint("mf-2.", noProcess)), in(fmt.Sprint("mf-3.", os.Getpid())), in("mf-4.77")
	leave(t, dead)
	leave(t, young)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := shown(t, false, func(c watcher) error { return c.status(t.Context(), state, "") })
	if err != nil || !strings.HasPrefix(text, "mf-1 · mf · ") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Lstat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead one's socket is still there: %v", err)
	}
	for _, path := range []string{young, file} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	_, err = board.Ask(t.Context(), state, "mf-3")
	want := fmt.Sprintf("find job mf-3: it is not running; these jobs run: mf-1.%d", os.Getpid())
	if bellows.KindOf(err) != bellows.Unavailable || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}

// TestAJobThatCannotAnswer checks that such a job is named, and does not hide the others.
func TestAJobThatCannotAnswer(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	posted(t, state, "good", progress)
	posted(t, state, "stuck", func(context.Context) (api.Progress, error) {
		return api.Progress{}, errors.New("its controller does not answer")
	})
	text, err := shown(t, false, func(c watcher) error { return c.status(t.Context(), state, "") })
	want := fmt.Sprintf("ask job stuck (process %d): its controller does not answer", os.Getpid())
	if bellows.KindOf(err) != bellows.Unavailable || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[0], "good.") || lines[1] != want {
		t.Errorf("%q", text)
	}
}

// ends is an output that takes the job away after some lines.
type ends struct {
	bytes.Buffer
	after int
	end   func()
}

func (e *ends) Write(b []byte) (int, error) {
	if e.after--; e.after == 0 {
		e.end()
	}
	return e.Buffer.Write(b)
}

// TestTopEndsWithTheJob and shows it until then.
func TestTopEndsWithTheJob(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for _, asJSON := range []bool{false, true} {
		b := board.New(api.Status{Job: "mf-1", PID: 7, Started: time.Now()}, 0, progress)
		p, err := b.Post("bellows", state, "", t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		out := &ends{after: 3, end: func() { b.Close(); p.Close() }}
		run := top{watcher: watcher{Console: &screen.Console{Out: out, JSON: asJSON}}, state: state, interval: time.Millisecond}
		if err := run.run(t.Context(), "mf-1"); err != nil {
			t.Errorf("JSON %v: %v", asJSON, err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		last := fmt.Sprintf("mf-1 (process %d) has ended", os.Getpid())
		if asJSON && len(lines) != 3 || !asJSON && (len(lines) != 4 || lines[3] != last) {
			t.Errorf("JSON %v: %q", asJSON, lines)
		}
	}
}

// TestTopAsksAgainAfterReset aborts three answers in a row before the job's socket is closed.
func TestTopAsksAgainAfterReset(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	l, err := sock.ListenLocal(filepath.Join(state, "jobs", fmt.Sprint("mf-1.", os.Getpid())))
	if err != nil {
		t.Fatal(err)
	}
	s := api.NewServer(nil)
	ended, asked := make(chan error, 1), 0
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; { // by one caller, one question after the other
		case asked < 3:
			json.NewEncoder(w).Encode(api.Status{Job: "mf-1", State: api.Running})
			return
		case asked == 5:
			l.Close()
		}
		panic(http.ErrAbortHandler)
	})
	go func() { ended <- s.Serve(l) }()
	var out strings.Builder
	run := top{watcher: watcher{Console: &screen.Console{Out: &out}}, state: state, interval: time.Millisecond}
	if err := run.run(t.Context(), "mf-1"); err != nil || !strings.HasSuffix(out.String(), " has ended\n") {
		t.Errorf("%v after %q", err, out.String())
	}
	s.Close()
	<-ended
}

// TestTopEndsWhenItsUserHasEnough.
func TestTopEndsWhenItsUserHasEnough(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	posted(t, state, "mf-1", progress)
	ctx, cancel := context.WithCancel(t.Context())
	out := &ends{after: 2, end: cancel}
	run := top{watcher: watcher{Console: &screen.Console{Out: out}}, state: state, interval: time.Millisecond}
	if err := run.run(ctx, ""); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// TestAnswersOfStrangers: what is no status is an error.
func TestAnswersOfStrangers(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	l, err := sock.ListenLocal(filepath.Join(state, "jobs", fmt.Sprint("odd.", os.Getpid())))
	if err != nil {
		t.Fatal(err)
	}
	s := api.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	_, err = shown(t, false, func(c watcher) error { return c.status(t.Context(), state, "odd") })
	if bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "ask job odd") {
		t.Errorf("error %v", err)
	}
	s.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
