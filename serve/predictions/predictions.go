// Package predictions writes the predictions of a model block by block, in the order of the rows, as text or as JSON
// lines, for `predict` and serve.
//
// The caller's duties, in order: NewWriter with the model's predictor; Names where text is to begin with the names of the fields; give Take to
// data.Stream, which calls it on several goroutines; and ask Rows and Unknown when the stream has ended.
//
// The package refuses to write part of a block: what stands in the output is of the first rows, each whole, and of none behind.
package predictions

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/serve/oov"
)

// A Writer writes the predictions for one input.
//
// A separate predictor predicts each block of rows, into memory that the next block uses again; blocks are written in
// order. A block that waits to be written holds no predictor: if only one exists, the block before it might wait for
// that one.
//
// Lock: only the block that may be written now writes the fields below unknown.
type Writer struct {
	out    io.Writer
	fields app.Fields // after the prediction; none without names
	json   bool
	desks  chan app.Predictor
	spare  sync.Pool // of *page

	rows    int64
	unknown oov.Counter
}

// page is a block's predictions while they are made.
type page struct {
	text bytes.Buffer // as the application writes them
	json Objects      // the same as JSON lines
}

// NewWriter begins to write predictions to out; as JSON lines where json is set. As many blocks are predicted at a time as slots, if the application's
// predictors can be shared, else one.
func NewWriter(p app.Predictor, out io.Writer, json bool, slots int) *Writer {
	r := &Writer{out: out, json: json}
	if named, ok := p.(app.Named); ok {
		r.fields = named.Fields()
	}
	shared, ok := p.(app.Shared)
	if !ok {
		slots = 1
	}
	r.desks = make(chan app.Predictor, slots)
	for range slots {
		if ok {
			p = shared.Share()
		}
		r.desks <- p
	}
	r.spare.New = func() any { return &page{json: NewObjects(r.fields)} }
	return r
}

// Names writes a first line that names the fields. It is an error of kind Usage where they name themselves.
func (r *Writer) Names(application string) error {
	header := "prediction"
	if r.fields.Of != "" {
		if r.fields.Names == nil {
			return bellows.Errorf(bellows.Usage, "set", "--names=true", "the fields of %s name themselves", application)
		}
		header += "\t" + strings.Join(r.fields.Names, "\t")
	}
	_, err := io.WriteString(r.out, header+"\n")
	return err
}

// Take predicts the rows of a block, and writes them after those of the previous blocks.
func (r *Writer) Take(b *data.Block) error {
	p := r.spare.Get().(*page)
	defer r.spare.Put(p)
	p.text.Reset()
	desk := <-r.desks
	err := desk.Predict(b.Set, &p.text)
	var strange *oov.Block
	if err == nil {
		strange = oov.CountBlock(desk, b.Set, false)
	}
	r.desks <- desk
	if err != nil {
		return err
	}
	rows := b.Set.Rows()
	if lines := bytes.Count(p.text.Bytes(), []byte{'\n'}); lines != rows {
		return bellows.Errorf(bellows.Bug, "write predictions", "", "there are %d lines for %d rows", lines, rows)
	}
	out := p.text.Bytes()
	if r.json {
		if out, err = p.json.Append(out, b.Row); err != nil {
			return err
		}
	}
	if err := b.Turn(); err != nil {
		return err
	}
	if _, err := r.out.Write(out); err != nil {
		return err
	}
	r.rows += int64(rows)
	r.unknown.Add(strange)
	return nil
}

// Rows returns how many rows have been written.
func (r *Writer) Rows() int64 { return r.rows }

// Unknown returns what in the rows the model does not know, by what it is; without zeros.
func (r *Writer) Unknown() map[string]int64 { return r.unknown.Totals() }
