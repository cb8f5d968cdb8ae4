package server

import (
	"errors"

	"bellows"
	"bellows/link/wire"
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

// refusal is the answer to a request that cannot be served, ever. One that nobody classified comes from a
// peer of another time or kind.
func refusal(f bellows.FlushID, err error) *wire.Refused {
	r := &wire.Refused{Flush: f, Kind: bellows.Lost, Reason: err.Error()}
	if e := (*bellows.Error)(nil); errors.As(err, &e) {
		r.Kind = e.Kind
	}
	return r
}
