package data

import (
	"context"
	"errors"
	"slices"

	"bellows/data/internal/bags"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Texts reads texts that lie in memory, all with the same options. A text is read like the content of an uncompressed
// file. Work that all texts share is done once.
type Texts struct {
	kind    Kind
	opt     Options
	words   bags.Index
	scratch *lines.Pool
}

// NewTexts returns a reader of texts of a kind.
func NewTexts(kind Kind, opt Options) (*Texts, error) {
	t := &Texts{kind: kind, words: bags.NewIndex(opt.Words), scratch: &lines.Pool{}}
	return t.WithOptions(opt)
}

// WithOptions returns a reader of texts of the same kind and vocabulary with other options.
func (t *Texts) WithOptions(opt Options) (*Texts, error) {
	opt.Workers, opt.Meter, opt.Cache = 1, nil, ""
	if err := opt.complete(t.kind); err != nil {
		return nil, err
	}
	return &Texts{t.kind, opt, t.words, t.scratch}, nil
}

// Read reads one text, which errors call by the given name. The caller bounds the size of the text. Read may be called
// by several goroutines at once. It refuses a row that cannot be read without knowing other rows.
func (t *Texts) Read(name string, text []byte) (*Set, error) {
	set, err := t.read(text)
	if bad := (*Error)(nil); errors.As(err, &bad) && bad.File == noFile.Shown() {
		bad.File = name
	}
	return set, err
}

// noFile is an input that lies in no file and has no neighbours.
var noFile = source.Input{Name: "-"}

func (t *Texts) read(text []byte) (*Set, error) {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	opt := t.opt
	r := newTextReader(newReader(context.Background(), t.kind, []source.Input{noFile}, &opt, nil))
	r.words, r.workers[0].scratch = t.words, t.scratch.Take()
	j := &job{text: text, buf: <-r.free, piece: &piece{}}
	r.pieces = []*piece{j.piece}
	if err := r.begin(0, j); err != nil {
		return nil, err
	}
	if t := r.layout.Table; t != nil && slices.ContainsFunc(t.Features, func(c Column) bool { return c.Open }) {
		return nil, &Error{File: noFile.Shown(), What: "some columns hold text, and the model does not know their values",
			How: "train the model again with this version, on a table"}
	}
	r.workers[0].parse(r, j)
	t.scratch.Give(r.workers[0].scratch)
	if err := r.firstError(); err != nil {
		return nil, err
	}
	if j.Missing > 0 && !flows(r.layout, &opt) {
		return nil, &Error{File: noFile.Shown(), What: "values are missing, and the model does not say what they become",
			How: "fill them in, or train the model again with this version, on a table"}
	}
	return r.join()
}
