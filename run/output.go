package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bellows"
)

// OutputFile is what the processes of a run say on their standard error, a line each, behind its time and its node. It is there where
// one has said something.
const OutputFile = "output.log"

// Bounds of what is kept.
const (
	outputMost     = 1 << 20 // bytes of the file; then the older half goes
	outputLineMost = 4 << 10 // bytes of a line; what is longer is cut into several
)

// Output stores the output of processes. Until the run begins it is kept in memory, and nothing is written. Output that
// cannot be written is dropped: it is no reason to end a run.
//
// Lock: mu, taken with no other held. Each process has a separate writer, which one goroutine uses, and the run begins
// on another.
type Output struct {
	mu   sync.Mutex
	name string   // of the file, once the run has begun; "": it has not
	file *os.File // nil: nothing was written yet
	kept []byte   // the last lines: what the file has, or is to have
	over bool
	// Name names a node, given as "node-1"; nil: that is its name.
	Name func(string) string
	held func() error // Folder.CheckHeld; nil: the folder is not checked
}

// WriterOf returns the writer for a process's output.
func (o *Output) WriterOf(n bellows.NodeID) io.Writer { return &voice{output: o, node: n} }

// begin writes the earlier output, and later output from now on. Output of an earlier attempt stays if the run resumes.
func (o *Output) begin(dir string, goesOn bool, held func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = held
	o.name = filepath.Join(dir, OutputFile)
	old, err := os.ReadFile(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case goesOn:
		early := o.kept
		o.kept = nil
		o.keep(old)
		o.keep(early)
	default:
		if err := os.Remove(o.name); err != nil {
			return err
		}
	}
	if len(o.kept) > 0 {
		o.rewrite()
	}
	return nil
}

// keep adds lines, and forgets the older half of too many. It reports whether it has.
func (o *Output) keep(lines []byte) (cut bool) {
	o.kept = append(o.kept, lines...)
	if len(o.kept) <= outputMost {
		return false
	}
	from := len(o.kept) - outputMost/2
	if end := bytes.IndexByte(o.kept[from:], '\n'); end >= 0 {
		from += end + 1
	}
	o.kept = append(o.kept[:0], o.kept[from:]...)
	return true
}

// rewrite makes the file what is kept.
func (o *Output) rewrite() {
	var err error
	if o.file == nil {
		if o.held != nil && o.held() != nil {
			return
		}
		if o.file, err = os.OpenFile(o.name, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
			return
		}
	}
	if o.file.Truncate(0) == nil {
		_, _ = o.file.WriteAt(o.kept, 0)
	}
}

// line adds one line.
func (o *Output) line(n bellows.NodeID, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := fmt.Sprintf("node-%d", n)
	if o.Name != nil {
		name = o.Name(name)
	}
	line := fmt.Appendf(nil, "%s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), name, text)
	cut := o.keep(line)
	switch {
	case o.name == "" || o.over:
	case o.file == nil || cut:
		o.rewrite()
	default:
		_, _ = o.file.WriteAt(line, int64(len(o.kept)-len(line)))
	}
}

// close ends the file. Closing twice is allowed.
func (o *Output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over = true; o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	return err
}

// voice is one process.
type voice struct {
	output *Output
	node   bellows.NodeID
	part   []byte // of a line without its end
}

// Write takes all, always.
func (v *voice) Write(b []byte) (int, error) {
	v.part = append(v.part, b...)
	for {
		end := bytes.IndexByte(v.part, '\n')
		next := end + 1
		if end < 0 || end > outputLineMost {
			if len(v.part) < outputLineMost {
				return len(b), nil
			}
			end, next = outputLineMost, outputLineMost
		}
		v.output.line(v.node, v.part[:end])
		v.part = v.part[next:]
	}
}
