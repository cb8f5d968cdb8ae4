package past

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bellows"
	"bellows/cli/internal/event"
	"bellows/cli/internal/run"
)

const (
	lineMost  = 64 << 20               // bytes of a line of a log
	lookEvery = 200 * time.Millisecond // for more of it
)

// reader reads the lines of a log, as far as it is written.
type reader struct {
	name   string // as errors name it
	folder string // of the run; "" where the log is a file of its own
	in     io.Reader
	file   *os.File // nil: standard input
	lines  *bufio.Reader
	part   []byte // of a line that has no end yet
	number int    // of the last line
	read   int64  // bytes of whole lines
}

// open opens the log of a run folder, a file with one, as `train --json` writes it, or "-", which is in.
func open(word string, in io.Reader) (*reader, error) {
	r := &reader{name: word}
	switch info, err := os.Stat(word); {
	case word == "-":
		r.name, r.in = "standard input", in
	case err == nil && info.IsDir():
		if _, err := run.Look(word); err != nil {
			return nil, err
		}
		r.folder, r.name = word, filepath.Join(word, event.File)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &bellows.Error{Kind: bellows.NoInput, Op: "read events of", Subject: word, Err: errors.New("there is no such folder or file"),
			Hint: "name the run folder that train printed, such as runs/mf-1"}
	case err != nil:
		return nil, bellows.Errorf(bellows.NoInput, "read events of", word, "%w", bellows.Pathless(err))
	}
	if r.in == nil {
		f, err := os.Open(r.name)
		if err != nil {
			return nil, bellows.Errorf(bellows.NoInput, "read events of", r.name, "%w", bellows.Pathless(err))
		}
		r.in, r.file = f, f
	}
	r.lines = bufio.NewReaderSize(r.in, 64<<10)
	return r, nil
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close() // it was read only
	}
}

// next is the next whole line; nil: there is none yet.
func (r *reader) next() ([]byte, error) {
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
			return nil, bellows.Errorf(bellows.BadData, "read events", r.place(r.number+1), "the line is longer than %d MiB: it is no event", lineMost>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, bellows.Errorf(bellows.IO, "read events of", r.name, "%w", bellows.Pathless(err))
		}
	}
}

// busy reports whether a process writes the log.
func (r *reader) busy() bool {
	if r.folder == "" {
		return false
	}
	p, err := run.Look(r.folder)
	return err == nil && p.Busy
}

// await returns when there may be more, and whether there may: the log's process is there, or was a moment ago.
func (r *reader) await(ctx context.Context, busy bool) (bool, error) {
	if !busy {
		return false, nil
	}
	select {
	case <-ctx.Done():
		return false, nil // as it is meant to end
	case <-time.After(lookEvery):
	}
	info, err := r.file.Stat()
	if err == nil && info.Size() < r.read {
		return false, bellows.Errorf(bellows.IO, "follow events of", r.name, "the run has begun anew").Hinted("follow it again")
	}
	return true, nil
}
