package mf

import (
	"bellows"
	"bellows/app"
	"bellows/data"
)

// Bare is the default schedule without the system: a loop over the blocks.
type Bare struct {
	p            *problem
	users, items []float32
}

// NewBare lays the data out as a run does, and fills the tables.
func NewBare(set *data.Set, seed uint64) (*Bare, error) {
	c, _, err := configure(&app.Input{Data: set, Seed: seed})
	if err != nil {
		return nil, err
	}
	p, err := newProblem(c, set.Ratings, nil)
	if err != nil {
		return nil, err
	}
	b := &Bare{p: p, users: make([]float32, len(p.users.row)*p.width), items: make([]float32, len(p.items.row)*p.width)}
	tables := p.tables()
	for r := range p.users.row {
		tables[usersTable].Init.Fill(bellows.RowID(r), b.users[r*p.width:(r+1)*p.width])
	}
	for r := range p.items.row {
		tables[itemsTable].Init.Fill(bellows.RowID(r), b.items[r*p.width:(r+1)*p.width])
	}
	return b, nil
}

// Epoch visits every rating once and returns how many there are.
func (b *Bare) Epoch() float64 {
	p := b.p
	step, l2 := p.stepAt(0, 1)
	args := []float64{step, l2, 0}
	for c := range p.clocks {
		for s := range p.splits {
			w := newWorker(p, bellows.SplitID(s))
			visits := p.itemsOf(bellows.SplitID(s), bellows.Clock(c))
			w.descend(w.share.slice(visits.Begin, visits.End), b.slab(&p.users, b.users, s), b.slab(&p.items, b.items, p.rotation().part(s, c)), args)
		}
	}
	return float64(p.trained)
}

func (b *Bare) slab(a *axis, table []float32, part int) []float32 {
	return table[int(a.bounds[part])*b.p.width : int(a.bounds[part+1])*b.p.width]
}
