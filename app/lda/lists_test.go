package lda

import (
	"slices"
	"sync"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/data/demo"
	"bellows/table"
)

// TestTasksShareTheirLists: the first task of a clock that has a word packs it for all, whatever another finds in the table; the next clock's begin anew; and what
// a task has in the end is what it would have packed itself, also when several load at once. Where reads may differ nothing is shared.
func TestTasksShareTheirLists(t *testing.T) {
	t.Parallel()
	set, err := demo.Make(data.Documents, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := problemOf(t, app.Input{Data: set, Seed: 3, Settings: map[string]string{"topics": "150", "splits": "6"}})
	if len(p.bounds) < 4 {
		t.Fatalf("%d partitions are too few to tell", len(p.bounds)-1)
	}
	rng := newStream(4, 0, 0, 0)
	made := func() *memory {
		m := &memory{p: p, words: make([]float32, len(p.vocab)*p.width*p.chunks)}
		counts := table.Counts(m.words)
		for range len(counts) / 9 {
			counts[rng.below(len(p.vocab))*p.width*p.chunks+rng.below(p.topics)]++
		}
		return m
	}
	load := func(m *memory, u *portion, r round) *space {
		w := &space{p: p}
		w.loadSparse(m, u, r)
		return w
	}
	packedAlike := func(one, other *space) bool {
		a, b := &one.sparse, &other.sparse
		for j := range a.start {
			if !slices.Equal(a.rows[a.start[j]:a.start[j]+a.size[j]], b.rows[b.start[j]:b.start[j]+b.size[j]]) {
				return false
			}
		}
		for j := range a.start {
			if (one.dense.Counts(int32(j)) == nil) != (other.dense.Counts(int32(j)) == nil) {
				return false
			}
		}
		return len(a.rows) == len(b.rows) && slices.Equal(a.start, b.start)
	}
	alike := func(one, other *space) bool {
		for j := range one.sparse.start {
			if !slices.Equal(one.dense.Counts(int32(j)), other.dense.Counts(int32(j))) {
				return false
			}
		}
		return packedAlike(one, other)
	}
	first, other := made(), made()
	for clock, m := range []*memory{first, other, first} {
		at := p.round(bellows.Clock(clock))
		var together sync.WaitGroup
		for s := range p.portions {
			together.Go(func() {
				if u := &p.portions[s]; !alike(load(m, u, at), load(m, u, round{})) {
					t.Errorf("clock %d: split %d has other lists than it packs alone", clock, s)
				}
			})
		}
		together.Wait()
	}
	u := &p.portions[0]
	if alike(load(other, u, round{}), load(first, u, round{})) {
		t.Fatal("two tables that have the same counts tell nothing")
	}
	if !packedAlike(load(other, u, p.round(2)), load(first, u, round{})) {
		t.Error("a task packs what another of its clock has packed")
	}
	w, dense := load(first, u, round{}), 0
	for j := range u.words {
		if w.dense.Counts(int32(j)) != nil {
			dense++
		}
	}
	if dense == 0 || dense == len(u.words) {
		t.Fatalf("%d of %d words are dense, which tells half", dense, len(u.words))
	}
	one := problemOf(t, app.Input{Data: set, Seed: 3, Staleness: new(int), Settings: map[string]string{"topics": "5"}})
	if one.round(1).lists == nil {
		t.Error("a staleness of 0 is BSP, and its tasks share nothing")
	}
	stale := 1
	one = problemOf(t, app.Input{Data: set, Seed: 3, Staleness: &stale, Settings: map[string]string{"topics": "5"}})
	if one.round(1).lists != nil {
		t.Error("tasks share lists of counts that may differ")
	}
}
