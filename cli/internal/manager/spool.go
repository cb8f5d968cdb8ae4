package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"bellows"
	"bellows/cli/internal/cluster"
)

// spool is what a job writes, in order, kept in a file without a name, for whoever follows it: a watcher that is slow, or gone, holds nobody up.
//
// Lock: mu, of all below it. The file is appended to under it, and read without: bytes below size do not change.
type spool struct {
	file *os.File

	mu     sync.Mutex
	size   int64
	more   chan struct{} // closed when there is more, or the end
	ended  bool
	closed bool
	full   bool
	line   []byte // of the standard output, that has no end yet; it is kept back where no screen shows it
	event  uint64 // the last that was written there; the largest number: the last line was
}

// spoolMost is how many bytes of output are kept; what comes behind is dropped, and that is said.
const spoolMost = 256 << 20

func newSpool(folder string) (*spool, error) {
	f, err := os.CreateTemp(folder, ".output-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.CannotWrite, "make", "a file for the job's output", "%w", err)
	}
	return &spool{file: f, more: make(chan struct{})}, nil
}

func (s *spool) append(f cluster.Frame) error {
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ended || s.full && f.Exit == nil {
		return nil
	}
	if s.size+int64(len(line)) > spoolMost && f.Exit == nil {
		s.full = true
		if line, err = json.Marshal(cluster.Frame{Err: []byte("\nwhat the job wrote behind this is not kept: it is too long\n")}); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(append(line, '\n'), s.size); err != nil {
		return err
	}
	s.size += int64(len(line)) + 1
	s.ended = f.Exit != nil
	close(s.more)
	s.more = make(chan struct{})
	return nil
}

// stream is one of the two streams of a job.
type stream struct {
	*spool
	out   bool
	lines bool // it is passed on in whole lines
}

// writer is a stream. On a screen all is shown at once; else the standard output comes in whole lines, so that none is told in part whose writer is killed.
func (s *spool) writer(out, screen bool) io.Writer { return stream{s, out, out && !screen} }

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
	if err := s.append(f); err != nil {
		return 0, err
	}
	return len(b), nil
}

// lineMost is how long a line may be that is kept back.
const lineMost = 1 << 20

// whole are the lines that have ended with b, and takes note of the last event among them.
func (s *spool) whole(b []byte) []byte {
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
		case bytes.HasPrefix(line, []byte(`{"app":`)): // the last
			s.event = math.MaxUint64
		}
	}
	return lines
}

// tear drops a line that a process has begun which was killed: the next one tells it.
func (s *spool) tear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = nil
}

// rest passes on a line that has not ended, as of a process that has.
func (s *spool) rest() {
	s.mu.Lock()
	line := s.line
	s.line = nil
	s.mu.Unlock()
	if len(line) > 0 {
		_ = s.append(cluster.Frame{Out: line}) // on a full disk nobody hears it
	}
}

// shown is the last event that was written.
func (s *spool) shown() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event
}

// say adds a line of talk.
func (s *spool) say(text string) { _ = s.append(cluster.Frame{Err: []byte(text + "\n")}) } // on a full disk nobody hears it

// end adds the exit code, behind which nothing comes.
func (s *spool) end(code int) {
	s.rest()
	if s.append(cluster.Frame{Exit: &code}) != nil {
		s.close()
	}
}

// close drops the output.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed, s.ended = true, true
		close(s.more)
		s.more = make(chan struct{})
		s.file.Close()
	}
}

// pulseEvery is how often something is sent where nothing happens.
const pulseEvery = 5 * time.Second

// follow writes all that there is and comes, up to the end.
func (s *spool) follow(ctx context.Context, write func([]byte) error) error {
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	buffer := make([]byte, 64<<10)
	for at := int64(0); ; {
		s.mu.Lock()
		size, more, ended, closed := s.size, s.more, s.ended, s.closed
		s.mu.Unlock()
		if closed {
			return bellows.Errorf(bellows.Unavailable, "read", "the job's output", "it is not kept any more")
		}
		for at < size {
			n, err := s.file.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
			if n == 0 && err != nil {
				return bellows.Errorf(bellows.IO, "read", "the job's output", "%w", err)
			}
			if err := write(buffer[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		if ended {
			return nil
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
