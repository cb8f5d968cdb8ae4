package shell_test

import (
	"os"
	"reflect"
	"regexp"
	"testing"
	"time"

	"bellows/core/liveness"
	"bellows/core/shell"
	"bellows/internal/require"
)

// timesPage has the table of times.
const timesPage = "../../docs/reliability.md"

var timeRow = regexp.MustCompile("(?m)^\\| `([A-Z][a-z]+)` \\| ([^|]+) \\| ")

// TestTheTableOfTimesIsThatOfTheCode holds the table of times in the documents against the defaults, each in both.
func TestTheTableOfTimesIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(timesPage)
	require.NoError(t, err)
	told := map[string]string{}
	for _, row := range timeRow.FindAllStringSubmatch(string(text), -1) {
		told[row[1]] = row[2]
	}
	times := reflect.ValueOf(liveness.Times{}.Or())
	want := map[string]time.Duration{"Tick": shell.TickMillis * time.Millisecond}
	for i := range times.NumField() {
		want[times.Type().Field(i).Name] = time.Duration(times.Field(i).Int()) * time.Millisecond
	}
	for name, d := range want {
		if got, err := time.ParseDuration(told[name]); err != nil || got != d {
			t.Errorf("%s says of %s: %q, and it is %v", timesPage, name, told[name], d)
		}
		delete(told, name)
	}
	for name := range told {
		t.Errorf("%s has a time %s, and the code has none", timesPage, name)
	}
}
