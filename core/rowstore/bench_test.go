package rowstore_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core/keys"
	"bellows/core/rowstore"
	"bellows/table"
)

// BenchmarkApplyRows updates named rows of 16 values, each second one of a partition.
func BenchmarkApplyRows(b *testing.B) {
	for _, r := range rules {
		s := &table.Schema{Name: "w", Rows: 2048, Width: 16, Rule: r, Partitions: 1}
		p := newStore(b, s, 0)
		var rows []uint32
		for row := 0; row < s.Rows; row += 2 {
			rows = append(rows, uint32(row))
		}
		deltas := make([]float32, len(rows)*s.Width)
		for i := range deltas {
			deltas[i] = float32(i%5) - 2
		}
		b.Run(r.Name, func(b *testing.B) {
			for b.Loop() {
				p.Apply(rows, deltas)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(len(rows))*1e9, "ns/row")
		})
	}
}

// BenchmarkSparse reserves, updates and reads 4,096 keys of 262,144 in an order by chance, rows of one value
// and of sixteen.
func BenchmarkSparse(b *testing.B) {
	const all, some = 1 << 18, 1 << 12
	for _, width := range []int{1, 16} {
		s := &table.Schema{Name: "w", Sparse: true, Rows: all, Width: width, Partitions: 1}
		p := newStore(b, s, 0)
		list := make([]bellows.Key, all)
		for i := range list {
			list[i] = bellows.Key(keys.Hash(bellows.Key(i)))
		}
		if _, err := p.Reserve(list, nil); err != nil {
			b.Fatal(err)
		}
		deltas, rows, to, at := make([]float32, some*width), make([]uint32, 0, some), make([]float32, 0, some*width), 0
		part := func() []bellows.Key {
			at = (at + 7*some) % all
			return list[at : at+some]
		}
		report := func(b *testing.B) {
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/some*1e9, "ns/row")
		}
		b.Run(fmt.Sprintf("update/width=%d", width), func(b *testing.B) {
			for b.Loop() {
				rows, _ = p.Reserve(part(), rows[:0])
				p.Apply(rows, deltas)
			}
			report(b)
		})
		b.Run(fmt.Sprintf("read/width=%d", width), func(b *testing.B) {
			for b.Loop() {
				to = p.ReadKeys(part(), to[:0])
			}
			report(b)
		})
	}
}

// BenchmarkSparseImage saves a million keys that no image has had.
func BenchmarkSparseImage(b *testing.B) {
	const all = 1 << 20
	s := &table.Schema{Name: "w", Sparse: true, Rows: all, Width: 1, Partitions: 1}
	list, deltas := make([]bellows.Key, all), make([]float32, all)
	for i := range list {
		list[i] = bellows.Key(keys.Hash(bellows.Key(i)))
	}
	var im rowstore.Image
	for b.Loop() {
		b.StopTimer()
		p := newStore(b, s, 0)
		update(b, p, list, deltas)
		b.StartTimer()
		p.Save(&im)
	}
}
