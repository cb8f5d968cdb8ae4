package frames

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Files hands out the parts of files. One goroutine fills in the first fields, calls Begin and Settle, and takes the
// parts in
// order by Next. Several goroutines read the parts.
//
// Invariant: a file is open while one of its parts is read. Lock: mu, for the users of files.
type Files struct {
	Ins    []source.Input
	Limits Limits
	Open   func(n int) (*source.Stream, error)
	Check  func(n, form int) error // refuses a file of such a form, before it is looked at
	Done   func(bytes int64)       // that a file has beside those that its stream has told of, when it was handed out

	mu     sync.Mutex
	wanted Wanted
	source int // the input that is read
	file   *openFile
	stream *source.Stream // of the file
	cols   []int          // of the file, those that are used, in the order of the wanted
	rows   int64          // of the file, handed out
	ahead  []Chunk        // of the first file: looked at, and not handed out yet
}

// Wanted is which columns are used.
type Wanted struct {
	Keys   []string // of the first file
	Used   []bool   // one a key
	Label  int      // its place among the keys
	Strict bool     // every file has the same columns, and those beside the label may be left out
}

// openFile is a file that is read. It is closed when nobody reads of it, and all of it was handed out.
type openFile struct {
	File
	close func() error
	users int // workers that read of it, and one while it is handed out
}

// Part is what a worker takes at a time.
type Part struct {
	Chunk
	Columns []int // that Read is to be given
	Row     int64 // how many rows of the file stand before it
	file    *openFile
	of      *Files
}

// Close gives the part back, and closes its file if nobody reads that any more.
func (p *Part) Close() {
	p.Chunk.Close()
	p.of.leave(p.file)
}

// Close is the end of the handing out.
func (f *Files) Close() { f.leave(f.file) }

// leave closes a file that it was the last to use.
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

// open opens an input whose stream is given.
func (f *Files) open(n int, s *source.Stream) error {
	if err := f.Check(n, Is(s.Head)); err != nil {
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

// Begin opens the first input. keys are the names of its columns, below some of its rows as lines of CSV, of so many
// bytes at most.
func (f *Files) Begin(head *source.Stream, most int) (keys []string, below []byte, err error) {
	if err := f.open(0, head); err != nil {
		return nil, nil, err
	}
	for _, c := range f.file.Columns() {
		keys = append(keys, c.Name)
	}
	if len(keys) == 0 {
		return nil, nil, &lines.Error{File: f.Ins[0].Shown(), What: "the file has no columns", How: "name a file with data, or leave it out"}
	}
	if below, f.ahead, err = Sample(f.file, most); err != nil {
		return nil, nil, Explain(f.Ins[0], err)
	}
	return keys, below, nil
}

// Settle says which columns are used.
func (f *Files) Settle(w Wanted) error {
	f.wanted = w
	return f.find(0)
}

// find finds the columns that are used in the file, which is the input at n.
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
			return &lines.Error{File: name, What: fmt.Sprintf("the column %s is missing, which %s has", lines.Quoted([]byte(key)), first), How: same}
		case file[at].Odd != "":
			how := "leave it out with --ignore " + key
			if !lines.IsPlain(key) {
				how = fmt.Sprintf("leave it out with --ignore %d", at+1)
			}
			if !f.wanted.Strict || k == f.wanted.Label {
				how = "name another column"
			}
			return &lines.Error{File: name, What: fmt.Sprintf("the column %s %s, where numbers or text are wanted", lines.Quoted([]byte(key)), file[at].Odd), How: how}
		}
		f.cols = append(f.cols, at)
	}
	if f.wanted.Strict {
		for _, c := range file {
			if !slices.Contains(f.wanted.Keys, c.Name) {
				return &lines.Error{File: name, What: fmt.Sprintf("%s has no column %s", first, lines.Quoted([]byte(c.Name))), How: same}
			}
		}
	}
	return nil
}

// Next returns the next part, and io.EOF after the last one. After another error, which is that of the input at
// Source, there
// are no more.
func (f *Files) Next() (*Part, error) {
	for {
		chunk, err := f.ofFile()
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
		f.Done(max(0, f.Ins[f.source].Size-f.stream.Told()))
		if f.source+1 == len(f.Ins) {
			return nil, io.EOF
		}
		f.source++
		if err := f.following(f.source); err != nil {
			return nil, err
		}
	}
}

// Source returns which input the last part is of, or the error of Next.
func (f *Files) Source() int { return f.source }

// following makes the input at n the one that is read.
func (f *Files) following(n int) error {
	s, err := f.Open(n)
	if err != nil {
		return err
	}
	if err := f.open(n, s); err != nil {
		return err
	}
	return f.find(n)
}

// ofFile is the next part of the file.
func (f *Files) ofFile() (Chunk, error) {
	if len(f.ahead) > 0 {
		chunk := f.ahead[0]
		f.ahead = f.ahead[1:]
		return chunk, nil
	}
	return f.file.Next()
}
