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
	bounds []bellows.RowID // part p has the rows [bounds[p], bounds[p+1])
	count  []int32         // training ratings by id
	part   []int32         // part by id
}

// balance deals ids to parts, the most rated first, each to the part with the fewest ratings
// (longest processing time first, Graham 1969).
func balance(count []int32, parts int, seed uint64) axis {
	order := make([]int32, len(count))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(count[b], count[a]),
			cmp.Compare(random.Of(seed, uint64(a)), random.Of(seed, uint64(b))), cmp.Compare(a, b))
	})
	a := axis{row: make([]int32, len(count)), bounds: make([]bellows.RowID, parts+1), count: count, part: make([]int32, len(count))}
	loads := make(loads, parts)
	for p := range loads {
		loads[p].part = int32(p)
	}
	for _, id := range order {
		least := &loads[0]
		a.part[id], a.row[id] = least.part, least.rows
		least.ratings += int64(count[id])
		least.rows++
		heap.Fix(&loads, 0)
	}
	for _, l := range loads {
		a.bounds[l.part+1] = bellows.RowID(l.rows)
	}
	for p := range parts {
		a.bounds[p+1] += a.bounds[p]
	}
	for id, p := range a.part {
		a.row[id] += int32(a.bounds[p])
	}
	return a
}

// rows is the number of rows of a part.
func (a *axis) rows(part int) int { return int(a.bounds[part+1] - a.bounds[part]) }

// local is the row of an id, counted from its part's first.
func (a *axis) local(id int32) int32 { return a.row[id] - int32(a.bounds[a.part[id]]) }

// rated is the number of ids with at least one training rating.
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
