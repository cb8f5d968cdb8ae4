package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bellows"
)

// said returns the lines of a run's file, without their times.
func said(t *testing.T, dir string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, OutputFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, rest, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !found {
			t.Fatalf("%q has no time", line)
		}
		lines = append(lines, rest)
	}
	return lines
}

// TestProcessOutputIsKept from before the run begins, in whole lines, each after its node. A resumed run keeps it,
// another run does not.
func TestProcessOutputIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, c := range []struct {
		goesOn bool
		want   string
	}{{false, "node-1 early 0|node-2 late 0"}, {true, "node-1 early 0|node-2 late 0|node-1 early 1|node-2 late 1"}, {false, "node-1 early 2|node-2 late 2"}} {
		o := &Output{}
		one, two := o.WriterOf(1), o.WriterOf(2)
		fmt.Fprintf(one, "early %d\nha", i)
		if i == 0 {
			if _, err := os.Stat(filepath.Join(dir, OutputFile)); err == nil {
				t.Error("there is a file before the run has begun")
			}
		}
		if err := o.begin(dir, c.goesOn, nil); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(two, "late %d\n", i)
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(one, "lf a line\n") // after the end of the run
		if got := strings.Join(said(t, dir), "|"); got != c.want {
			t.Errorf("%d: %q, not %q", i, got, c.want)
		}
	}
	quiet := t.TempDir()
	o := &Output{}
	if err := o.begin(quiet, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(quiet); err != nil || len(left) > 0 {
		t.Errorf("without output there is %v, %v", left, err)
	}
}

// TestOutputIsBounded: processes say a hundred times what may be kept, all at once; what is left is the last whole lines.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := &Output{}
	if err := o.begin(dir, false, nil); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			w := o.WriterOf(bellows.NodeID(n))
			for i := range 4000 {
				fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("x", 1000))
			}
			fmt.Fprint(w, strings.Repeat("y", 3*outputLineMost), "\n")
		})
	}
	all.Wait()
	for n := range 4 {
		fmt.Fprintln(o.WriterOf(bellows.NodeID(n)), "last")
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, OutputFile))
	if err != nil || info.Size() > outputMost || info.Size() < outputMost/4 {
		t.Errorf("%d bytes are left, %v", info.Size(), err)
	}
	last := map[string]int{}
	for _, line := range said(t, dir) {
		node, text, _ := strings.Cut(line, " ")
		last[text]++
		if !strings.HasPrefix(node, "node-") || len(text) > outputLineMost || text != "last" && len(text) < 1000 {
			if len(bytes.TrimLeft([]byte(text), "y")) > 0 {
				t.Fatalf("%.80q is no line that was said", line)
			}
		}
	}
	if last["last"] != 4 {
		t.Errorf("%d of 4 last lines are left", last["last"])
	}
}
