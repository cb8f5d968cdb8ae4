package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"bellows"
)

// File is the log's name in the folder of a run.
const File = "events.jsonl"

// Log is the file: one event a line, appended as it happens. One goroutine at a time uses it.
type Log struct {
	file *os.File
	seq  uint64
}

// OpenLog opens the log of a run's folder. To go on it keeps the whole lines that are there, and cuts off a last one
// that a crash left unfinished; else it starts an empty log.
func OpenLog(folder string, goOn bool) (*Log, error) {
	f, err := os.OpenFile(filepath.Join(folder, File), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	log := &Log{file: f}
	size := int64(0)
	if goOn {
		size, err = log.recount()
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return log, nil
}

// recount finds the last number in the log and the size of its whole lines.
func (l *Log) recount() (size int64, err error) {
	text, err := io.ReadAll(l.file)
	if err != nil {
		return 0, err
	}
	size = int64(bytes.LastIndexByte(text, '\n') + 1)
	for line := range bytes.Lines(text[:size]) {
		var e struct{ Seq uint64 }
		if json.Unmarshal(line, &e) == nil {
			l.seq = max(l.seq, e.Seq)
		}
	}
	return size, nil
}

// Append numbers, dates and stores an event, and returns it for showing. The event is good even if
// the disk refuses it, which is an error of kind IO.
func (l *Log) Append(e Event) (Event, error) {
	l.seq++
	e.Seq, e.Time = l.seq, time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return e, bellows.Errorf(bellows.Bug, "write event", string(e.Kind), "%w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return e, bellows.Errorf(bellows.IO, "write event to", l.file.Name(), "%w", err)
	}
	return e, nil
}

// Close closes the file. Closing twice is allowed.
func (l *Log) Close() error {
	err := l.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
