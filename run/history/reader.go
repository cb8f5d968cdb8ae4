package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bellows"
	"bellows/run"
	"bellows/run/event"
)

const (
	lineMost  = 64 << 20               // bytes of a line of a log
	lookEvery = 200 * time.Millisecond // interval of looking for more lines
)

// A Reader reads the lines of a log, as far as it is written.
type Reader struct {
	Name   string // as errors name it
	Folder string // of the run; "" if the log is a separate file
	in     io.Reader
	file   *os.File // nil: standard input
	lines  *bufio.Reader
	part   []byte // of a line that has no end yet
	number int    // of the last line
	read   int64  // bytes of whole lines
}

// Open opens a log. word is a run folder, a file that has the output of `train --json`, or "-" to read from in. The
// caller closes the reader.
func Open(word string, in io.Reader) (*Reader, error) {
	r := &Reader{Name: word}
	switch info, err := os.Stat(word); {
	case word == "-":
		r.Name, r.in = "standard input", in
	case err == nil && info.IsDir():
		if _, err := run.Look(word); err != nil {
			return nil, err
		}
		r.Folder, r.Name = word, filepath.Join(word, event.File)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &bellows.Error{Kind: bellows.NoInput, Op: "read events of", Subject: word, Err: errors.New("there is no such folder or file"),
			Hint: "name the run folder that train printed, such as runs/mf-1"}
	case err != nil:
		return nil, bellows.Errorf(bellows.NoInput, "read events of", word, "%w", bellows.Pathless(err))
	}
	if r.in == nil {
		f, err := os.Open(r.Name)
		if err != nil {
			return nil, bellows.Errorf(bellows.NoInput, "read events of", r.Name, "%w", bellows.Pathless(err))
		}
		r.in, r.file = f, f
	}
	r.lines = bufio.NewReaderSize(r.in, 64<<10)
	return r, nil
}

// Close closes the file of the log.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close() // it was read only
	}
}

// Next returns the next whole line, or nil at the end of what is written.
func (r *Reader) Next() ([]byte, error) {
	for {
		some, err := r.lines.ReadSlice('\n')
		r.part = append(r.part, some...)
		switch {
		case err == nil:
			line := r.part
			r.part = nil
			r.number++
			r.read += int64(len(line))
			return line, nil
		case err == io.EOF:
			return nil, nil
		case len(r.part) > lineMost:
			return nil, bellows.Errorf(bellows.BadData, "read events", r.line(r.number+1), "the line is longer than %d MiB: it is no event", lineMost>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, bellows.Errorf(bellows.IO, "read events of", r.Name, "%w", bellows.Pathless(err))
		}
	}
}

// Busy reports whether a process writes the log.
func (r *Reader) Busy() bool {
	if r.Folder == "" {
		return false
	}
	p, err := run.Look(r.Folder)
	return err == nil && p.Busy
}

// Await waits a moment and reports whether there may be more lines. busy says whether a process was still writing the
// log before Next reached its end.
func (r *Reader) Await(ctx context.Context, busy bool) (bool, error) {
	if !busy {
		return false, nil
	}
	select {
	case <-ctx.Done():
		return false, nil // the caller wants no more
	case <-time.After(lookEvery):
	}
	info, err := r.file.Stat()
	if err == nil && info.Size() < r.read {
		return false, bellows.Errorf(bellows.IO, "follow events of", r.Name, "the run was started over").Hinted("call the command again")
	}
	return true, nil
}

// Partial reports whether the log ends in a part of a line.
func (r *Reader) Partial() bool { return len(r.part) > 0 }

// Number returns how many whole lines were read.
func (r *Reader) Number() int { return r.number }

// line names a line of the log.
func (r *Reader) line(number int) string { return fmt.Sprintf("%s:%d", r.Name, number) }

// BadLine returns the error of a line that is no event.
func (r *Reader) BadLine(number int, cause error) error {
	return &bellows.Error{Kind: bellows.BadData, Op: "read events", Subject: r.line(number), Err: cause, Hint: "copy the log again from where it came from"}
}

// Unproved returns the error of a log that proves nothing, with the line at which a Verifier saw that.
func (r *Reader) Unproved(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return &bellows.Error{Kind: bellows.BadData, Op: "verify", Subject: r.line(f.line), Err: f.cause}
	}
	return &bellows.Error{Kind: bellows.Refused, Op: "verify", Subject: r.Name, Err: err, Hint: "the application's driver must say which clocks make an epoch; package app/epochs does"}
}
