package app_test

import (
	"testing"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
)

// TestEveryMetricHasADirection wants to know of each metric of the applications which way is better.
func TestEveryMetricHasADirection(t *testing.T) {
	t.Parallel()
	for _, a := range []app.Application{mf.New(), mlr.New(), lda.New(), linear.New()} {
		for _, name := range a.Describe().Metrics {
			if _, known := app.Falls(name); !known {
				t.Errorf("nothing is known of %s", name)
			}
		}
	}
	for name, falls := range map[string]bool{"test_rmse": true, "logloss": true, "train_accuracy": false, "test_loglik_per_token": false, "train_loss": true, "test_ndcg_at_10": false} {
		if got, known := app.Falls(name); !known || got != falls {
			t.Errorf("%s falls: %v", name, got)
		}
	}
	if _, known := app.Falls("test_beauty"); known {
		t.Error("beauty has a direction")
	}
}
