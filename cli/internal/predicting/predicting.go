// Package predicting writes the predictions of a model, block by block as rows are read: in the order of the rows, as text or as JSON lines.
//
// The caller's duties, in order: New with the model's predictor; Names where text is to begin with the names of the fields; give Take to
// data.Stream, which calls it on several goroutines; and ask Rows and Unknown when the stream has ended.
//
// The package refuses to write part of a block: what stands in the output is of the first rows, each whole, and of none behind.
package predicting

import (
	"bytes"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"bellows"
	"bellows/app"
	"bellows/data"
)

// Predictions is those of one input, on their way out.
//
// A block of rows is predicted by a predictor that nobody else has, into memory that the next block uses again; in its turn it is written. So a
// predictor is never held by who waits for a turn: with a single one that could be waited for by the block whose turn it is.
//
// Lock: what stands below unknown is written by who has the turn alone.
type Predictions struct {
	out    io.Writer
	fields app.Fields // behind the prediction; none without names
	json   bool
	desks  chan app.Predictor
	spare  sync.Pool // of *page

	rows    int64
	unknown map[string]int64
	met     map[string]*distinct // by what they are: names that the model does not know
}

// page is a block's predictions while they are made.
type page struct {
	text bytes.Buffer // as the application writes them
	json Objects      // the same as JSON lines
}

// New begins to write predictions to out; as JSON lines where json is set. As many blocks are predicted at a time as slots, if the application's
// predictors can be shared, else one.
func New(p app.Predictor, out io.Writer, json bool, slots int) *Predictions {
	r := &Predictions{out: out, json: json, unknown: map[string]int64{}, met: map[string]*distinct{}}
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
func (r *Predictions) Names(application string) error {
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

// Take predicts the rows of a block and writes them in its turn.
func (r *Predictions) Take(b *data.Block) error {
	p := r.spare.Get().(*page)
	defer r.spare.Put(p)
	p.text.Reset()
	desk := <-r.desks
	err := desk.Predict(b.Set, &p.text)
	var strange *strangers
	if err == nil {
		strange = strangersOf(desk, b.Set)
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
		if out, err = p.json.Of(out, b.Row); err != nil {
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
	r.count(strange)
	return nil
}

// Rows is how many rows have been written.
func (r *Predictions) Rows() int64 { return r.rows }

// Unknown is what in the rows the model does not know, by what it is; without zeros.
func (r *Predictions) Unknown() map[string]int64 {
	all := maps.Clone(r.unknown)
	for what, names := range r.met {
		all[what] = names.count()
	}
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n == 0 })
	return all
}

// strangers are what a model does not know of a block's rows: how many, and of what has names also these.
type strangers struct {
	counts map[string]int64
	names  map[string][]uint64 // hashes
}

var nameSeed = maphash.MakeSeed()

func strangersOf(p app.Predictor, set *data.Set) *strangers {
	s := &strangers{}
	of, ok := p.(app.Stranger)
	if !ok {
		return s
	}
	s.counts = of.Unknown(set, false)
	if named, ok := p.(app.Acquainted); ok {
		s.names = map[string][]uint64{}
		named.EachUnknown(set, func(what, name string) {
			s.names[what] = append(s.names[what], maphash.String(nameSeed, name))
		})
	}
	return s
}

// count adds up what blocks have said. Who calls it has the turn.
func (r *Predictions) count(s *strangers) {
	for what, n := range s.counts {
		if _, named := s.names[what]; !named {
			r.unknown[what] += n
		}
	}
	for _, what := range slices.Sorted(maps.Keys(s.names)) {
		if r.met[what] == nil {
			r.met[what] = &distinct{}
		}
		r.met[what].add(s.names[what])
	}
}

// DistinctMost bounds the names of one sort that are told apart, and so memory: of more, this number is the answer.
const DistinctMost = 1 << 22

// distinct counts names, each once, by their hashes: two of 4 million have one hash with a chance of 5e-7.
type distinct struct{ seen map[uint64]struct{} }

func (d *distinct) add(hashes []uint64) {
	if d.seen == nil {
		d.seen = map[uint64]struct{}{}
	}
	for _, h := range hashes {
		if len(d.seen) == DistinctMost {
			return
		}
		d.seen[h] = struct{}{}
	}
}

func (d *distinct) count() int64 { return int64(len(d.seen)) }
