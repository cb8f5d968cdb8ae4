package mf_test

import (
	"context"
	"testing"

	"bellows/app"
	"bellows/app/mf"
	"bellows/node"
)

var benchSet = mf.Made{Users: 6000, Items: 3500, Rank: 4, Each: 150, Noise: 0.5, Mean: 3, Unit: 1, Seed: 1}

// BenchmarkEpoch trains on one compute slot. Compare ns/rating with BenchmarkBareEpoch: the
// difference is the price of tables, commits and audit; B/op and allocs/op are those of a whole
// run of 50 epochs.
func BenchmarkEpoch(b *testing.B) {
	training, _ := benchSet.Sets()
	b.ReportAllocs()
	b.ResetTimer()
	var nanos, ratings float64
	for range b.N {
		run, err := mf.New().NewRun(app.Input{Data: training, Seed: 1, Epochs: 50})
		if err != nil {
			b.Fatal(err)
		}
		res, err := node.Train(context.Background(), run.Job, node.Options{Slots: 1})
		if err != nil {
			b.Fatal(err)
		}
		nanos += float64(res.Trained.Nanoseconds())
		ratings += float64(50 * run.Items)
	}
	b.ReportMetric(nanos/ratings, "ns/rating")
}

// BenchmarkBareEpoch runs the same visits in the same order by the same kernel, and nothing else.
func BenchmarkBareEpoch(b *testing.B) {
	training, _ := benchSet.Sets()
	bare, err := mf.NewBare(training, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var ratings float64
	b.ResetTimer()
	for range b.N {
		for range 50 {
			ratings += bare.Epoch()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/ratings, "ns/rating")
}
