package mlr

import (
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
)

// TestEverySchemeTrains: each way to scale features comes to about the same test log-loss, dense and sparse.
func TestEverySchemeTrains(t *testing.T) {
	t.Parallel()
	dense, sparse := made(3000, 12, 4, 1, 5, 3), rarely(3000, 200, 4, 1)
	for name, set := range map[string]app.Input{"dense": {Data: apptest.Examples(dense), Seed: 1}, "sparse": {Data: apptest.Examples(sparse), Seed: 1}} {
		loss := map[string]float64{}
		for _, scheme := range examples.Schemes() {
			in := set
			in.Settings = map[string]string{"scale": scheme}
			_, _, epochs := trained(t, in, 2)
			loss[scheme] = apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_logloss")
			if loss[scheme] > 1.1*loss[examples.ScaleAuto]+0.02 {
				t.Errorf("%s rows scaled by %s: log-loss %.4f, and %.4f by auto", name, scheme, loss[scheme], loss[examples.ScaleAuto])
			}
		}
		t.Logf("%s: %v", name, loss)
	}
}
