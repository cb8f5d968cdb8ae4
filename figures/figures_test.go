package figures_test

import (
	"math"
	"testing"

	"bellows/figures"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		figures.Grouped(0): "0", figures.Grouped(999): "999", figures.Grouped(184211): "184 211", figures.Grouped(1234567): "1 234 567", figures.Grouped(-1234): "-1 234",
		figures.Rate(950): "950", figures.Rate(48800): "48.8k", figures.Rate(2.2e6): "2.2M", figures.Rate(3e9): "3.0G", figures.Rate(math.Inf(1)): "-",
		figures.Number(0.90812): "0.9081", figures.Number(-7.1396): "-7.1396", figures.Number(0): "0.0000", figures.Number(4521.746): "4521.75",
		figures.Number(999.99996): "1000.00", figures.Number(99999.999): "1e+05", figures.Number(1832887126.4098): "1.83e+09",
		figures.Number(0.00099): "0.00099", figures.Number(2.5e-8): "2.5e-08", figures.Number(-9.8671776260e10): "-9.87e+10", figures.Number(math.NaN()): "-",
		figures.Value("nonzero", 123): "123", figures.Value("unknown_features", 0): "0", figures.Value("nonzero", 2.5): "2.5000", figures.Value("nonzero", 4e9): "4e+09", figures.Value("nonzero", math.NaN()): "-",
		figures.Value("test_rmse", 2): "2.0000",
		figures.Remaining(0.2):        "1 s", figures.Remaining(2.1): "3 s", figures.Remaining(85): "85 s", figures.Remaining(110): "2 min", figures.Remaining(9000): "2.5 h", figures.Remaining(math.Inf(1)): "-",
		figures.Duration(0.00412): "0.0041", figures.Duration(0.0412): "0.041", figures.Duration(0.61): "0.61", figures.Duration(12.34): "12.3",
		figures.Bytes(12): "12 bytes", figures.Bytes(1536): "1.5 KiB", figures.Bytes(3 << 30): "3.0 GiB",
		figures.Metric("test_rmse"): "test RMSE", figures.Metric("train_loglik_per_token"): "train log-likelihood per token", figures.Metric("odd_one"): "odd one",
		figures.Plural(1, "slot"): "1 slot", figures.Plural(2, "slot"): "2 slots",
	} {
		if got != want {
			t.Errorf("%q should be %q", got, want)
		}
	}
}

// TestSurplusCountsIdleNodes checks what is said of nodes that run no tasks.
func TestSurplusCountsIdleNodes(t *testing.T) {
	for _, c := range []struct {
		workers, splits int
		want            string
	}{
		{4, 4, ""}, {4, 0, ""}, {5, 4, "1 of 5 nodes runs no tasks, since the data is in 4 parts"}, {2, 1, "1 of 2 nodes runs no tasks, since the data is in 1 part"},
		{8, 4, "4 of 8 nodes run no tasks, since the data is in 4 parts"},
	} {
		if got := figures.Surplus(c.workers, c.splits); got != c.want {
			t.Errorf("%d nodes, %d splits: %q, want %q", c.workers, c.splits, got, c.want)
		}
	}
}
