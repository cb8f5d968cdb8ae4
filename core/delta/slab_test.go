package delta

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"bellows"
	"bellows/table"
)

// TestSlabsHaveRoom gets slabs for many sizes: each has room for its rows, and at most a quarter more. A slab that is
// put back is given only for rows that fit.
func TestSlabsHaveRoom(t *testing.T) {
	t.Parallel()
	f := &slabs{width: 3}
	for rows := 1; rows < 1<<20; rows += 1 + rows/50 {
		s := f.get(rows)
		if n := s.rows(f.width); n < rows || n > rows+max(3, rows/4) {
			t.Fatalf("a slab for %d rows has room for %d", rows, n)
		}
		f.put(s)
		if class := classBelow(rows); class >= 0 && (classRoom(class) > rows || classRoom(class+1) <= rows) {
			t.Fatalf("%d rows are of class %d, for %d to %d", rows, class, classRoom(class), classRoom(class+1))
		}
	}
	for rows := range 2 * classStep { // memory that a list got otherwise may be small
		f.put(&slab{make([]uint32, 0, rows), make([]float32, 0, 3*rows)})
		if s := f.get(max(1, rows)); s.rows(f.width) < rows {
			t.Fatalf("a slab for %d rows has room for %d", rows, s.rows(f.width))
		}
	}
}

// TestBuffersReturnTheirSlabs checks that buffers of pools keep no memory of lists, and that whole sums keep theirs.
func TestBuffersReturnTheirSlabs(t *testing.T) {
	t.Parallel()
	large := &table.Schema{Name: "w", Rows: 9000, Width: 2}
	pools := NewPools(1, 0)
	pools.Describe(0, large, large.Rows, 0)
	set := pools.NewSet()
	for _, rows := range []int{100, 5000, 1} {
		b := set.Buffer(0)
		list := make([]bellows.RowID, rows)
		for i := range list {
			list[i] = bellows.RowID(i)
		}
		b.AddRows(list[:rows/2], 0, make([]float32, rows/2*2))
		b.AddRows(list, 0, make([]float32, rows*2))
		set.Reset()
		if cap(b.ids) > 0 || cap(b.values) > 0 || b.memory != nil {
			t.Errorf("a buffer keeps memory of %d rows of %d", cap(b.ids), rows)
		}
	}
	b := set.Buffer(0)
	b.AddRange(0, make([]float32, 2*large.Rows))
	set.Reset()
	if cap(b.values) < 2*large.Rows {
		t.Error("a whole sum loses its memory")
	}
}

// TestTasksShareSlabs merges buffers of common pools in several goroutines, and compares the sums with those of buffers
// that have their own memory. Slabs are overwritten when they are put back: mergeFour must not read its list before it
// gets a larger slab.
func TestTasksShareSlabs(t *testing.T) {
	t.Parallel()
	large := &table.Schema{Name: "w", Rows: 20_000, Width: 2}
	pools := NewPools(2, 0)
	for n := range 2 {
		pools.Describe(n, large, large.Rows, 0)
	}
	pools.slabs[large.Width].wipe = true
	var tasks sync.WaitGroup
	for task := range uint64(4) {
		tasks.Go(func() {
			random := rand.New(rand.NewPCG(task, 17))
			for range 100 {
				var sets [4]Set
				var want [4]*Buffer
				n := random.IntN(2)
				share := 1 + random.IntN(40)
				for i := range sets {
					sets[i], want[i] = pools.NewSet(), NewBuffer(large, large.Rows, 0)
					var list []bellows.RowID
					var d []float32
					for r := range large.Rows {
						if random.IntN(share) == 0 {
							list, d = append(list, bellows.RowID(r)), append(d, random.Float32(), random.Float32())
						}
					}
					sets[i].Buffer(n).AddRows(list, 0, d)
					want[i].AddRows(list, 0, d)
				}
				sets[0].MergeThree(&sets[1], &sets[2], &sets[3])
				want[0].MergeThree(want[1], want[2], want[3])
				ids, values := sets[0].Find(n).Chunk()
				wantIDs, wantValues := want[0].Chunk()
				equal := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
				if !slices.Equal(ids, wantIDs) || !slices.EqualFunc(values, wantValues, equal) {
					t.Errorf("task %d: a sum of %d rows has other bits", task, len(wantIDs))
					return
				}
				for i := range sets {
					sets[i].Reset()
				}
			}
		})
	}
	tasks.Wait()
}
