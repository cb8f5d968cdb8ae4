package line

import (
	"strings"
	"testing"

	"bellows/app"
)

// described is an application with metrics of each kind.
var described = app.Description{Name: "mlr", Metrics: []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss"},
	Other: []string{"test_r2", "test_loglik_per_token", "test_custom"}}

func TestParseGoal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]app.Goal{
		"test_accuracy>=0.9":          {Metric: "test_accuracy", Value: 0.9},
		" accuracy >= .5 ":            {Metric: "test_accuracy", Value: 0.5},
		"train_logloss<=1e-3":         {Metric: "train_logloss", Below: true, Value: 1e-3},
		"r2>=-0.5":                    {Metric: "test_r2", Value: -0.5},
		"test_loglik_per_token>=-6.5": {Metric: "test_loglik_per_token", Value: -6.5},
		"custom<=-8":                  {Metric: "test_custom", Below: true, Value: -8},
	} {
		if got, err := ParseGoal(text, described); err != nil || *got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if got, err := ParseGoal("", described); got != nil || err != nil {
		t.Errorf("no text: %v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"test_accuracy>=NaN":        `must be a finite number, not "NaN"`,
		"test_accuracy>=Inf":        "must be a finite number",
		"test_logloss<=-inf":        "must be a finite number",
		"test_accuracy>=1e400":      "must be a finite number",
		"test_accuracy>=90%":        `must be a finite number, not "90%"`,
		"test_accuracy>=90":         "write 'test_accuracy>=0.9'",
		"test_accuracy>=-1":         "every model reaches this; write a goal such as 'test_accuracy>=0.9'",
		"test_accuracy>=0":          "every model reaches this",
		"test_logloss<=-0.1":        "test_logloss is never below 0",
		"r2>=1.5":                   "test_r2 is never above 1",
		"loglik_per_token>=3":       "test_loglik_per_token is never above 0",
		"TEST_accuracy>=.5":         "names are lower case: write 'test_accuracy>=.5'",
		"Accuracy>=.5":              "names are lower case: write 'accuracy>=.5'",
		"test_acuracy>=.5":          "did you mean test_accuracy?",
		"test_accuracy=0.5":         "such as 'test_logloss<=1'",
		"test_accuracy>=":           "it must be METRIC<=X",
		"test_logloss>=0.5":         "write 'test_logloss<=0.5'",
		"test_accuracy>=0.5 or NaN": "it must be METRIC<=X",
	} {
		if got, err := ParseGoal(text, described); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}
