package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bellows"
	"bellows/policy/advise"
)

// File is the log's name in the folder of a run.
const File = "events.jsonl"

// Log is the file: one event a line, appended as it happens. Until Begin the file is left as it is, and events are kept: a run
// that never begins leaves nothing. One goroutine at a time uses it.
type Log struct {
	name  string
	file  *os.File // nil until Begin
	kept  int64    // bytes of the file that stay
	early []byte   // lines from before Begin
	last  Event    // of the file when it was opened
	// advice is what its last event with any remembers about shapes.
	advice json.RawMessage
	chain  Chain
}

// OpenLog opens the log of a run's folder. To resume it keeps the complete lines, and cuts off a last one that a crash
// left unfinished; otherwise it starts an empty log.
func OpenLog(folder string, goOn bool) (*Log, error) {
	l := &Log{name: filepath.Join(folder, File)}
	if !goOn {
		return l, nil
	}
	f, err := os.Open(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l.kept, err = l.recount(f)
	return l, err
}

// Told is the content of a log about the resumed attempt.
type Told struct {
	Record  uint64            // the last record up to which visits were reported; 0: none
	Counted uint64            // that of the last event that has anything
	Epoch   *Event            // the last that has ended; nil: none has
	Unseen  []json.RawMessage // the events behind one
}

// Replay returns the content of a log that was opened to continue: of the last attempt stated, and all after the event
// of a number.
func (l *Log) Replay(seen uint64) (t Told, err error) {
	text, err := os.ReadFile(l.name)
	if err != nil {
		return t, err
	}
	for line := range bytes.Lines(text[:min(l.kept, int64(len(text)))]) {
		e := &Event{}
		if err := json.Unmarshal(line, e); err != nil {
			return t, bellows.Errorf(bellows.BadData, "read", l.name, "event after %d: %w", t.Record, err)
		}
		switch {
		case e.Kind == Stated:
			t.Record, t.Counted, t.Epoch = 0, 0, nil
		case e.Kind == Visited && e.Visits != nil:
			if t.Record = e.Records[1]; len(e.Visits.Visits) > 0 {
				t.Counted = t.Record
			}
		case e.Kind == Epoch:
			t.Epoch = e
		}
		if e.Seq > seen {
			t.Unseen = append(t.Unseen, bytes.TrimSpace(bytes.Clone(line)))
		}
	}
	return t, nil
}

// Begin starts to write, with what was appended before.
func (l *Log) Begin() error {
	f, err := os.OpenFile(l.name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	l.file = f
	if err = f.Truncate(l.kept); err == nil {
		_, err = f.Seek(l.kept, io.SeekStart)
	}
	if err == nil {
		_, err = f.Write(l.early)
	}
	l.early = nil
	return err
}

// recount finds the last number in the log and the size of its whole lines.
func (l *Log) recount(r io.Reader) (size int64, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	size = int64(bytes.LastIndexByte(text, '\n') + 1)
	for line := range bytes.Lines(text[:size]) {
		var e struct {
			Seq    uint64
			Digest string
			Advice json.RawMessage
		}
		if json.Unmarshal(line, &e) == nil {
			l.chain.seq, l.chain.digest = max(l.chain.seq, e.Seq), e.Digest
			if e.Advice != nil {
				l.advice = e.Advice
			}
		}
	}
	if lines := bytes.TrimRight(text[:size], "\n"); len(lines) > 0 {
		last := Event{}
		if json.Unmarshal(lines[bytes.LastIndexByte(lines, '\n')+1:], &last) == nil {
			l.last = last
		}
	}
	return size, nil
}

// Advice returns what a log that was opened to continue remembers about shapes; nothing where it cannot be read: then
// shapes are tried anew.
func (l *Log) Advice() (s advise.State) {
	if json.Unmarshal(l.advice, &s) != nil {
		return advise.State{}
	}
	return s
}

// Last returns the last event of a log that was opened to continue; zero: none.
func (l *Log) Last() Event { return l.last }

// Append numbers, dates, seals and stores an event, and returns it for showing. The event is good even if
// the disk refuses it, which is an error of kind IO.
func (l *Log) Append(e Event) (Event, error) {
	e, line, err := l.chain.Link(e, time.Now().UTC())
	if err != nil {
		return e, err
	}
	if l.file == nil {
		l.early = append(append(l.early, line...), '\n')
		return e, nil
	}
	err = l.checkPlace()
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		return e, bellows.Errorf(bellows.IO, "write event to", l.name, "%w", err)
	}
	return e, nil
}

// checkPlace returns an error if the file is no longer the log of its folder: no reader would find what is written to it.
func (l *Log) checkPlace() error {
	mine, err := l.file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(l.name); err != nil || !os.SameFile(mine, there) {
		return errors.New("it was removed or replaced during the run; no later event is kept")
	}
	return nil
}

// Close closes the file. Closing twice is allowed.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
