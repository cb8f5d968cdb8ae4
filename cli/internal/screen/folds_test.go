package screen

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"bellows/app"
	"bellows/progress"
)

// TestTheTableOfFolds writes folds and what all come to, on a wide and on a narrow terminal.
func TestTheTableOfFolds(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		0:  " fold    train     test     rows  epochs     time\n    1   0.7500        -       60      12     0.3s\n mean   0.7500   0.5000\n    ±        -   0.1000\n",
		30: " fold     test     time\n    1        -     0.3s\n mean   0.5000\n    ±   0.1000\n",
	} {
		var out bytes.Buffer
		c := &Console{Out: &out, Err: &bytes.Buffer{}}
		table := NewFoldTable(c, NewLive(c, progress.New(t.Context())), app.Description{Metrics: []string{"train_accuracy", "test_accuracy"}}, width)
		table.Headline("", "")
		table.Line("1", map[string]float64{"train_accuracy": 0.75}, "60", "12", "0.3s")
		table.Line("mean", map[string]float64{"train_accuracy": 0.75, "test_accuracy": 0.5})
		table.Line("±", map[string]float64{"test_accuracy": 0.1})
		_, got, _ := strings.Cut(out.String(), "accuracy\n") // after the place, which names the data of all metrics
		if got != want {
			t.Errorf("%d characters:\n%s\nwant\n%s", width, out.String(), want)
		}
		for line := range strings.Lines(got) {
			if width > 0 && utf8.RuneCountInString(line) > width+1 {
				t.Errorf("%q does not fit %d", line, width)
			}
		}
	}
}
