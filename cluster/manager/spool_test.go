package manager

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/cluster"
)

// followed returns what a follower of a job's output sees, and its exit code; -1: none.
func followed(t *testing.T, s *spool) (shown string, code int) {
	t.Helper()
	var text []byte
	if err := s.follow(t.Context(), func(b []byte) error { text = append(text, b...); return nil }); err != nil {
		t.Fatal(err)
	}
	code = -1
	for line := range bytes.Lines(text) {
		var f cluster.Frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		shown += string(f.Out) + string(f.Err)
		if f.Exit != nil {
			code = *f.Exit
		}
	}
	return shown, code
}

// TestFullDiskLosesOnlyOutput fills the disk during some writes. The job sees no error; its follower sees at each gap how much is missing and why, and gets the exit code.
func TestFullDiskLosesOnlyOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		room []bool // whether the disk has room for each line
		want string
	}{
		"always":          {[]bool{true, true, true}, "line 0\nline 1\nline 2\n"},
		"not in the mid":  {[]bool{true, false, true}, "line 0\n\n7 bytes of the job's output were lost here; the job itself continues: write output: bad file descriptor; make room on the disk with the cluster's state folder\nline 2\n"},
		"not at the end":  {[]bool{true, false, false}, "line 0\n\n14 bytes of the job's output were lost here; the job itself continues: write output: bad file descriptor; make room on the disk with the cluster's state folder\n"},
		"never":           {[]bool{false, false, false}, "\n21 bytes of the job's output were lost here; the job itself continues: write output: bad file descriptor; make room on the disk with the cluster's state folder\n"},
		"again and again": {[]bool{false, true, false}, "\n7 bytes of the job's output were lost here; the job itself continues: write output: bad file descriptor; make room on the disk with the cluster's state folder\nline 1\n\n7 bytes of the job's output were lost here; the job itself continues: write output: bad file descriptor; make room on the disk with the cluster's state folder\n"},
	} {
		path := filepath.Join(t.TempDir(), "output")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		full, err := os.Open(path) // which takes nothing
		if err != nil {
			t.Fatal(err)
		}
		s := &spool{more: make(chan struct{})}
		w := s.writer(true, false)
		for i, room := range c.room {
			if s.file = full; room {
				s.file = file
			}
			line := []byte("line " + string(rune('0'+i)) + "\n")
			if n, err := w.Write(line); n != len(line) || err != nil {
				t.Errorf("%s: the write returns %d, %v", name, n, err)
			}
		}
		s.end(3)
		if shown, code := followed(t, s); shown != c.want || code != 3 {
			t.Errorf("%s: shown is %q with %d, want %q", name, shown, code, c.want)
		}
		s.close()
		if err := full.Close(); err != nil && s.file != full {
			t.Error(err)
		}
		file.Close()
	}
}

// TestFollowDroppedOutput drops the output of a job while a follower reads it. The follower sees that the rest is missing, and gets the exit code. A new follower is refused.
func TestFollowDroppedOutput(t *testing.T) {
	t.Parallel()
	s, err := newSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.say("one")
	var text []byte
	err = s.follow(t.Context(), func(b []byte) error {
		if text == nil {
			s.say("two")
			s.end(4)
			s.close()
		}
		text = append(text, b...)
		return nil
	})
	if want := string(encoded(cluster.Frame{Err: []byte("one\n")})) + string(encoded(cluster.Frame{Err: []byte("\nthe rest of the job's output is no longer kept\n")})) + `{"exit":4}` + "\n"; err != nil || string(text) != want {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
	if err := s.follow(t.Context(), func([]byte) error { return nil }); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a new follower: %v", err)
	}
}

// TestOutputWithoutFile follows a job without an output file: the disk had no room for one.
func TestOutputWithoutFile(t *testing.T) {
	t.Parallel()
	s := &spool{more: make(chan struct{})}
	s.say("begun")
	s.end(0)
	if shown, code := followed(t, s); shown != "\n6 bytes of the job's output were lost here; the job itself continues: write output: no space left on device; make room on the disk with the cluster's state folder\n" || code != 0 {
		t.Errorf("%q, %d", shown, code)
	}
	s.close()
}
