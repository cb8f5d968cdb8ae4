// Package spool keeps the output of a job in a file, and lets any number of readers follow it.
//
// The caller's duties, in order: New; Writer for each stream of a process of the job; Say for a line from the manager; End
// with the exit code. Follow reads the output on any goroutine, while it is written or after that. Close drops the output.
//
// The package refuses to delay or fail a job: a write never fails, and waits for no follower.
package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/figures"
)

// A Spool is the output of a job, in order, in a file without a name. A slow follower delays neither the job nor another
// follower.
//
// Invariant: a write by the job never fails. If the disk does not take the output, a sentence in its place states how much is lost and why. The exit code needs no disk (TestFullDiskLosesOnlyOutput).
//
// Rejected: keeping such output in memory, since a job may write any amount; and blocking the job until the disk has room.
//
// Lock: mu, of all below it. The file is appended to under it, and read without: bytes below size do not change.
type Spool struct {
	file *os.File // nil: the disk had no room for it

	mu     sync.Mutex
	size   int64
	lost   int64         // bytes that the disk did not take and that no notice in the file counts yet
	why    error         // the error of the last write; nil: it succeeded
	more   chan struct{} // closed when there is more, or the end
	exit   *int          // the job's exit code; nil: it has none yet
	ended  bool
	closed bool
	full   bool
	line   []byte // a line of standard output that is not complete yet; it is held back unless the output goes to a screen
	event  uint64 // number of the last event on standard output; math.MaxUint64: the job's last line was written
}

// spoolMost is how many bytes of output are kept; what comes after them is dropped, and that is said.
const spoolMost = 256 << 20

// New makes the file in a folder. A disk without room for it costs the output, and is no error.
func New(folder string) (*Spool, error) {
	f, err := os.CreateTemp(folder, ".output-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	s := &Spool{file: f, more: make(chan struct{})}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.file = nil
		return s, nil
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.CannotWrite, "make", "a file for the job's output", "%w", err)
	}
	return s, nil
}

// Dropped returns the spool of a job without output: it ended with the manager that kept it.
func Dropped() *Spool { return &Spool{closed: true, ended: true, more: make(chan struct{})} }

// append adds a frame.
func (s *Spool) append(f cluster.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ended || s.full {
		return
	}
	line := encoded(f)
	if s.size+int64(len(line)) > spoolMost {
		s.full = true
		line = encoded(cluster.Frame{Err: []byte("\nthe job's output after this is not kept: it is longer than 256 MiB\n")})
	}
	text := append(s.notice(), line...)
	if s.why = s.write(text); s.why != nil {
		s.lost += int64(len(f.Out) + len(f.Err))
		return
	}
	s.size, s.lost = s.size+int64(len(text)), 0
	s.changed()
}

// encoded returns a frame as a line.
func encoded(f cluster.Frame) []byte {
	line, err := json.Marshal(f)
	if err != nil {
		panic(err) // bytes and a number
	}
	return append(line, '\n')
}

// write writes at the end of the file.
func (s *Spool) write(text []byte) error {
	if s.file == nil {
		return syscall.ENOSPC
	}
	_, err := s.file.WriteAt(text, s.size)
	return err
}

// notice returns the frame that reports lost output which the file does not report yet; nil: none was lost. Its caller holds the lock.
func (s *Spool) notice() []byte {
	if s.lost == 0 {
		return nil
	}
	return encoded(cluster.Frame{Err: fmt.Appendf(nil, "\n%s of the job's output were lost here; the job itself continues: write output: %v; make room on the disk with the cluster's state folder\n",
		figures.Bytes(uint64(s.lost)), bellows.Pathless(s.why))})
}

// changed wakes the followers. Its caller holds the lock.
func (s *Spool) changed() {
	close(s.more)
	s.more = make(chan struct{})
}

// stream is one of the two streams of a job.
type stream struct {
	*Spool
	out   bool
	lines bool // it is passed on in whole lines
}

// Writer returns a writer to one of the streams. A screen gets all bytes at once. Otherwise the standard output is written
// in whole lines, so that a killed process leaves no part of a line.
func (s *Spool) Writer(out, screen bool) io.Writer { return stream{s, out, out && !screen} }

func (s stream) Write(b []byte) (int, error) {
	f := cluster.Frame{Err: b}
	if s.out {
		f = cluster.Frame{Out: b}
	}
	if s.lines {
		if f.Out = s.whole(b); f.Out == nil {
			return len(b), nil
		}
	}
	s.append(f)
	return len(b), nil
}

// lineMost is how long a line may be that is kept back.
const lineMost = 1 << 20

// whole adds b to the unfinished line, returns the lines that are complete now, and notes the last event among them.
func (s *Spool) whole(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = append(s.line, b...)
	at := bytes.LastIndexByte(s.line, '\n') + 1
	if at == 0 && len(s.line) < lineMost {
		return nil
	}
	if at == 0 {
		at = len(s.line)
	}
	lines := s.line[:at:at]
	s.line = bytes.Clone(s.line[at:])
	for line := range bytes.Lines(lines) {
		var e struct {
			Seq uint64 `json:"seq"`
		}
		switch {
		case bytes.HasPrefix(line, []byte(`{"seq":`)) && json.Unmarshal(line, &e) == nil:
			s.event = e.Seq
		case bytes.HasPrefix(line, []byte(`{"app":`)): // the job's last line
			s.event = math.MaxUint64
		}
	}
	return lines
}

// DropLine drops a line that a killed process has begun. The next process writes it again.
func (s *Spool) DropLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = nil
}

// rest passes on the unfinished last line of a process that has ended.
func (s *Spool) rest() {
	s.mu.Lock()
	line := s.line
	s.line = nil
	s.mu.Unlock()
	if len(line) > 0 {
		s.append(cluster.Frame{Out: line})
	}
}

// LastEvent returns the number of the last event on standard output, or math.MaxUint64 after the job's last line.
func (s *Spool) LastEvent() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event
}

// Say adds a line to the standard error.
func (s *Spool) Say(text string) { s.append(cluster.Frame{Err: []byte(text + "\n")}) }

// End adds the exit code. Later output is dropped.
func (s *Spool) End(code int) {
	s.rest()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit, s.ended = &code, true
	s.changed()
}

// Close drops the output.
func (s *Spool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed, s.ended = true, true
		s.changed()
		if s.file != nil {
			s.file.Close()
		}
	}
}

// pulseEvery is how often something is sent where nothing happens.
const pulseEvery = 5 * time.Second

// Follow writes all output from a byte offset up to the end. When its context ends it stops after a whole line.
func (s *Spool) Follow(ctx context.Context, from int64, write func([]byte) error) error {
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	buffer := make([]byte, 64<<10)
	for at, whole := from, true; ; {
		s.mu.Lock()
		size, more, ended, closed := s.size, s.more, s.ended, s.closed
		last := s.last(at)
		s.mu.Unlock()
		if at > size+int64(len(last)) {
			return bellows.Errorf(bellows.Usage, "read", "the job's output", "it has %d bytes, and is to be read from %d", size, from)
		}
		at = min(at, size) // the last frames are not in the file: a follower that connects again gets them once more
		if closed && (at == 0 || last == nil) {
			return bellows.Errorf(bellows.Unavailable, "read", "the job's output", "it is no longer kept")
		}
		dropped := false
		for at < size && !closed && !dropped {
			if err := ctx.Err(); err != nil && whole {
				return err
			}
			n, err := s.file.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
			if dropped = errors.Is(err, os.ErrClosed) && s.isClosed(); dropped {
				break
			}
			if n == 0 && err != nil {
				return bellows.Errorf(bellows.IO, "read", "the job's output", "%w", err)
			}
			if end := bytes.LastIndexByte(buffer[:n], '\n') + 1; end > 0 {
				n = end
			}
			whole = buffer[n-1] == '\n'
			if err := write(buffer[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		switch {
		case dropped: // dropped meanwhile: the next round returns the error
			continue
		case ended:
			return write(last)
		}
		select {
		case <-more:
		case <-ticker.C:
			if err := write([]byte("{}\n")); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Spool) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// last returns the final frames for a follower that has read up to a position; nil: the job has no exit code yet. Its caller holds the lock.
func (s *Spool) last(at int64) (frames []byte) {
	if s.exit == nil {
		return nil
	}
	if s.closed && at < s.size {
		frames = encoded(cluster.Frame{Err: []byte("\nthe rest of the job's output is no longer kept\n")})
	}
	return slices.Concat(frames, s.notice(), encoded(cluster.Frame{Exit: s.exit}))
}
