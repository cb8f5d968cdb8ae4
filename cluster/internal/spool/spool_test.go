package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/cluster"
)

// followed returns what a follower of a job's output sees, and its exit code; -1: none.
func followed(t *testing.T, s *Spool) (shown string, code int) {
	t.Helper()
	var text []byte
	if err := s.Follow(t.Context(), 0, func(b []byte) error { text = append(text, b...); return nil }); err != nil {
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
		s := &Spool{more: make(chan struct{})}
		w := s.Writer(true, false)
		for i, room := range c.room {
			if s.file = full; room {
				s.file = file
			}
			line := []byte("line " + string(rune('0'+i)) + "\n")
			if n, err := w.Write(line); n != len(line) || err != nil {
				t.Errorf("%s: the write returns %d, %v", name, n, err)
			}
		}
		s.End(3)
		if shown, code := followed(t, s); shown != c.want || code != 3 {
			t.Errorf("%s: shown is %q with %d, want %q", name, shown, code, c.want)
		}
		s.Close()
		if err := full.Close(); err != nil && s.file != full {
			t.Error(err)
		}
		file.Close()
	}
}

// TestFollowDroppedOutput drops the output of a job while a follower reads it. The follower sees that the rest is missing, and gets the exit code. A new follower is refused.
func TestFollowDroppedOutput(t *testing.T) {
	t.Parallel()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Say("one")
	var text []byte
	err = s.Follow(t.Context(), 0, func(b []byte) error {
		if text == nil {
			s.Say("two")
			s.End(4)
			s.Close()
		}
		text = append(text, b...)
		return nil
	})
	if want := string(encoded(cluster.Frame{Err: []byte("one\n")})) + string(encoded(cluster.Frame{Err: []byte("\nthe rest of the job's output is no longer kept\n")})) + `{"exit":4}` + "\n"; err != nil || string(text) != want {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
	if err := s.Follow(t.Context(), 0, func([]byte) error { return nil }); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a new follower: %v", err)
	}
}

// TestOutputWithoutFile follows a job without an output file: the disk had no room for one.
func TestOutputWithoutFile(t *testing.T) {
	t.Parallel()
	s := &Spool{more: make(chan struct{})}
	s.Say("begun")
	s.End(0)
	if shown, code := followed(t, s); shown != "\n6 bytes of the job's output were lost here; the job itself continues: write output: no space left on device; make room on the disk with the cluster's state folder\n" || code != 0 {
		t.Errorf("%q, %d", shown, code)
	}
	s.Close()
}

// TestSpoolIgnoresPartialLines: the standard output comes in whole lines where no screen shows it, what a killed process has begun is dropped, and the last event is known.
func TestSpoolIgnoresPartialLines(t *testing.T) {
	t.Parallel()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := s.Writer(true, false)
	for _, text := range []string{"{\"seq\":", "4,\"kind\":\"epoch\"}\n{\"seq\":5}\n{\"se", "q\":6"} {
		if n, err := io.WriteString(out, text); n != len(text) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if s.LastEvent() != 5 {
		t.Errorf("event %d is the last", s.LastEvent())
	}
	s.DropLine()
	fmt.Fprint(out, "{\"seq\":6}\n{\"app\":")
	if s.LastEvent() != 6 {
		t.Errorf("event %d is the last", s.LastEvent())
	}
	s.DropLine()
	fmt.Fprint(out, "{\"app\":\"mf\"}\nthe end")
	if s.LastEvent() != math.MaxUint64 {
		t.Errorf("after the last line event %d is the last", s.LastEvent())
	}
	s.End(0)
	var told []byte
	if err := s.Follow(t.Context(), 0, func(more []byte) error {
		for line := range bytes.Lines(more) {
			var f cluster.Frame
			if err := json.Unmarshal(line, &f); err != nil {
				return err
			}
			told = append(told, f.Out...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "{\"seq\":4,\"kind\":\"epoch\"}\n{\"seq\":5}\n{\"seq\":6}\n{\"app\":\"mf\"}\nthe end"; string(told) != want {
		t.Errorf("%s, want %s", told, want)
	}
}

// TestOutputIsKeptInOrder, is bounded, and followed from its beginning to its end.
func TestOutputIsKeptInOrder(t *testing.T) {
	t.Parallel()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		var b []byte
		if err := s.Follow(t.Context(), 0, func(more []byte) error { b = append(b, more...); return nil }); err != nil {
			t.Error(err)
		}
		got <- b
	}()
	out, talk := s.Writer(true, false), s.Writer(false, true)
	for i := range 100 {
		fmt.Fprintf(out, "line %d\n", i)
		fmt.Fprintf(talk, "talk %d\n", i)
	}
	s.End(3)
	fmt.Fprintf(out, "behind the end\n")
	n := 0
	for line := range bytes.Lines(<-got) {
		var f cluster.Frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		want := cluster.Frame{Out: fmt.Appendf(nil, "line %d\n", n/2)}
		if n%2 == 1 {
			want = cluster.Frame{Err: fmt.Appendf(nil, "talk %d\n", n/2)}
		}
		if n < 200 && (!bytes.Equal(f.Out, want.Out) || !bytes.Equal(f.Err, want.Err)) || n == 200 && (f.Exit == nil || *f.Exit != 3) {
			t.Fatalf("frame %d is %s", n, line)
		}
		n++
	}
	if n != 201 {
		t.Errorf("%d frames", n)
	}
	s.Close()
	if err := s.Follow(t.Context(), 0, func([]byte) error { return nil }); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("behind its end: %v", err)
	}
}

// TestUnreadableOutputIsReported to its followers.
func TestUnreadableOutputIsReported(t *testing.T) {
	t.Parallel()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Say("so")
	if err := s.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Follow(context.Background(), 0, func([]byte) error { return nil }); bellows.KindOf(err) != bellows.IO {
		t.Errorf("it is followed: %v", err)
	}
}
