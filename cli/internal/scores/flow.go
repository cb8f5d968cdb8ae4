package scores

import (
	"bellows/app"
	"bellows/data"
	"bellows/serve/oov"
)

// Flow is an examination of rows that come block by block.
//
// A separate predictor scores each block; then the blocks are counted in order. A block that waits to be counted holds
// no predictor. A result that is too large to be kept meanwhile waits first, and is scored when it is next: such a
// block is nearly always the only one.
//
// Lock: only the block that is next uses the fields below counting.
type Flow struct {
	desks    chan app.Predictor
	counting app.Counting

	rows    int64
	unknown oov.Counter
}

// Begin begins to examine by the metrics asked for, or by those that the application finds fit; as many blocks are scored at a time as slots. It is nil where
// the application, or a metric, needs all rows at once.
func Begin(p app.Predictor, metrics string, slots int) (*Flow, error) {
	counter, ok := p.(app.Counter)
	if !ok {
		return nil, nil
	}
	counting, err := counter.Count(namesOf(metrics))
	if err != nil || counting == nil {
		return nil, err
	}
	f := &Flow{desks: make(chan app.Predictor, slots), counting: counting}
	for range slots {
		f.desks <- counter.Share()
	}
	return f, nil
}

// Take scores the rows of a block and counts them in order.
func (f *Flow) Take(b *data.Block) error {
	rows := b.Set.Rows()
	if rows > f.counting.Step() {
		if err := b.Turn(); err != nil {
			return err
		}
	}
	desk := <-f.desks
	back := func() {
		if desk != nil {
			f.desks <- desk
			desk = nil
		}
	}
	defer back()
	strange := oov.CountBlock(desk, b.Set, true)
	score, err := f.counting.Scorer(desk, b.Set)
	if err != nil {
		return err
	}
	for lo := 0; lo < rows; lo += f.counting.Step() {
		hi := min(lo+f.counting.Step(), rows)
		add, err := score(lo, hi)
		if err != nil {
			return err
		}
		if hi == rows {
			back()
		}
		if err := b.Turn(); err != nil {
			return err
		}
		add()
	}
	f.rows += int64(rows)
	f.unknown.Add(strange)
	return nil
}

// Rows returns how many rows have been counted.
func (f *Flow) Rows() int64 { return f.rows }

// Unknown returns what in the rows the model does not know, by what it is; without zeros.
func (f *Flow) Unknown() map[string]int64 { return f.unknown.Totals() }

// Examination returns what there is to tell of the rows.
func (f *Flow) Examination() (*app.Examination, error) { return f.counting.Examination() }
