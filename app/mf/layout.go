package mf

import (
	"cmp"
	"container/heap"
	"slices"

	"bellows"
	"bellows/random"
)

// axis is one side of the ratings, users or items, relabelled: parts of consecutive rows that hold
// about equally many ratings. It depends on the ratings and the seed alone.
type axis struct {
	row    []int32         // id of the data -> row of the table
	place  []place         // the same as part and row within it: one look where a rating is put
	bounds []bellows.RowID // part p has the rows [bounds[p], bounds[p+1])
	count  []int32         // training ratings by id
}

// place is where an id has its row: local counts from the part's first.
type place struct{ part, local int32 }

// balance deals ids to parts, the most rated first, each to the part with the fewest ratings
// (longest processing time first, Graham 1969).
func balance(count []int32, parts int, seed uint64) axis {
	a := axis{row: make([]int32, len(count)), place: make([]place, len(count)), bounds: make([]bellows.RowID, parts+1), count: count}
	loads := make(loads, parts)
	for p := range loads {
		loads[p].part = int32(p)
	}
	for _, d := range dealing(count, seed) {
		least := &loads[0]
		a.place[d.id] = place{least.part, least.rows}
		least.ratings += int64(d.count)
		least.rows++
		heap.Fix(&loads, 0)
	}
	for _, l := range loads {
		a.bounds[l.part+1] = bellows.RowID(l.rows)
	}
	for p := range parts {
		a.bounds[p+1] += a.bounds[p]
	}
	for id, p := range a.place {
		a.row[id] = int32(a.bounds[p.part]) + p.local
	}
	return a
}

// deal is an id in the order of dealing: the most rated first, and by chance among equals.
type deal struct {
	chance    uint64
	count, id int32
}

func dealing(count []int32, seed uint64) []deal {
	order := make([]deal, len(count))
	for id, c := range count {
		order[id] = deal{random.Derive(seed, uint64(id)), c, int32(id)}
	}
	slices.SortFunc(order, func(a, b deal) int {
		switch {
		case a.count != b.count:
			return int(b.count) - int(a.count)
		case a.chance != b.chance:
			return cmp.Compare(a.chance, b.chance)
		}
		return int(a.id) - int(b.id)
	})
	return order
}

// rows returns the number of rows of a part.
func (a *axis) rows(part int) int { return int(a.bounds[part+1] - a.bounds[part]) }

// rated returns the number of ids with at least one training rating.
func (a *axis) rated() int {
	n := 0
	for _, c := range a.count {
		if c > 0 {
			n++
		}
	}
	return n
}

// load is what a part holds so far. Its heap keeps the part first that should be dealt to next.
type load struct {
	ratings int64
	rows    int32
	part    int32
}

type loads []load

func (l loads) Len() int { return len(l) }
func (l loads) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].ratings, l[j].ratings), cmp.Compare(l[i].rows, l[j].rows), cmp.Compare(l[i].part, l[j].part)) < 0
}
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l loads) Push(any)      { panic("mf: the number of parts is fixed") }
func (l loads) Pop() any      { panic("mf: the number of parts is fixed") }
