package store_test

import (
	"testing"

	"bellows/store"
	"bellows/table"
)

// BenchmarkApplyRows updates named rows of 16 values, each second one of a partition.
func BenchmarkApplyRows(b *testing.B) {
	for _, r := range rules {
		s := &table.Schema{Name: "w", Rows: 2048, Width: 16, Rule: r, Partitions: 1}
		p, err := store.New(s, s.Cut(), 0)
		if err != nil {
			b.Fatal(err)
		}
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
