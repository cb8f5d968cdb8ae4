//go:build unix

package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/cli/internal/screen"
	"bellows/run"
	"bellows/run/event"
	"bellows/run/history"
	"bellows/run/history/historytest"
)

// look returns what a command prints for some words, and its error. in is its standard input.
func look(ctx context.Context, asJSON bool, in []byte, words ...string) (out, talk string, err error) {
	var o, e bytes.Buffer
	for _, cmd := range RunCommands(&screen.Console{In: bytes.NewReader(in), Out: &o, Err: &e, JSON: asJSON}, "runs/mf-1") {
		if cmd.Name() == words[0] {
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs(words[1:])
			err = cmd.ExecuteContext(ctx)
		}
	}
	return o.String(), e.String(), err
}

// ranIn returns a run folder with a log, and with what its processes have said.
func ranIn(t *testing.T, log, said []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"run.json": []byte(`{"format":"bellows run 1"}`), event.File: log, run.OutputFile: said} {
		if text == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// trains takes the lock of a run folder, as the process has that trains in it.
func trains(t *testing.T, dir string) (end func()) {
	t.Helper()
	d, err := os.Open(dir)
	if err == nil {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { d.Close() }
}

// TestEventsArePrinted: a sentence for each, but for what counts, or the events themselves, of a folder, a file or standard input.
func TestEventsArePrinted(t *testing.T) {
	t.Parallel()
	list := historytest.Events(2, event.Finished)
	for i := range list {
		list[i].Sentence = string(list[i].Kind) + "\n" + string(rune('a'+i)) + "\x1b"
	}
	lines := historytest.Lines(t, list)
	whole := slices.Concat(lines...)
	dir := ranIn(t, whole, nil)
	file := filepath.Join(dir, event.File)
	for word, in := range map[string][]byte{dir: nil, file: nil, "-": whole} {
		out, _, err := look(t.Context(), false, in, "events", word)
		rows := strings.Split(out, "\n")
		if err != nil || len(rows) != 6 || !strings.Contains(rows[0], "  started a") || strings.Contains(out, "visited") || strings.Contains(out, "\x1b") || !strings.Contains(rows[4], "  finished g") {
			t.Errorf("%s: %q, %v", word, out, err)
		}
		out, _, err = look(t.Context(), true, in, "events", word)
		if err != nil || strings.Count(out, "\n") != len(lines) || !strings.Contains(out, `"kind":"visited"`) {
			t.Errorf("%s as JSON: %s, %v", word, out, err)
		}
	}
}

// TestAProofIsPrinted, of a run that is over and of one that continues.
func TestAProofIsPrinted(t *testing.T) {
	t.Parallel()
	lines := historytest.Lines(t, historytest.Events(2, event.Finished))
	whole := slices.Concat(lines...)
	dir := ranIn(t, whole, nil)
	const proof = "proved: each of the 90 items of 2 splits that an epoch visits was visited once in each of 2 epochs: 180 visits count\n"
	if out, _, err := look(t.Context(), false, nil, "events", "--verify", dir); err != nil || out != proof+dir+": finished; the log is whole: 7 events\n" {
		t.Errorf("%s, %v", out, err)
	}
	if out, _, err := look(t.Context(), false, whole, "events", "--verify", "-"); err != nil || out != proof+"standard input: finished; the log is whole: 7 events\n" {
		t.Errorf("%s, %v", out, err)
	}
	var v history.Verified
	if out, _, err := look(t.Context(), true, nil, "events", "--verify", dir); err != nil || json.Unmarshal([]byte(out), &v) != nil || !v.Verified || v.Run != dir || v.Ended != "finished" || v.Proofs[0].Visited != 180 {
		t.Errorf("%s, %v", out, err)
	}
	going := ranIn(t, append(slices.Concat(lines[:6]...), '{'), nil)
	end := trains(t, going)
	if out, _, err := look(t.Context(), false, nil, "events", "--verify", going); err != nil || out != proof+going+" is still running; so far the log is complete: 6 events\n" {
		t.Errorf("one that goes on: %s, %v", out, err)
	}
	end()
	for _, c := range []struct {
		in   []byte
		want string
		kind bellows.Kind
	}{
		{append(slices.Concat(lines[:6]...), '{'), "read events standard input:7: the line is cut off; copy the log again", bellows.BadData},
		{slices.Concat(lines[:6]...), "verify standard input:6: the log ends here without the end of the run", bellows.BadData},
		{slices.Concat(lines[0], lines[2]), "verify standard input:2: ", bellows.BadData},
		{[]byte("no event\n"), "verify standard input:1: it is no event", bellows.BadData},
	} {
		if out, _, err := look(t.Context(), false, c.in, "events", "--verify", "-"); bellows.KindOf(err) != c.kind || !strings.HasPrefix(err.Error(), c.want) || out != "" {
			t.Errorf("%s%v, want %s", out, err, c.want)
		}
	}
	if _, _, err := look(t.Context(), false, []byte("no event\n"), "events", "-"); bellows.KindOf(err) != bellows.BadData || !strings.HasPrefix(err.Error(), "read events standard input:1: it is no event") {
		t.Errorf("no event: %v", err)
	}
}

// TestMissingLogIsReported with what to name instead.
func TestMissingLogIsReported(t *testing.T) {
	t.Parallel()
	dir := ranIn(t, nil, nil)
	for word, want := range map[string]string{
		filepath.Join(dir, "none"):          "there is no such folder or file; name the run folder that train printed",
		filepath.Join(dir, "run.json", "x"): "there is no such folder or file",
		t.TempDir():                         "there is no run.json in it",
		dir:                                 "no such file",
	} {
		if _, _, err := look(t.Context(), false, nil, "events", word); bellows.KindOf(err) != bellows.NoInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
	if _, _, err := look(t.Context(), false, nil, "events", "--follow", "-"); bellows.KindOf(err) != bellows.Usage {
		t.Errorf("followed: %v", err)
	}
}

// TestARunIsFollowed until its process has ended, or the user stops.
func TestARunIsFollowed(t *testing.T) {
	t.Parallel()
	lines := historytest.Lines(t, historytest.Events(2, event.Finished))
	dir := ranIn(t, slices.Concat(lines...), []byte("2026-01-02T03:04:05Z node-1 so\n"))
	for _, words := range [][]string{{"events", "--follow", dir}, {"logs", "--follow", dir}} {
		if out, _, err := look(t.Context(), false, nil, words...); err != nil || out == "" {
			t.Errorf("%v, which has ended: %s, %v", words, out, err)
		}
		end := trains(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out, _, err := look(ctx, false, nil, words...); err != nil || out == "" {
			t.Errorf("%v, and not for long: %s, %v", words, out, err)
		}
		end()
	}
}

// TestProcessOutputIsPrinted checks the last lines of each process, or of one.
func TestProcessOutputIsPrinted(t *testing.T) {
	t.Parallel()
	var text []byte
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 6 {
		text = append(at.Add(time.Duration(i)*time.Second).AppendFormat(text, time.RFC3339Nano), []byte(" node-"+string(rune('1'+i%2))+" word "+string(rune('a'+i))+"\n")...)
	}
	dir := ranIn(t, nil, append(text, "2026-01-02T03:04:59Z node-1 half"...))
	words := func(out string) (list string) {
		for row := range strings.Lines(out) {
			list += row[len("2026-01-02 03:04:05  "):]
		}
		return list
	}
	for flags, want := range map[string]string{
		"":                         "node-1  word a\nnode-2  word b\nnode-1  word c\nnode-2  word d\nnode-1  word e\nnode-2  word f\n",
		"--lines 2":                "node-1  word c\nnode-2  word d\nnode-1  word e\nnode-2  word f\n",
		"--node 2 --lines 1":       "node-2  word f\n",
		"--node 1":                 "node-1  word a\nnode-1  word c\nnode-1  word e\n",
		"--lines 1048576 --node 2": "node-2  word b\nnode-2  word d\nnode-2  word f\n",
	} {
		if out, talk, err := look(t.Context(), false, nil, append([]string{"logs", dir}, strings.Fields(flags)...)...); err != nil || words(out) != want || talk != "" {
			t.Errorf("%s: %s%s%v, want %s", flags, out, talk, err, want)
		}
	}
	var s history.Line
	if out, _, err := look(t.Context(), true, nil, "logs", dir, "--node", "2", "--lines", "1"); err != nil || json.Unmarshal([]byte(out), &s) != nil || s != (history.Line{Time: at.Add(5 * time.Second), Node: "node-2", Text: "word f"}) {
		t.Errorf("%s, %v", out, err)
	}
	for flags, who := range map[string]string{"": "a process", "--node 3": "node-3"} {
		if out, talk, err := look(t.Context(), false, nil, append([]string{"logs", ranIn(t, nil, nil)}, strings.Fields(flags)...)...); err != nil || out != "" || !strings.Contains(talk, "keeps no output of "+who) {
			t.Errorf("nothing is kept: %s%s%v", out, talk, err)
		}
	}
	for _, flags := range []string{"--lines 0", "--lines 1048577", "--node -1", "--node 65536"} {
		if _, _, err := look(t.Context(), false, nil, append([]string{"logs", dir}, strings.Fields(flags)...)...); bellows.KindOf(err) != bellows.Usage {
			t.Errorf("%s: %v", flags, err)
		}
	}
	if _, _, err := look(t.Context(), false, nil, "logs", ranIn(t, nil, []byte("2026-01-02T03:04:05Z node-1 a\nso it goes\n"))); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "output.log:2: it does not begin with a time and a node") {
		t.Errorf("no line of a process: %v", err)
	}
	if _, _, err := look(t.Context(), false, nil, "logs", t.TempDir()); bellows.KindOf(err) != bellows.NoInput {
		t.Errorf("no run: %v", err)
	}
}
