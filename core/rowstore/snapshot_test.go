package rowstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/table"
)

// TestASnapshotStaysAsItWas hands out partitions of each rule, dense and sparse, a few rows at a time, and writes to
// them between two pieces. The result is the image made at that moment. At the end no copy is left.
func TestASnapshotStaysAsItWas(t *testing.T) {
	for i := range 10 * len(rules) {
		r, rng := rules[i%len(rules)], rand.New(rand.NewPCG(uint64(i), 5))
		s := &table.Schema{Name: "w", Rows: 1 << 15, Width: 2, Partitions: 1, Rule: r, Sparse: i/len(rules)%2 == 0}
		p := newStore(t, s, 0)
		write := func(snap *rowstore.Snapshot) {
			var rows []uint32
			n := 1 + rng.IntN(30)
			if s.Sparse {
				var keys []bellows.Key
				for range n {
					keys = append(keys, bellows.Key(rng.IntN(6000)))
				}
				slices.Sort(keys)
				keys = slices.Compact(keys)
				var err error
				if rows, err = p.Reserve(keys, nil); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(4) == 0 {
					return // it is only reserved
				}
			} else if rng.IntN(20) > 0 {
				for range n {
					rows = append(rows, uint32(rng.IntN(p.Rows())))
				}
			}
			deltas := make([]float32, 2*len(rows))
			if rows == nil {
				deltas = make([]float32, 2*p.Rows())
			}
			for i := range deltas {
				deltas[i] = rng.Float32() - 0.5
			}
			if snap != nil {
				snap.Touch(rows)
			}
			p.Apply(rows, deltas)
		}
		for range 300 {
			write(nil)
		}
		var was, got rowstore.Image
		p.Save(&was)
		snap := p.Snapshot()
		var keys []bellows.Key
		var values []float32
		got.Slots = make([][]float32, len(was.Slots))
		for all := snap.Len(); all > 0; {
			var n int
			n, keys, values = snap.Next(1+rng.IntN(20_000), keys[:0], values[:0])
			all -= n
			got.Keys = append(got.Keys, keys...)
			got.Values = append(got.Values, values[:2*n]...)
			at := 2 * n
			for k := range got.Slots {
				w := len(was.Slots[k]) * n / (len(was.Values) / 2)
				got.Slots[k] = append(got.Slots[k], values[at:at+w]...)
				at += w
			}
			for range rng.IntN(4) {
				write(snap)
			}
		}
		if !slices.Equal(was.Keys, got.Keys) || !slices.Equal(was.Values, got.Values) || !slices.EqualFunc(was.Slots, got.Slots, slices.Equal) {
			t.Fatalf("rule %q, sparse %v: it is not as it was", r.Name, s.Sparse)
		}
		if write(snap); snap.Memory() != 0 {
			t.Errorf("rule %q, sparse %v: %d bytes are left", r.Name, s.Sparse, snap.Memory())
		}
	}
}

// TestACloneGoesItsOwnWay writes to a partition of each rule and to its clone.
func TestACloneGoesItsOwnWay(t *testing.T) {
	for _, r := range rules {
		p := partition(t, r)
		p.Apply([]uint32{1, 4}, []float32{1, 2, 3, 4})
		c, same := p.Clone(), p.Clone()
		p.Apply([]uint32{1, 4}, []float32{5, 6, 7, 8})
		var a, b rowstore.Image
		if c.Save(&a); fmt.Sprint(c.Values()) == fmt.Sprint(p.Values()) {
			t.Errorf("rule %q: it follows", r.Name)
		}
		if same.Save(&b); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("rule %q: %v and %v", r.Name, a, b)
		}
		c.Apply([]uint32{1, 4}, []float32{5, 6, 7, 8})
		c.Save(&a)
		if p.Save(&b); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("rule %q: the same update makes %v and %v", r.Name, a, b)
		}
	}
}
