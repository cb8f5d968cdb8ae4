package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"bellows"
)

// Event is one thing that happened. Screen, --json and events.jsonl show the same sentence.
type Event struct {
	Seq      uint64 // counted from 1 within a run
	Time     time.Time
	Kind     string // "started", "epoch", "interrupted", ...
	Node     string // "node-0"
	Sentence string
	Fields   map[string]any // the kind's own; names other than the five above
}

// MarshalJSON writes the event as one flat object: seq, time, kind, node and sentence, then the
// kind's own fields by name.
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	put := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("event field %s: %w", name, err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, text)
		return nil
	}
	err := errors.Join(put("seq", e.Seq), put("time", e.Time), put("kind", e.Kind), put("node", e.Node), put("sentence", e.Sentence))
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		err = errors.Join(err, put(name, e.Fields[name]))
	}
	b.WriteByte('}')
	return b.Bytes(), err
}

// Log is events.jsonl: one event a line, appended as it happens. One goroutine at a time uses it.
type Log struct {
	file *os.File
	seq  uint64
}

// openLog opens the log. To go on it keeps the whole lines that are there, and cuts off a last one
// that a crash left unfinished; else it starts an empty log.
func openLog(name string, goOn bool) (*Log, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
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
		return e, bellows.Errorf(bellows.Bug, "write event", e.Kind, "%w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return e, bellows.Errorf(bellows.IO, "write event to", l.file.Name(), "%w", err)
	}
	return e, nil
}

func (l *Log) close() error {
	err := l.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
