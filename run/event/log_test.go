package event

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
)

// TestLogGoesOn cuts the log in the middle of a line, as a crash does, and continues it.
func TestLogGoesOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := filepath.Join(folder, File)
	log, err := OpenLog(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if i == 2 {
			if _, err := os.Stat(name); err == nil {
				t.Error("there is a log before it has begun")
			}
			if err := log.Begin(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Append(Event{Kind: Epoch}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text[:len(text)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		goOn bool
		seq  uint64
		line int
	}{{true, 3, 3}, {false, 1, 1}} {
		log, err := OpenLog(folder, c.goOn)
		if err != nil {
			t.Fatal(err)
		}
		e, err := log.Append(Event{Kind: Resumed})
		if err != nil || e.Seq != c.seq {
			t.Errorf("continuing %v gives number %d, %v", c.goOn, e.Seq, err)
		}
		if err := log.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "\n"); err != nil || n != c.line {
			t.Errorf("continuing %v leaves %d lines, %v:\n%s", c.goOn, n, err, text)
		}
		for line := range strings.Lines(string(text)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("continuing %v leaves a line that is no JSON: %q", c.goOn, line)
			}
		}
		if _, err := log.Append(Event{}); bellows.KindOf(err) != bellows.IO {
			t.Errorf("a closed log gives %v", err)
		}
	}
}

// last returns the last line of a log.
func last(folder string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, File))
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return []byte(lines[len(lines)-1]), err
}
