package server

import (
	"errors"
	"fmt"

	"bellows"
	"bellows/wire"
)

// Keys end at the door: a lane turns those of a flush into numbers of rows when it holds it, so that sums
// along the tree and rules work on rows as those of any table. That is also when memory is taken, and
// refused: what is recorded later is irrevocable.

// reserve gives a row to every key of a flush, and its chunks the rows' numbers.
func (l *Lane) reserve(f *flush) error {
	total := 0
	for i := range f.push.Chunks {
		total += len(f.push.Chunks[i].Keys)
	}
	if f.rows == nil || cap(f.rows) < total {
		f.rows = make([]uint32, 0, total)
	}
	for i := range f.push.Chunks {
		c := &f.push.Chunks[i]
		if c.Keys == nil {
			continue
		}
		first := len(f.rows)
		rows, err := l.byNumber[l.cfg.Route.Number(c.Ref)].store.Reserve(c.Keys, f.rows)
		if err != nil {
			return err
		}
		f.rows, c.Rows = rows, rows[first:len(rows):len(rows)]
	}
	return nil
}

// checkKeys refuses a chunk that names its rows in the other way than its table, or has not one row of
// deltas for each key.
func (p *part) checkKeys(c *wire.Chunk) error {
	if err := p.checkWay(c.Keys); err != nil {
		return err
	}
	if c.Keys != nil && len(c.Values) != len(c.Keys)*p.schema.Width {
		return fmt.Errorf("%d values for %d keys of %v, rows of %d", len(c.Values), len(c.Keys), p.ref, p.schema.Width)
	}
	return nil
}

func (p *part) checkWay(list []bellows.Key) error {
	switch {
	case p.schema.Sparse && list == nil:
		return fmt.Errorf("rows of %v are named by number; table %s is sparse", p.ref, p.schema.Name)
	case !p.schema.Sparse && list != nil:
		return fmt.Errorf("rows of %v are named by key; table %s is dense", p.ref, p.schema.Name)
	}
	return nil
}

// answerMax bounds the values of an answer to keys: as many as a frame carries.
const answerMax = 16 << 20

// checkPull refuses a pull that names rows in the other way than their table, or whose answer no frame would
// carry: so few bytes can ask for so much.
func (l *Lane) checkPull(m *wire.Pull) error {
	values := 0
	for i := range m.Parts {
		q := &m.Parts[i]
		p, err := l.part(q.Pair)
		if err == nil {
			err = p.checkWay(q.Keys)
		}
		if err != nil {
			return err
		}
		if values += len(q.Keys) * p.schema.Width; values > answerMax {
			return fmt.Errorf("more than %d values of table %s are wanted by key at once", answerMax, p.schema.Name)
		}
	}
	return nil
}

// refusal is the answer to a request that cannot be served, ever. One that nobody classified comes from a
// peer of another time or kind.
func refusal(f bellows.FlushID, err error) *wire.Refused {
	r := &wire.Refused{Flush: f, Kind: bellows.Lost, Reason: err.Error()}
	if e := (*bellows.Error)(nil); errors.As(err, &e) {
		r.Kind = e.Kind
	}
	return r
}
