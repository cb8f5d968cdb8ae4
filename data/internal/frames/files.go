package frames

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Files hands out the parts of files. One goroutine sets the exported fields, calls Begin and Settle, and takes the
// parts in order with Next. Several goroutines read the parts.
//
// Invariant: a file is open while one of its parts is read. Lock: mu, for the users of files.
type Files struct {
	Ins    []source.Input
	Limits Limits
	Open   func(n int) (*source.Stream, error)
	Check  func(n, form int) error // refuses a file of a form, before it is read
	// gets the bytes of a file that its stream has not counted, when the file was handed out
	Done func(bytes int64)

	mu     sync.Mutex
	wanted Wanted
	source int // the current input
	file   *openFile
	stream *source.Stream // of the current file
	cols   []int          // the used columns of the file, in the order of wanted
	rows   int64          // rows of the file handed out
	ahead  []Chunk        // parts of the first file that were sampled but not handed out
}

// Wanted lists the used columns.
type Wanted struct {
	Keys   []string // of the first file
	Used   []bool   // one per key
	Label  int      // its position among the keys
	Strict bool     // every file has the same columns; only the label may be left out
}

// An openFile is a file that is being read. It is closed when it has no users and was handed out completely.
type openFile struct {
	File
	close func() error
	users int // workers that read it, plus one while it is handed out
}

// A Part is what a worker takes at a time.
type Part struct {
	Chunk
	Columns []int // the argument for Read
	Row     int64 // number of rows of the file before it
	file    *openFile
	of      *Files
}

// Close releases the part, and closes its file if that was the last user.
func (p *Part) Close() {
	p.Chunk.Close()
	p.of.leave(p.file)
}

// Close ends the handing out of parts.
func (f *Files) Close() { f.leave(f.file) }

// leave closes a file if this was its last user.
func (f *Files) leave(o *openFile) {
	if o == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.users--; o.users == 0 {
		_ = o.close() // nothing was written
	}
}

// open opens an input with the given stream.
func (f *Files) open(n int, s *source.Stream) error {
	if err := f.Check(n, FormOf(s.Head)); err != nil {
		s.Close()
		return err
	}
	file, end, err := Open(s, f.Limits)
	if err != nil {
		return err
	}
	f.file, f.stream = &openFile{File: file, close: end, users: 1}, s
	return nil
}

// Begin opens the first input. keys are the names of its columns; below has some of its rows as lines of CSV, at most
// the given number of bytes.
func (f *Files) Begin(head *source.Stream, most int) (keys []string, below []byte, err error) {
	if err := f.open(0, head); err != nil {
		return nil, nil, err
	}
	for _, c := range f.file.Columns() {
		keys = append(keys, c.Name)
	}
	if len(keys) == 0 {
		return nil, nil, &lines.Error{File: f.Ins[0].Shown(), What: "the file has no columns",
			How: "name a file with data, or leave it out"}
	}
	if below, f.ahead, err = Sample(f.file, most); err != nil {
		return nil, nil, Explain(f.Ins[0], err)
	}
	return keys, below, nil
}

// Settle sets the used columns.
func (f *Files) Settle(w Wanted) error {
	f.wanted = w
	return f.find(0)
}

// find finds the used columns in the file, which is input n.
func (f *Files) find(n int) error {
	f.source, f.rows, f.cols = n, 0, nil
	file, name, first := f.file.Columns(), f.Ins[n].Shown(), f.Ins[0].Shown()
	const same = "give every file the same columns, in any order"
	for k, key := range f.wanted.Keys {
		at := slices.IndexFunc(file, func(c Column) bool { return c.Name == key })
		switch {
		case !f.wanted.Used[k]:
			continue
		case at < 0:
			return &lines.Error{File: name, What: fmt.Sprintf("the column %s is missing, which %s has",
				lines.Quote([]byte(key)), first), How: same}
		case file[at].Odd != "":
			how := "leave it out with --ignore " + key
			if !lines.IsPlain(key) {
				how = fmt.Sprintf("leave it out with --ignore %d", at+1)
			}
			if !f.wanted.Strict || k == f.wanted.Label {
				how = "name another column"
			}
			return &lines.Error{File: name, What: fmt.Sprintf("the column %s %s, where numbers or text are wanted",
				lines.Quote([]byte(key)), file[at].Odd), How: how}
		}
		f.cols = append(f.cols, at)
	}
	if f.wanted.Strict {
		for _, c := range file {
			if !slices.Contains(f.wanted.Keys, c.Name) {
				return &lines.Error{File: name,
					What: fmt.Sprintf("%s has no column %s", first, lines.Quote([]byte(c.Name))), How: same}
			}
		}
	}
	return nil
}

// Next returns the next part, and io.EOF after the last one. After any other error, which belongs to the input at
// Source, there are no more parts.
func (f *Files) Next() (*Part, error) {
	for {
		chunk, err := f.nextOfFile()
		if err == nil {
			p := &Part{Chunk: chunk, Columns: f.cols, Row: f.rows, file: f.file, of: f}
			f.rows += int64(chunk.Rows())
			f.mu.Lock()
			defer f.mu.Unlock()
			f.file.users++
			return p, nil
		}
		if err != io.EOF {
			return nil, Explain(f.Ins[f.source], err)
		}
		f.leave(f.file)
		f.file = nil
		f.Done(max(0, f.Ins[f.source].Size-f.stream.Metered()))
		if f.source+1 == len(f.Ins) {
			return nil, io.EOF
		}
		f.source++
		if err := f.advanceTo(f.source); err != nil {
			return nil, err
		}
	}
}

// Source returns the input of the last part, or of the error of Next.
func (f *Files) Source() int { return f.source }

// advanceTo makes input n the current one.
func (f *Files) advanceTo(n int) error {
	s, err := f.Open(n)
	if err != nil {
		return err
	}
	if err := f.open(n, s); err != nil {
		return err
	}
	return f.find(n)
}

// nextOfFile returns the next part of the file.
func (f *Files) nextOfFile() (Chunk, error) {
	if len(f.ahead) > 0 {
		chunk := f.ahead[0]
		f.ahead = f.ahead[1:]
		return chunk, nil
	}
	return f.file.Next()
}
