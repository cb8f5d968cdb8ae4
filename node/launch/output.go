package launch

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"bellows"
)

// first is the first line of a process's standard output; what follows is dropped, so that a process that says more than
// it should is never held up by a full pipe. One goroutine writes to it, os/exec's.
type first struct {
	seen []byte
	line chan []byte
	done bool
}

func (w *first) Write(b []byte) (int, error) {
	if !w.done {
		w.seen = append(w.seen, b...)
		if i := bytes.IndexByte(w.seen, '\n'); i >= 0 {
			w.line <- w.seen[:i]
			w.done = true
		}
	}
	return len(b), nil
}

// tail is the end of a process's standard error: the reason for its death, if it dies. os/exec's goroutine writes it,
// and the maker of a sentence reads it. A tail of a process that writes much forgets the beginning. It is not shown in
// full, because a job has one screen, which node 0 uses.
type tail struct {
	all  io.Writer  // gets all of it; nil: nothing does
	mu   sync.Mutex // of text, and of writing to all: notes come while the process still writes
	text []byte
}

// tailMost is how much of it is kept, in bytes, and shown, in lines.
const (
	tailMost  = 16 << 10
	tailLines = 8
)

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all != nil {
		_, _ = w.all.Write(b) // what cannot be kept is no reason to hold a process up
	}
	w.text = append(w.text, b...)
	if n := len(w.text) - tailMost; n > 0 {
		w.text = append(w.text[:0], w.text[n:]...)
	}
	return len(b), nil
}

// note adds what is known of the process's end to what it said itself.
func (w *tail) note(line string) {
	if _, err := w.Write([]byte(line + "\n")); err != nil {
		panic(err) // it never fails
	}
}

// lastLines introduces the last lines of a process, each on a line.
const lastLines = "; its last lines:"

// Sentence returns the message of an error in one line, without the last lines of a process that has ended.
func Sentence(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(s, lastLines)
}

// last returns the last lines, as the end of a sentence. Control bytes are made visible.
func (w *tail) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	lines = lines[max(0, len(lines)-tailLines):]
	for i := range lines {
		lines[i] = bellows.Printable(lines[i], tailMost)
	}
	return lastLines + "\n  " + strings.Join(lines, "\n  ")
}
